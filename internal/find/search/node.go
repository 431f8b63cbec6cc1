package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Op says what a node of a query is.
type Op int

// The kinds of nodes.
const (
	// OpTerm is a word, the beginning of one, or a phrase.
	OpTerm Op = iota
	// OpAnd holds if all of its kids do, OpOr if one does, OpNot if its only kid
	// does not.
	OpAnd
	OpOr
	OpNot
	// OpList is words that just stand beside each other. It holds if one of the
	// plain words does, and everything else in it: phrases, groups, and what is
	// ruled out. The more words are there, the better.
	OpList
)

// Node is a part of what a query wants.
type Node struct {
	Op   Op
	Kids []*Node
	Term Term
}

// Term is a word or a phrase, as it is looked for.
type Term struct {
	// Text is how it was written.
	Text string
	// Parts are the words, one after the other, without endings.
	Parts []string
	// Whole is the word in one piece and in full, empty for a phrase.
	Whole string
	// Prefix says that the last part, and Whole, need only begin so; then Parts
	// have their endings.
	Prefix bool
	// Quoted says that it was in quotes: it must be there.
	Quoted bool
}

// newTerm makes a term of a word or a phrase; false if there is no word in it.
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
	if end, _ := utf8.DecodeRuneInString(last.Term); unparted(end) && last.End-last.Start == utf8.RuneLen(end) {
		// The last character of a run stands alone, but where the query ends the
		// text may go on.
		if n := len(words) - 1; n > 0 && words[n-1].End == last.End {
			t.Parts = t.Parts[:n]
			return t, true
		}
		t.Prefix = true
	}
	if full := cutFold(text[last.Start:last.End]); prefix && full != "" {
		t.Parts[len(t.Parts)-1] = full // which has not ended yet
	}
	if !quoted && !strings.ContainsFunc(text, unparted) {
		t.Whole = cutFold(text)
	}
	return t, true
}

func cutFold(text string) string { return string(cutTerm(Fold(nil, text))) }

// Positive lists the terms that a text should have, each once, in order: what
// it is ranked by.
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

// Is reports whether two terms are the same words, in quotes or not.
func (t Term) Is(other Term) bool {
	return t.Prefix == other.Prefix && slices.Equal(t.Parts, other.Parts)
}

// plain reports whether a node is a word that a list can do without.
func (n *Node) plain() bool { return n.Op == OpTerm && !n.Term.Quoted }

// Split parts a node into the plain words of which one must be there, what must
// hold beside, and what must not. Words that say nothing are not among the
// plain ones if there are others.
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
		case kid.Term.idle():
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

// idle reports whether a word is so common that it says nothing of a text.
func (t Term) idle() bool {
	return len(t.Parts) == 1 && !t.Prefix && commonWords[t.Whole]
}

// commonWords are those that every question has.
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

// Text is a text as it is matched: its words in order, and their other forms.
type Text struct {
	Words []string
	Extra []string
}

// TextOf makes one.
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

// Holds reports whether a text is what the node wants. It is what an index must
// answer too, only faster.
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

// Count tells how often a term is in a text.
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

// at reports whether words begin with the term.
func (t Term) at(words []string) bool {
	last := len(t.Parts) - 1
	for i, part := range t.Parts {
		if words[i] != part && !(t.Prefix && i == last && strings.HasPrefix(words[i], part)) {
			return false
		}
	}
	return true
}
