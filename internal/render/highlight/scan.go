// Package highlight finds the tokens of source code that are colored: comments, strings,
// numbers, keywords and calls. It needs a single pass, over whole code or line by line, so
// that pages full of code and streamed code render quickly.
package highlight

import "strings"

// Token is a piece of code of one class. The classes are hc comment, hs string, hn number,
// hk keyword, ht built-in name, hf call, ha attribute or variable, and hi, hd and hh the
// added lines, removed lines and headers of a diff. An empty class has no color.
type Token struct{ Class, Text string }

// Tokens calls emit for each token of code.
func Tokens(g *Grammar, code string, emit func(Token)) {
	p := &painter{code: code, g: g, open: make(map[string]int), emit: emit}
	for p.at < len(code) {
		p.step()
	}
	p.flush()
}

// Lines finds tokens line by line. It remembers comments and strings that continue on the
// next line.
type Lines struct {
	g *Grammar
	// until ends the comment or string that is open, class is its class; empty if none is.
	until, class string
}

// NewLines returns a Lines for a language.
func NewLines(g *Grammar) *Lines { return &Lines{g: g} }

// Line returns the tokens of the next line, which has no line break.
func (l *Lines) Line(text string) []Token {
	var tokens []Token
	emit := func(t Token) { tokens = append(tokens, t) }
	p := &painter{code: text, g: l.g, open: make(map[string]int), emit: emit}
	if l.until != "" {
		n, closed := openLen(text, l.until)
		if n > 0 {
			p.paint(l.class, n)
		}
		if closed {
			l.until = ""
		}
	}
	for p.at < len(text) {
		p.step()
	}
	p.flush()
	if p.until != "" {
		l.until, l.class = p.until, p.untilClass
	}
	return tokens
}

// openLen returns how much of a line belongs to a comment or string that an earlier line
// opened, and whether the line closes it.
func openLen(line, until string) (n int, closed bool) {
	if strings.Trim(until, "\"'`") == "" { // a string
		n = quoteLen(until+line, until, true) - len(until)
		return n, n >= len(until) && strings.HasSuffix(line[:n], until)
	}
	if i := strings.Index(line, until); i >= 0 {
		return i + len(until), true
	}
	return len(line), false
}

// painter scans code and merges adjacent tokens of the same class.
type painter struct {
	g    *Grammar
	code string
	at   int
	// from is the start of the current run of one class.
	from  int
	class string
	// open maps each string delimiter to the position up to which no closing one was found.
	open map[string]int
	// until ends the comment or string that is still open at the end of the code, and
	// untilClass is its class; empty if none is.
	until, untilClass string
	emit              func(Token)
}

// paint assigns a class to the next n bytes.
func (p *painter) paint(class string, n int) {
	n = max(1, min(n, len(p.code)-p.at))
	if class != p.class {
		p.flush()
		p.class = class
	}
	p.at += n
}

// flush emits the current run.
func (p *painter) flush() {
	if p.at > p.from {
		p.emit(Token{p.class, p.code[p.from:p.at]})
	}
	p.from = p.at
}

// step processes the next token.
func (p *painter) step() {
	rest := p.code[p.at:]
	c := rest[0]
	switch {
	case p.g.scan != nil && p.scanLanguage(rest):
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		p.paint(p.class, spaces(rest)) // spaces have no color and belong to the previous token
	case p.comment(rest), p.quoted(rest):
	case c >= '0' && c <= '9':
		p.paint("hn", numberLen(rest))
	case isLetter(c):
		p.word(rest)
	case strings.IndexByte(p.g.marks, c) >= 0 && len(rest) > 1 && isLetter(rest[1]):
		p.paint("ha", 1+wordLen(rest[1:]))
	default:
		p.paint("", 1)
	}
}

// scanLanguage calls the language's own scanner for special syntax.
func (p *painter) scanLanguage(rest string) bool {
	class, n := p.g.scan(p.code, p.at, rest)
	if n > 0 {
		p.paint(class, n)
	}
	return n > 0
}

func (p *painter) comment(rest string) bool {
	for _, open := range p.g.line {
		if strings.HasPrefix(rest, open) && (open != "#" || p.at == 0 || strings.IndexByte(" \t\n;", p.code[p.at-1]) >= 0) {
			p.paint("hc", lineLen(rest))
			return true
		}
	}
	for _, pair := range p.g.block {
		if !strings.HasPrefix(rest, pair[0]) {
			continue
		}
		n := len(rest)
		if end := strings.Index(rest[len(pair[0]):], pair[1]); end >= 0 {
			n = len(pair[0]) + end + len(pair[1])
		} else {
			p.until, p.untilClass = pair[1], "hc"
		}
		p.paint("hc", n)
		return true
	}
	return false
}

// quoted processes a string. A string that must end on its line and does not is not a
// string.
func (p *painter) quoted(rest string) bool {
	for _, q := range p.g.quotes {
		if !strings.HasPrefix(rest, q) {
			continue
		}
		n := len(q)
		if p.at >= p.open[q] {
			n = quoteLen(rest, q, len(q) == 3 || q == "`")
		}
		if n == len(rest) && (len(q) == 3 || q == "`") && (n < 2*len(q) || !strings.HasSuffix(rest, q)) {
			p.until, p.untilClass = q, "hs"
		}
		class := "hs"
		if p.g.keys && n > 1 && strings.HasPrefix(strings.TrimLeft(rest[n:], " \t"), ":") {
			class = "ha"
		}
		if n <= len(q) && len(q) < 3 {
			class, n = "", len(q)
			if p.at >= p.open[q] {
				p.open[q] = p.at + lineLen(rest) // do not search for it again
			}
		}
		p.paint(class, n)
		return true
	}
	return false
}

// quoteLen returns the length of the string at the start of a text, or the length of its
// delimiter if it has no end.
func quoteLen(rest, mark string, many bool) int {
	for i := len(mark); i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && mark != "`":
			i++
		case rest[i] == '\n' && !many:
			return len(mark)
		case strings.HasPrefix(rest[i:], mark):
			return i + len(mark)
		}
	}
	if many {
		return len(rest)
	}
	return len(mark)
}

func (p *painter) word(rest string) {
	n := wordLen(rest)
	word := rest[:n]
	if p.g.fold {
		word = strings.ToLower(word)
	}
	after := strings.TrimLeft(rest[n:], " \t")
	switch {
	case p.g.words[word]:
		p.paint("hk", n)
	case p.g.types[word]:
		p.paint("ht", n)
	case p.g.keys && startsLine(p.code, p.at) && (strings.HasPrefix(after, ":") || strings.HasPrefix(after, "=")):
		p.paint("ha", n)
	case strings.HasPrefix(rest[n:], "(") && !p.g.prose:
		p.paint("hf", n)
	default:
		p.paint("", n)
	}
}

// startsLine reports whether only spaces, dashes and brackets precede a position on its
// line.
func startsLine(code string, at int) bool {
	for at > 0 && strings.IndexByte(" \t-[", code[at-1]) >= 0 {
		at--
	}
	return at == 0 || code[at-1] == '\n'
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func wordLen(s string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return n
}

func numberLen(s string) int {
	n := 1
	for n < len(s) && (s[n] < 0x80 && isLetter(s[n]) || s[n] >= '0' && s[n] <= '9' || s[n] == '.' && n+1 < len(s) && s[n+1] >= '0' && s[n+1] <= '9') {
		n++
	}
	return n
}

func spaces(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r\n")) }

// lineLen returns the length of a line without its end.
func lineLen(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}
