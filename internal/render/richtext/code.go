package richtext

import (
	"html"
	"strings"
)

// Code renders code as HTML, with syntax colors if the language is known by its name or
// file extension.
//
// The colors cover comments, strings, numbers, keywords and calls. They need a single pass
// over the code, so that pages full of code and streamed code render quickly.
func Code(language, code string) string { return codeHTML(language, visible(code)) }

// colorBytes is the maximum length of code that is colored.
const colorBytes = 256 << 10

func codeHTML(language, code string) string {
	g, ok := grammarOf(language)
	if !ok || len(code) > colorBytes {
		return `<pre class="code"><code>` + html.EscapeString(code) + `</code></pre>`
	}
	return `<pre class="code"><code class="language-` + g.name + `">` + colorize(g, code) + `</code></pre>`
}

// colorize returns code with CSS classes on the colored tokens.
func colorize(g *grammar, code string) string {
	p := &painter{code: code, g: g, open: make(map[string]int)}
	p.out.Grow(len(code) + len(code)/2)
	for p.at < len(code) {
		p.step()
	}
	p.flush()
	return p.out.String()
}

// painter writes code and merges adjacent tokens of the same class.
type painter struct {
	g    *grammar
	code string
	at   int
	// from is the start of the current run of one class.
	from  int
	class string
	// open maps each string delimiter to the position up to which no closing one was found.
	open map[string]int
	out  strings.Builder
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

// flush writes the current run.
func (p *painter) flush() {
	if text := html.EscapeString(p.code[p.from:p.at]); p.class == "" || text == "" {
		p.out.WriteString(text)
	} else {
		p.out.WriteString(`<span class="` + p.class + `">` + text + `</span>`)
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
