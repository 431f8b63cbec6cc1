package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Op is the type of a query node.
type Op int

// Types of nodes.
const (
	// OpTerm is a word, a prefix, or a phrase.
	OpTerm Op = iota
	// OpAnd matches if all of its kids do, OpOr if one does, OpNot if its only kid does
	// not.
	OpAnd
	OpOr
	OpNot
	// OpList is a sequence of words and other nodes. It matches if one of the plain words
	// does, and all other nodes do: phrases, groups and negations. More matching words rank
	// higher.
	OpList
)

// Node is a node of a parsed query.
type Node struct {
	Op   Op
	Kids []*Node
	Term Term
}

// Term is a word or a phrase in normalized form.
type Term struct {
	// Text is the original text.
	Text string
	// Parts are the stemmed words, in order.
	Parts []string
	// Whole is the whole folded word without stemming; empty for a phrase.
	Whole string
	// Prefix is set if the last part, and Whole, are prefixes; then Parts are not stemmed.
	Prefix bool
	// Quoted is set if the term was in quotes and must match.
	Quoted bool
}

// newTerm returns the term of a word or a phrase, or false if there is no word in it.
func newTerm(text string, prefix, quoted bool) (Term, bool) {
	t := Term{Text: text, Prefix: prefix, Quoted: quoted}
	var words []Token
	for _, token := range Tokens(text) {
		if !token.Extra {
			words = append(words, token)
			t.Parts = append(t.Parts, token.Term)
		}
	}
	if len(words) == 0 {
		return t, false
	}
	last := words[len(words)-1]
	if end, _ := utf8.DecodeRuneInString(last.Term); isUnspaced(end) && last.End-last.Start == utf8.RuneLen(end) {
		// The last character of a run is a token of its own, but the text may continue
		// where the query ends.
		if n := len(words) - 1; n > 0 && words[n-1].End == last.End {
			t.Parts = t.Parts[:n]
			return t, true
		}
		t.Prefix = true
	}
	if full := cutFold(text[last.Start:last.End]); prefix && full != "" {
		t.Parts[len(t.Parts)-1] = full // the word may continue
	}
	if !quoted && !strings.ContainsFunc(text, isUnspaced) {
		t.Whole = cutFold(text)
	}
	return t, true
}

func cutFold(text string) string { return string(cutTerm(Fold(nil, text))) }

// Positive returns the terms that a text should have, without duplicates, in order. They
// are used for ranking.
func (n *Node) Positive() []Term {
	var terms []Term
	n.walk(false, func(t Term) {
		if !slices.ContainsFunc(terms, t.Is) {
			terms = append(terms, t)
		}
	})
	return terms
}

func (n *Node) walk(negated bool, visit func(Term)) {
	if n == nil {
		return
	}
	if n.Op == OpTerm {
		if !negated {
			visit(n.Term)
		}
		return
	}
	for _, kid := range n.Kids {
		kid.walk(negated != (n.Op == OpNot), visit)
	}
}

// Is reports whether two terms have the same words, quoted or not.
func (t Term) Is(other Term) bool {
	return t.Prefix == other.Prefix && slices.Equal(t.Parts, other.Parts)
}

// plain reports whether a node is an optional word of a list.
func (n *Node) plain() bool { return n.Op == OpTerm && !n.Term.Quoted }

// Split splits a node into the plain words of which at least one must match, nodes that
// must match, and nodes that must not. Common words are left out if there are others.
func (n *Node) Split() (should []Term, must, not []*Node) {
	switch {
	case n == nil:
		return nil, nil, nil
	case n.Op == OpTerm:
		return []Term{n.Term}, nil, nil
	case n.Op == OpNot:
		return nil, nil, n.Kids
	case n.Op != OpList:
		return nil, []*Node{n}, nil
	}
	var common []Term
	for _, kid := range n.Kids {
		switch {
		case kid.Op == OpNot:
			not = append(not, kid.Kids...)
		case !kid.plain():
			must = append(must, kid)
		case kid.Term.isCommon():
			common = append(common, kid.Term)
		default:
			should = append(should, kid.Term)
		}
	}
	if len(should) == 0 && len(must) == 0 {
		should = common
	}
	return should, must, not
}

// isCommon reports whether a word is too common to be useful.
func (t Term) isCommon() bool {
	return len(t.Parts) == 1 && !t.Prefix && commonWords[t.Whole]
}

// commonWords are words that occur in most questions.
var commonWords = map[string]bool{
	"a": true, "about": true, "all": true, "am": true, "an": true, "and": true, "any": true, "are": true, "as": true, "at": true,
	"be": true, "been": true, "but": true, "by": true, "can": true, "could": true, "did": true, "do": true, "does": true, "for": true,
	"from": true, "had": true, "has": true, "have": true, "he": true, "her": true, "him": true, "his": true, "how": true, "i": true,
	"if": true, "in": true, "into": true, "is": true, "it": true, "its": true, "me": true, "my": true, "of": true, "on": true,
	"or": true, "our": true, "she": true, "should": true, "so": true, "some": true, "that": true, "the": true, "their": true,
	"them": true, "then": true, "there": true, "they": true, "this": true, "to": true, "was": true, "we": true, "were": true,
	"what": true, "when": true, "where": true, "which": true, "who": true, "whom": true, "whose": true, "why": true, "will": true,
	"with": true, "would": true, "you": true, "your": true,
}

// Text is a tokenized text: its words in order, and their other forms.
type Text struct {
	Words []string
	Extra []string
}

// TextOf tokenizes a text.
func TextOf(text string) Text {
	var t Text
	Scan(text, func(term []byte, _, _ int, extra bool) {
		if extra {
			t.Extra = append(t.Extra, string(term))
		} else {
			t.Words = append(t.Words, string(term))
		}
	})
	return t
}

// Holds reports whether a text matches the node. An index must return the same result.
func (n *Node) Holds(t Text) bool {
	if n == nil {
		return true
	}
	switch n.Op {
	case OpTerm:
		return n.Term.Count(t) > 0
	case OpNot:
		return !n.Kids[0].Holds(t)
	case OpAnd:
		return !slices.ContainsFunc(n.Kids, func(kid *Node) bool { return !kid.Holds(t) })
	case OpOr:
		return slices.ContainsFunc(n.Kids, func(kid *Node) bool { return kid.Holds(t) })
	}
	should, must, not := n.Split()
	if slices.ContainsFunc(must, func(kid *Node) bool { return !kid.Holds(t) }) || slices.ContainsFunc(not, func(kid *Node) bool { return kid.Holds(t) }) {
		return false
	}
	return len(should) == 0 || slices.ContainsFunc(should, func(term Term) bool { return term.Count(t) > 0 })
}

// Count returns how often a term occurs in a text.
func (t Term) Count(text Text) int {
	n := 0
	for i := 0; i+len(t.Parts) <= len(text.Words); i++ {
		if t.at(text.Words[i:]) {
			n++
		}
	}
	if t.Whole == "" {
		return n
	}
	whole := 0
	for _, e := range text.Extra {
		if e == t.Whole || t.Prefix && strings.HasPrefix(e, t.Whole) {
			whole++
		}
	}
	return max(n, whole)
}

// at reports whether words start with the term.
func (t Term) at(words []string) bool {
	last := len(t.Parts) - 1
	for i, part := range t.Parts {
		if words[i] != part && !(t.Prefix && i == last && strings.HasPrefix(words[i], part)) {
			return false
		}
	}
	return true
}
