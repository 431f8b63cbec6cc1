package model2vec

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// matcher is a text or a regular expression.
type matcher struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// finder finds a pattern in texts.
type finder interface {
	// places returns the places of the pattern in a text: those of
	// [regexp.Regexp.FindAllStringIndex].
	places(text string) [][]int
	// replace replaces the pattern by another text, until the result is too long for a step.
	replace(text, by string) string
}

// finder returns the finder of a pattern.
func (b *builder) finder(m *matcher) (finder, error) {
	switch {
	case m == nil:
		return nil, errors.New("it has no pattern")
	case m.String != nil && *m.String != "":
		if len(*m.String) > maxPattern {
			return nil, fmt.Errorf("its pattern is longer than %d bytes", maxPattern)
		}
		return literal(*m.String), nil
	case m.String != nil:
		return b.expression("")
	case m.Regex != nil:
		return b.expression(*m.Regex)
	}
	return nil, errors.New("its pattern is neither a text nor a regular expression")
}

// literal finds a text.
type literal string

func (l literal) replace(text, by string) string {
	return strings.Replace(text, string(l), by, replacements(text, by))
}

// replacements returns the number of replacements after which a text is too long for a step.
func replacements(text, by string) int { return grownStep(len(text))/max(len(by), 1) + 1 }

func (l literal) places(text string) (places [][]int) {
	for at := 0; ; {
		next := strings.Index(text[at:], string(l))
		if next < 0 {
			return places
		}
		places = append(places, []int{at + next, at + next + len(l)})
		at += next + len(l)
	}
}

// expression compiles a regular expression and counts its instructions.
func (b *builder) expression(text string) (*expression, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("its pattern is longer than %d bytes", maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	linear := isLinear(parsed.Simplify())
	if !linear {
		b.instructions += len(program.Inst)
	}
	if b.instructions > maxInstructions {
		return nil, fmt.Errorf("with its pattern, the regular expressions have more than %d instructions", maxInstructions)
	}
	e := &expression{of: b, linear: linear}
	if e.first, err = regexp.Compile(text); err != nil {
		return nil, err
	}
	e.next, err = regexp.Compile(`\A(?s:.)(?s:.*?)(` + text + `)`)
	return e, err
}

// expression is a regular expression that is searched for in bounded time. Searching for all
// places may take the square of the length of a text, since each search may read it to the
// end. So the characters that are read are counted, and after too many of them the rest of
// the text counts as without a place. Package regexp reads each character once in a search.
type expression struct {
	of *builder
	// linear is true if searching for all places reads each character once or twice.
	linear bool
	first  *regexp.Regexp
	// next finds the first place after a character, which it needs for ^ and \b.
	next *regexp.Regexp
}

// isLinear reports whether an expression is one character of a class, or several in a row.
func isLinear(e *syntax.Regexp) bool {
	if e.Op == syntax.OpPlus || e.Op == syntax.OpStar {
		e = e.Sub[0]
	}
	switch e.Op {
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		return len(e.Rune) == 1
	}
	return false
}

// quickWork is the work up to which reads are not counted: the square of the length of a
// text times the instructions of all expressions.
const quickWork = 1 << 20

// maxReads is the number of times that a character of a text is read on average.
const maxReads = 4

// quick reports whether reading a text uncounted takes little time in any case.
func (e *expression) quick(text string) bool {
	return e.linear || len(text)*len(text)*e.of.instructions <= quickWork
}

func (e *expression) places(text string) [][]int { return e.somePlaces(text, len(text)+1) }

// somePlaces returns at most most places.
func (e *expression) somePlaces(text string, most int) [][]int {
	if e.quick(text) {
		return e.first.FindAllStringIndex(text, most)
	}
	return e.countedPlaces(text, most)
}

func (e *expression) replace(text, by string) string {
	if most := replacements(text, by); most < len(text)+1 || !e.quick(text) {
		return replacePlaces(text, by, e.somePlaces(text, most))
	}
	return e.first.ReplaceAllLiteralString(text, by)
}

// replacePlaces replaces places of a text.
func replacePlaces(text, by string, places [][]int) string {
	var out strings.Builder
	start := 0
	for _, p := range places {
		out.WriteString(text[start:p[0]])
		out.WriteString(by)
		start = p[1]
	}
	out.WriteString(text[start:])
	return out.String()
}

// countedPlaces returns the same as FindAllStringIndex, unless too much is read.
func (e *expression) countedPlaces(text string, most int) (places [][]int) {
	in := &countedReader{left: maxReads*len(text) + 64}
	for at, last := 0, -1; at <= len(text) && len(places) < most; {
		from, to, ok := e.find(in, text, at)
		if !ok || in.left < 0 {
			break
		}
		if to > at || from != last { // no empty place right after another one
			places = append(places, []int{from, to})
		}
		if last = to; to > at {
			at = to
			continue
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += max(size, 1)
	}
	return places
}

// find returns the first place that begins at an offset or after it.
func (e *expression) find(in *countedReader, text string, at int) (from, to int, ok bool) {
	if at == 0 {
		in.Reset(text)
		place := e.first.FindReaderIndex(in)
		if place == nil {
			return 0, 0, false
		}
		return place[0], place[1], true
	}
	_, before := utf8.DecodeLastRuneInString(text[:at])
	at -= before
	in.Reset(text[at:])
	place := e.next.FindReaderSubmatchIndex(in)
	if place == nil {
		return 0, 0, false
	}
	return at + place[2], at + place[3], true
}

// countedReader reads the characters of a text, and ends early when none is left. left is
// then negative.
type countedReader struct {
	strings.Reader
	left int
}

// ReadRune returns the next character.
func (r *countedReader) ReadRune() (rune, int, error) {
	if r.left < 0 {
		return 0, 0, io.EOF
	}
	if r.left--; r.left < 0 {
		return 0, 0, io.EOF
	}
	return r.Reader.ReadRune()
}
