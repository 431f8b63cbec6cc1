package search

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// Parse parses a query:
//
//	words                one of them must match; more rank higher
//	"a phrase"           must match, word after word
//	begin*               a word with this prefix
//	AND OR NOT ( )       in capitals; AND binds tighter than OR; -word is NOT word
//	role:user tool:bash agent:main key:… source:… path:… session:…
//	since:7d until:2026-11-01 in:tools machines:hide
//	after:… before:…     are since and until
//
// Filters apply to the whole query, wherever they are. Syntax errors are ErrInvalid. Days
// start at midnight in the location of now.
func Parse(text string, now time.Time) (Query, error) {
	p := &parser{rest: text, now: now}
	if len(text) > MaxQuery || !utf8.ValidString(text) {
		return Query{}, p.wrong("expected at most %d bytes of valid text", MaxQuery)
	}
	p.next()
	node, err := p.or(0)
	if err == nil && p.token.kind == tokenClose {
		err = p.wrong("there is a ) without a (")
	}
	if err != nil {
		return Query{}, err
	}
	p.query.Want = tidy(node)
	if n := p.query.Want; n != nil && n.onlyNot() {
		return Query{}, failure.WithHint(p.wrong("it only excludes words; add words to search for"), "for example: firn search -- found -excluded")
	}
	return p.query, nil
}

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenPhrase
	tokenOpen
	tokenClose
	tokenAnd
	tokenOr
	tokenNot
)

type token struct {
	kind tokenKind
	text string
}

type parser struct {
	rest  string
	token token
	now   time.Time
	query Query
	terms int
	// negated is the number of enclosing NOTs.
	negated int
}

func (p *parser) wrong(format string, args ...any) error {
	return failure.Of(firn.ErrInvalid, "invalid query: "+format, args...)
}

// next reads the next token.
func (p *parser) next() {
	p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace)
	if p.rest == "" {
		p.token = token{}
		return
	}
	switch c := p.rest[0]; {
	case c == '(' || c == ')':
		p.token = token{kind: map[byte]tokenKind{'(': tokenOpen, ')': tokenClose}[c]}
		p.rest = p.rest[1:]
	case c == '"':
		p.token = token{tokenPhrase, p.quoted()}
	case c == '-' && len(p.rest) > 1 && !unicode.IsSpace(rune(p.rest[1])) && p.rest[1] != '-':
		p.token = token{kind: tokenNot}
		p.rest = p.rest[1:]
	default:
		p.word()
	}
}

// quoted reads up to the closing quote, or the end.
func (p *parser) quoted() string {
	text, rest, _ := strings.Cut(p.rest[1:], `"`)
	p.rest = rest
	return text
}

// word reads a word, an operator, or a filter with its value.
func (p *parser) word() {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == ')' || r == '"' })
	if end < 0 {
		end = len(p.rest)
	}
	text := p.rest[:end]
	p.rest = p.rest[end:]
	if name, ok := strings.CutSuffix(text, ":"); ok && isFilter(name) && strings.HasPrefix(p.rest, `"`) {
		text += p.quoted()
	}
	kind := tokenWord
	switch text {
	case "AND", "&&":
		kind = tokenAnd
	case "OR", "||":
		kind = tokenOr
	case "NOT":
		kind = tokenNot
	}
	p.token = token{kind, text}
}

// maxDepth is the maximum nesting of groups.
const maxDepth = 32

// or parses operands of OR.
func (p *parser) or(depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, p.wrong("groups are more than %d deep", maxDepth)
	}
	node := &Node{Op: OpOr}
	for {
		kid, err := p.and(depth)
		if err != nil {
			return nil, err
		}
		node.add(kid)
		if p.token.kind != tokenOr {
			return node, nil
		}
		p.next()
	}
}

// and parses operands of AND.
func (p *parser) and(depth int) (*Node, error) {
	node := &Node{Op: OpAnd}
	for {
		kid, err := p.list(depth)
		if err != nil {
			return nil, err
		}
		node.add(kid)
		if p.token.kind != tokenAnd {
			return node, nil
		}
		p.next()
	}
}

// list parses a sequence of terms.
func (p *parser) list(depth int) (*Node, error) {
	node := &Node{Op: OpList}
	for {
		switch p.token.kind {
		case tokenEnd, tokenClose, tokenAnd, tokenOr:
			return node, nil
		}
		kid, err := p.one(depth)
		if err != nil {
			return nil, err
		}
		node.add(kid)
	}
}

// one parses a word, a phrase, a group, or a negation of one; nil if it is empty.
func (p *parser) one(depth int) (*Node, error) {
	t := p.token
	p.next()
	switch t.kind {
	case tokenNot:
		return p.not(depth)
	case tokenOpen:
		node, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.token.kind == tokenClose { // a missing one is accepted
			p.next()
		}
		return node, nil
	case tokenPhrase:
		return p.term(t.text, false, true)
	}
	if done, err := p.filter(t.text); done || err != nil {
		return nil, err
	}
	text, prefix := strings.CutSuffix(t.text, "*")
	return p.term(text, prefix, false)
}

func (p *parser) not(depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, p.wrong("there are more than %d NOTs in a row", maxDepth)
	}
	switch p.token.kind {
	case tokenEnd, tokenClose, tokenAnd, tokenOr:
		return nil, nil // nothing to negate
	}
	p.negated++
	kid, err := p.one(depth + 1)
	p.negated--
	if kid = tidy(kid); err != nil || kid == nil {
		return nil, err
	}
	return &Node{Op: OpNot, Kids: []*Node{kid}}, nil
}

// term returns the node of a word or a phrase.
func (p *parser) term(text string, prefix, quoted bool) (*Node, error) {
	t, ok := newTerm(text, prefix, quoted)
	if !ok {
		return nil, nil
	}
	if p.terms++; p.terms > MaxWords {
		return nil, p.wrong("more than %d words", MaxWords)
	}
	if prefix && len(t.Parts) == 1 && utf8.RuneCountInString(t.Parts[0]) < 2 && t.Parts[0][0] < utf8.RuneSelf {
		return nil, p.wrong("%s* would be nearly everything; two letters are needed before the *", t.Parts[0])
	}
	return &Node{Op: OpTerm, Term: t}, nil
}

func (n *Node) add(kid *Node) {
	if kid = tidy(kid); kid != nil {
		n.Kids = append(n.Kids, kid)
	}
}

// tidy removes empty nodes and groups of one.
func tidy(n *Node) *Node {
	switch {
	case n == nil || n.Op == OpTerm || n.Op == OpNot:
		return n
	case len(n.Kids) == 0:
		return nil
	case len(n.Kids) == 1:
		return n.Kids[0]
	}
	return n
}

// onlyNot reports whether a node matches nearly every text.
func (n *Node) onlyNot() bool {
	switch n.Op {
	case OpTerm:
		return false
	case OpNot:
		return !n.Kids[0].onlyNot()
	case OpOr:
		for _, kid := range n.Kids {
			if kid.onlyNot() {
				return true
			}
		}
		return false
	}
	for _, kid := range n.Kids {
		if !kid.onlyNot() {
			return false
		}
	}
	return true
}
