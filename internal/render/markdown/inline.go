package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a piece of text in one style.
type span struct {
	text, codes string
}

// parser parses the markup within a line. An opening marker is closed by the first marker
// that can close it; without one it is text.
type parser struct {
	text  string
	at    int
	final bool // the text is complete: unclosed markers stay unclosed
	spans []span
	plain strings.Builder
	codes string // the surrounding style
	safe  int    // after the last space outside of any markup
}

// parse splits a text into spans. If it is not final, it stops at markup that may be closed
// later. safe is the end of the last word that can no longer change.
func parse(text string, final bool) (spans []span, safe int) {
	p := &parser{text: text, final: final}
	for p.at < len(p.text) && p.sign() {
	}
	p.flush()
	return p.spans, p.safe
}

// sign parses the markup at the current position; false if it is unclosed.
func (p *parser) sign() bool {
	rest := p.text[p.at:]
	switch rest[0] {
	case '\\':
		return p.escaped(rest)
	case '`':
		return p.codeSpan(rest)
	case '*', '_', '~':
		return p.emphasis(rest)
	case '[':
		return p.link(rest, 1)
	case '!':
		if rest == "!" && !p.final {
			return false
		}
		if strings.HasPrefix(rest, "![") {
			return p.link(rest, 2)
		}
	}
	r, size := utf8.DecodeRuneInString(rest)
	if unicode.IsSpace(r) {
		p.safe = p.at + size
	}
	return p.literal(size)
}

// literal takes n bytes as text.
func (p *parser) literal(n int) bool {
	p.plain.WriteString(p.text[p.at : p.at+n])
	p.at += n
	return true
}

// open takes n bytes as text if no more input can close them.
func (p *parser) open(n int) bool { return p.final && p.literal(n) }

// flush ends the span of plain text.
func (p *parser) flush() {
	if p.plain.Len() > 0 {
		p.spans = append(p.spans, span{p.plain.String(), p.codes})
		p.plain.Reset()
	}
}

// add adds a span in a style of its own, which takes n bytes of the text.
func (p *parser) add(text, codes string, n int) bool {
	p.flush()
	p.spans = append(p.spans, span{text, join(p.codes, codes)})
	p.at += n
	return true
}

// inner parses text that contains further markup.
func (p *parser) inner(text, codes string, n int) bool {
	p.flush()
	in := &parser{text: text, final: true, codes: join(p.codes, codes)}
	for in.at < len(in.text) && in.sign() {
	}
	in.flush()
	p.spans = append(p.spans, in.spans...)
	p.at += n
	return true
}

// escaped parses an escaped character.
func (p *parser) escaped(rest string) bool {
	if len(rest) == 1 {
		return p.open(1)
	}
	if strings.IndexByte("\\`*_{}[]()#+-.!|~>", rest[1]) < 0 {
		return p.literal(1)
	}
	p.plain.WriteByte(rest[1])
	p.at += 2
	return true
}

// codeSpan parses a code span, delimited by equal runs of backquotes.
func (p *parser) codeSpan(rest string) bool {
	n := run(rest)
	if n == len(rest) {
		return p.open(n)
	}
	end := closingQuotes(rest, n)
	if end < 0 || end+n == len(rest) && !p.final { // another backquote may follow
		return p.open(n)
	}
	text := rest[n:end]
	if strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") && strings.TrimSpace(text) != "" {
		text = text[1 : len(text)-1]
	}
	return p.add(text, code, end+n)
}

// run returns how often the first byte is repeated.
func run(text string) int { return len(text) - len(strings.TrimLeft(text, text[:1])) }

// closingQuotes returns the position of exactly n backquotes after those at the start, or
// -1.
func closingQuotes(text string, n int) int {
	for at := n; ; {
		i := strings.IndexByte(text[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		got := run(text[at:])
		if got == n {
			return at
		}
		at += got
	}
}

// emphasis parses bold, italic and strikethrough.
func (p *parser) emphasis(rest string) bool {
	n := run(rest)
	if n == len(rest) {
		return p.open(n)
	}
	style := emphases[rest[:min(n, 3)]]
	if n > 3 || style == "" || !p.opens(rest, n) {
		return p.literal(n)
	}
	end := closing(rest, n, p.final)
	if end < 0 {
		return p.open(n)
	}
	return p.inner(rest[n:end], style, end+n)
}

// emphases maps markers to styles.
var emphases = map[string]string{
	"*": italic, "_": italic, "**": bold, "__": bold, "***": bold + ";" + italic, "___": bold + ";" + italic, "~~": struck,
}

// opens reports whether the markers at the start can open emphasis: a word follows, and
// underscores are not within a word.
func (p *parser) opens(rest string, n int) bool {
	after, _ := utf8.DecodeRuneInString(rest[n:])
	if unicode.IsSpace(after) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(p.text[:p.at])
	return rest[0] != '_' || p.at == 0 || !isWord(before)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// closing returns the position of the n markers that close those at the start, or -1 if
// there are none or further input may change it.
func closing(text string, n int, final bool) int {
	sign := text[0]
	for at := n; at < len(text); {
		switch c := text[at]; {
		case c == '\\':
			at += 2
		case c == '`':
			quotes := run(text[at:])
			end := closingQuotes(text[at:], quotes)
			if !final && (end < 0 || at+end+quotes == len(text)) {
				return -1 // a code span may end later and include the closing marker
			}
			at += max(end, 0) + quotes
		case c == sign:
			got := run(text[at:])
			if at+got == len(text) && !final {
				return -1
			}
			if got == n && closesAt(text, at, n) {
				return at
			}
			at += got
		default:
			at++
		}
	}
	return -1
}

// closesAt reports whether markers can close emphasis: a word precedes, and underscores are
// not within a word.
func closesAt(text string, at, n int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+n:])
	return !unicode.IsSpace(before) && (text[at] != '_' || !isWord(after))
}

// link parses [text](address), or an image, whose marker is two bytes.
func (p *parser) link(rest string, sign int) bool {
	mid := strings.IndexByte(rest, ']')
	if mid < 0 || mid == len(rest)-1 && !p.final {
		return p.open(sign)
	}
	if !strings.HasPrefix(rest[mid+1:], "(") {
		return p.literal(sign)
	}
	size := strings.IndexByte(rest[mid+2:], ')')
	if size < 0 {
		return p.open(sign)
	}
	text, address := rest[sign:mid], rest[mid+2:mid+2+size]
	if text == "" || address == "" || strings.ContainsAny(address, " \t") {
		return p.literal(sign)
	}
	p.inner(text, underline, 0)
	return p.add(" ("+address+")", dim, mid+2+size+1)
}
