// Package richtext says text in HTML that is safe to show: Markdown as it was
// meant, code with its colours, what programs print as it is.
//
// What is said in a transcript is hostile until proven otherwise. Whatever goes
// in, no script comes out, no style, no handler, nothing that is fetched from
// elsewhere and no link but to web pages and mail. Text is read piece by piece,
// each piece by itself and none of them long, so that the time it takes grows
// with the text and not faster; and so an answer that is still being given can be
// shown as it grows, without reading again what is finished: see [Growth].
//
// The package is pure: it reads no file and asks nobody.
package richtext

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// Markdown says text, which is Markdown, in HTML. It is all that [Blocks] has,
// one behind the other.
func Markdown(text string) string { return strings.Join(Blocks(text), "") }

// Blocks says text in HTML, in pieces that stand for themselves: each is whole,
// and none depends on what stands before or behind it. What is added to a text
// changes only the last of them, and adds others.
func Blocks(text string) []string {
	var c cutter
	return said(append(c.cut(text, true), c.rest(text)))
}

// said says pieces; those without anything visible are left out.
func said(pieces []piece) []string {
	blocks := make([]string, 0, len(pieces))
	for _, p := range pieces {
		if block := p.html(); block != "" {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// html says one piece. One that says nothing visible is empty.
func (p piece) html() string {
	if strings.TrimSpace(p.text) == "" {
		return ""
	}
	if p.odd() {
		return Plain(p.text)
	}
	var b bytes.Buffer
	source := visible(p.opening + p.text)
	if err := converter().Convert([]byte(source), &b); err != nil {
		return Plain(p.text) // a buffer takes everything; who knows
	}
	return sanitize(b.String())
}

const (
	// mostNested is how deep quotations and lists may be nested to be read as such.
	mostNested = 40
	// mostColumns is how wide a table may be: every row is filled up to it.
	mostColumns = 64
	// mostBrackets is how many brackets a piece may have: each may begin a link,
	// and each is looked for to its end.
	mostBrackets = 800
	// spareCells is how many cells a piece may have, if it were a table, beside one
	// for each of its bytes: rows are filled up, so that few bytes make many.
	spareCells = 1024
)

// odd reports whether a piece can only be meant to make trouble. It is shown as
// it stands.
func (p piece) odd() bool {
	if strings.Count(p.text, "[") > mostBrackets {
		return true
	}
	lines, columns := 0, 0
	for line := range strings.Lines(p.text) {
		lines++
		columns = max(columns, strings.Count(line, "|"))
		if nesting(line) > mostNested || columns > mostColumns {
			return true
		}
	}
	return lines*columns > len(p.text)+spareCells
}

// nesting is how many quotations and lists a line may begin.
func nesting(line string) int {
	depth, gap := 0, true
	for _, r := range line {
		switch {
		case r == ' ' || r == '\t':
			gap = true
			continue
		case r == '>' || gap && strings.ContainsRune("-*+", r):
			depth++
		case r < '0' || r > '9':
			if r != '.' && r != ')' {
				return depth
			}
			depth++
		}
		gap = false
	}
	return depth
}

// converter reads Markdown as GitHub does, and writes it with our own hand where
// something could be dangerous. It is made once, when it is needed.
var converter = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.Strikethrough, extension.TaskList, extension.Linkify,
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 1))),
	)
})

// Plain says text as it stands: what a program printed. Colours of terminals are
// left out, and of a line that was written over, what was written last is shown.
func Plain(text string) string {
	return `<pre class="plain">` + html.EscapeString(visible(Printed(text))) + "</pre>"
}

// Inline says text within a line, as it stands.
func Inline(text string) string { return html.EscapeString(visible(text)) }

// Text is what one reads of HTML that this package has made.
func Text(said string) string { return html.UnescapeString(tags.ReplaceAllString(said, "")) }

// tags are those of our HTML: in it, all else that looks like one is escaped.
var tags = regexp.MustCompile(`<[^>]*>`)
