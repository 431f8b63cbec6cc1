package richtext

import (
	"html"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"firn.dev/internal/base/pattern"
)

// kindNoteRef and kindNote are the kinds of references to footnotes, and of footnotes.
var (
	kindNoteRef = ast.NewNodeKind("NoteRef")
	kindNote    = ast.NewNodeKind("Note")
)

// noteRef is a reference to a footnote.
type noteRef struct {
	ast.BaseInline
	label string
}

// Kind implements [ast.Node].
func (*noteRef) Kind() ast.NodeKind { return kindNoteRef }

// Dump implements [ast.Node].
func (n *noteRef) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// note is a footnote: a paragraph with its label.
type note struct {
	ast.BaseBlock
	label string
}

// Kind implements [ast.Node].
func (*note) Kind() ast.NodeKind { return kindNote }

// Dump implements [ast.Node].
func (n *note) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

var (
	noteLabel = pattern.New(`^\[\^([A-Za-z0-9_-]{1,20})\]`)
	noteStart = pattern.New(`^\[\^([A-Za-z0-9_-]{1,20})\]:[ \t]*`)
)

// noteParser parses footnotes and the references to them. A reference has no address of
// its footnote, since blocks are independent of each other: the page links them by label.
type noteParser struct{}

// Trigger implements [parser.InlineParser] and [parser.BlockParser].
func (noteParser) Trigger() []byte { return []byte{'['} }

// Parse implements [parser.InlineParser].
func (noteParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	m := noteLabel().FindSubmatch(line)
	if m == nil {
		return nil
	}
	block.Advance(len(m[0]))
	return &noteRef{label: string(m[1])}
}

// Open implements [parser.BlockParser].
func (noteParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 {
		return nil, parser.NoChildren
	}
	m := noteStart().FindSubmatch(line[at:])
	if m == nil || segment.Padding > 0 {
		return nil, parser.NoChildren
	}
	n := &note{label: string(m[1])}
	segment = segment.WithStart(segment.Start + at + len(m[0]))
	n.Lines().Append(segment.TrimRightSpace(reader.Source()))
	return n, parser.NoChildren
}

// Continue implements [parser.BlockParser].
func (noteParser) Continue(ast.Node, text.Reader, parser.Context) parser.State { return parser.Close }

// Close implements [parser.BlockParser].
func (noteParser) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph implements [parser.BlockParser].
func (noteParser) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine implements [parser.BlockParser].
func (noteParser) CanAcceptIndentedLine() bool { return false }

// footnote renders a footnote or a reference to one.
func footnote(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	switch n := n.(type) {
	case *noteRef:
		if entering {
			w.WriteString(`<sup class="note-ref">` + html.EscapeString(n.label) + "</sup>")
		}
	case *note:
		if entering {
			w.WriteString(`<p class="note"><sup class="note-label">` + html.EscapeString(n.label) + "</sup> ")
		} else {
			w.WriteString("</p>\n")
		}
	}
	return ast.WalkContinue, nil
}

// paired are the HTML tags within a line that are rendered, if they have both ends.
var paired = map[string]string{"<kbd>": "</kbd>", "<sub>": "</sub>", "<sup>": "</sup>"}

// isPaired reports whether a tag is rendered: its other end must be the next tag, or the
// one before.
func isPaired(n ast.Node, source []byte) bool {
	tag := tagOf(n, source)
	if closing, ok := paired[tag]; ok {
		return tagOf(nextTag(n, ast.Node.NextSibling), source) == closing
	}
	before := nextTag(n, ast.Node.PreviousSibling)
	return tag != "" && paired[tagOf(before, source)] == tag
}

// nextTag returns the next HTML tag in a direction, or nil.
func nextTag(n ast.Node, step func(ast.Node) ast.Node) ast.Node {
	for n = step(n); n != nil; n = step(n) {
		if n.Kind() == ast.KindRawHTML {
			return n
		}
	}
	return nil
}

// tagOf returns the text of an HTML tag.
func tagOf(n ast.Node, source []byte) string {
	raw, ok := n.(*ast.RawHTML)
	if !ok || raw.Segments.Len() != 1 {
		return ""
	}
	at := raw.Segments.At(0)
	return string(at.Value(source))
}
