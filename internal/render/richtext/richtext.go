// Package richtext renders text as safe HTML: Markdown, code with syntax colors, and
// program output.
//
// All input is untrusted. The output contains no scripts, styles, event handlers or
// external resources, and only links to web pages and mail addresses. Text is rendered in
// short independent pieces, so the time is linear in its length, and a streamed answer can
// be rendered as it grows without rendering finished pieces again; see [Growth].
//
// The package is pure: it does no I/O.
package richtext

import (
	"bytes"
	"html"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"firn.dev/internal/base/pattern"
)

// Markdown renders Markdown as HTML. The result is the concatenation of [Blocks].
func Markdown(text string) string { return strings.Join(Blocks(text), "") }

// Blocks renders Markdown as HTML in independent blocks: each is well-formed and does not
// depend on the others. Appending to a text changes only the last block and adds others.
func Blocks(text string) []string {
	var c cutter
	return renderPieces(append(c.cut(text, true), c.rest(text)))
}

// renderPieces renders pieces; those without visible content are left out.
func renderPieces(pieces []piece) []string {
	blocks := make([]string, 0, len(pieces))
	for _, p := range pieces {
		if block := p.html(); block != "" {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// html renders one piece. It is empty if the piece has no visible content.
func (p piece) html() string {
	if strings.TrimSpace(p.text) == "" {
		return ""
	}
	if p.isPathological() {
		return Plain(p.text)
	}
	var b bytes.Buffer
	source := visible(p.opening + p.text)
	if err := converter().Convert([]byte(source), &b); err != nil {
		return Plain(p.text) // not expected: writing to a buffer does not fail
	}
	if block, ok := checked(b.String()); ok {
		return block
	}
	return Plain(p.text) // not expected: the renderer produces only what is allowed
}

const (
	// mostNested is the maximum nesting of quotes and lists that is rendered.
	mostNested = 40
	// mostColumns is the maximum number of table columns; every row is padded to it.
	mostColumns = 64
	// mostBrackets is the maximum number of brackets in a piece: each may start a link and
	// causes a search for its end.
	mostBrackets = 800
	// spareCells is the number of table cells that a piece may have in addition to one per
	// byte. Rows are padded, so few bytes can produce many cells.
	spareCells = 1024
)

// isPathological reports whether a piece can only be an attempt to exhaust resources. It is
// rendered as plain text.
func (p piece) isPathological() bool {
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

// nesting returns an upper bound for the number of quotes and lists that a line starts.
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

// converter parses GitHub-flavored Markdown and renders unsafe nodes with this package's
// renderer. It is created on first use.
var converter = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.Strikethrough, extension.TaskList, extension.Linkify,
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		),
		goldmark.WithParserOptions(
			parser.WithBlockParsers(util.Prioritized(mathBlockParser{}, 650), util.Prioritized(noteParser{}, 651)),
			parser.WithInlineParsers(util.Prioritized(mathParser{}, 150), util.Prioritized(noteParser{}, 151)),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 1))),
	)
})

// Plain renders program output as plain text. Terminal colors and overwritten text are left
// out.
func Plain(text string) string {
	return `<pre class="plain">` + html.EscapeString(visible(Printed(text))) + "</pre>"
}

// Inline renders plain text within a line.
func Inline(text string) string { return html.EscapeString(visible(text)) }

// Text returns the readable text of HTML produced by this package.
func Text(rendered string) string { return html.UnescapeString(tags().ReplaceAllString(rendered, "")) }

// tags matches tags in this package's HTML, where all other angle brackets are escaped.
var tags = pattern.New(`<[^>]*>`)
