package tool

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// skippedElements have no text for readers. blockElements start a new line.
var (
	skippedElements = words("script style noscript template svg iframe object head")
	blockElements   = words("address article aside blockquote br dd div dl dt figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul")
)

// words returns a set of words.
func words(list string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// htmlText returns the text of an HTML page: its title, headings with #, list items with -,
// and the targets of links.
func htmlText(page []byte) string {
	t := &textWriter{}
	z := html.NewTokenizer(bytes.NewReader(page))
	z.SetMaxBuf(1 << 20)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return t.text()
		case html.TextToken:
			t.add(string(z.Text()))
		case html.StartTagToken:
			t.start(z.Token())
		case html.SelfClosingTagToken:
			if token := z.Token(); blockElements[token.Data] {
				t.start(token)
			}
		case html.EndTagToken:
			t.end(z.Token().Data)
		}
	}
}

// textWriter collects the text of a page.
type textWriter struct {
	b strings.Builder
	// skipping counts the open elements whose text is left out, except the title.
	skipping int
	title    bool
	pre      int
	link     string
}

// add adds text; space is collapsed outside of pre.
func (t *textWriter) add(text string) {
	if t.skipping > 0 && !t.title {
		return
	}
	if t.pre > 0 {
		t.b.WriteString(text)
		return
	}
	fields := strings.Join(strings.Fields(text), " ")
	if fields == "" || text[0] == ' ' || text[0] == '\n' || text[0] == '\t' {
		t.space()
	}
	t.b.WriteString(fields)
	if fields != "" && strings.TrimRight(text, " \t\r\n") != text {
		t.space()
	}
}

// space adds a space unless there is one.
func (t *textWriter) space() {
	if s := t.b.String(); s != "" && !strings.HasSuffix(s, " ") && !strings.HasSuffix(s, "\n") {
		t.b.WriteByte(' ')
	}
}

// line starts a new line unless there is one.
func (t *textWriter) line() {
	if s := t.b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		t.b.WriteByte('\n')
	}
}

func (t *textWriter) start(token html.Token) {
	name := token.Data
	switch {
	case skippedElements[name]:
		t.skipping++
	case name == "title":
		t.title = true
	case name == "a":
		t.link = ""
		for _, a := range token.Attr {
			if a.Key == "href" && (strings.HasPrefix(a.Val, "http://") || strings.HasPrefix(a.Val, "https://") || strings.HasPrefix(a.Val, "/")) {
				t.link = a.Val
			}
		}
	}
	if !blockElements[name] || t.skipping > 0 {
		return
	}
	t.line()
	switch {
	case name == "pre":
		t.pre++
	case name == "li":
		t.b.WriteString("- ")
	case len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6':
		t.b.WriteString("\n" + strings.Repeat("#", int(name[1]-'0')) + " ")
	}
}

func (t *textWriter) end(name string) {
	switch {
	case skippedElements[name]:
		t.skipping = max(t.skipping-1, 0)
		return
	case name == "title":
		t.title = false
		t.line()
		return
	case name == "pre":
		t.pre = max(t.pre-1, 0)
	case name == "a" && t.link != "" && t.skipping == 0:
		t.b.WriteString(" (" + t.link + ")")
		t.link = ""
	}
	if blockElements[name] && t.skipping == 0 {
		t.line()
	}
}

// text returns the text without runs of blank lines.
func (t *textWriter) text() string {
	var out []string
	for line := range strings.SplitSeq(t.b.String(), "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, line)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
