package richtext

import (
	"bytes"
	"html"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// kindMath and kindMathBlock are the kinds of formulas in TeX, within a line and alone.
var (
	kindMath      = ast.NewNodeKind("Math")
	kindMathBlock = ast.NewNodeKind("MathBlock")
)

// mathNode is a formula within a line.
type mathNode struct {
	ast.BaseInline
	tex     []byte
	display bool
}

// Kind implements [ast.Node].
func (*mathNode) Kind() ast.NodeKind { return kindMath }

// Dump implements [ast.Node].
func (n *mathNode) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// mathBlock is a formula on lines of its own. Its lines include the delimiters.
type mathBlock struct {
	ast.BaseBlock
	closing []byte
	done    bool
}

// Kind implements [ast.Node].
func (*mathBlock) Kind() ast.NodeKind { return kindMathBlock }

// IsRaw implements [ast.Node].
func (*mathBlock) IsRaw() bool { return true }

// Dump implements [ast.Node].
func (n *mathBlock) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

const (
	// mathBytes is the maximum length of a formula.
	mathBytes = 4000
	// mostSearches is the number of unsuccessful searches for the end of a formula in a
	// piece, after which there are no more.
	mostSearches = 200
)

// searches counts the unsuccessful searches.
var searches = parser.NewContextKey()

// mathParser parses formulas in $…$, $$…$$, \(…\) and \[…\]. It keeps the backslash before
// characters that have no meaning in Markdown.
type mathParser struct{}

// Trigger implements [parser.InlineParser].
func (mathParser) Trigger() []byte { return []byte{'$', '\\'} }

// Parse implements [parser.InlineParser].
func (mathParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, _ := block.PeekLine()
	opening, closing := delimiters(line)
	if opening == nil {
		return keptBackslash(line, block)
	}
	if len(opening) == 1 && isWordBefore(block) {
		return nil
	}
	if n := findMath(block, pc, opening, closing); n != nil {
		return n
	}
	return keptBackslash(line, block)
}

// delimiters returns the delimiter that a line starts with, and the one that closes it.
func delimiters(line []byte) (opening, closing []byte) {
	for _, d := range [][2]string{{"$$", "$$"}, {`\(`, `\)`}, {`\[`, `\]`}, {"$", "$"}} {
		if bytes.HasPrefix(line, []byte(d[0])) {
			return []byte(d[0]), []byte(d[1])
		}
	}
	return nil, nil
}

// isWordBefore reports whether a dollar is within a word. Scripts without spaces between
// words have formulas directly after a character.
func isWordBefore(block text.Reader) bool {
	r := block.PrecendingCharacter()
	switch {
	case r < 0x80:
		return r == '$' || r == '_' || util.IsAlphaNumeric(byte(r))
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return false
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// findMath returns the formula at the reader's position and advances past it, or nil.
func findMath(block text.Reader, pc parser.Context, opening, closing []byte) ast.Node {
	failed, _ := pc.Get(searches).(int)
	if failed > mostSearches {
		return nil
	}
	l, start := block.Position()
	block.Advance(len(opening))
	var tex []byte
	for len(tex) <= mathBytes {
		line, _ := block.PeekLine()
		if line == nil {
			break
		}
		at := closingAt(line, closing)
		if at >= 0 {
			tex = append(tex, line[:at]...)
			if isFormula(tex, line[at+len(closing):], opening) {
				block.Advance(at + len(closing))
				return &mathNode{tex: bytes.TrimSpace(tex), display: opening[0] != '(' && len(opening) == 2 && opening[1] != '('}
			}
			break
		}
		if len(opening) == 1 {
			break // one dollar ends on its line
		}
		tex = append(tex, line...)
		block.AdvanceLine()
	}
	pc.Set(searches, failed+1)
	block.SetPosition(l, start)
	return nil
}

// closingAt returns the position of a closing delimiter, or -1. A dollar after a backslash
// is part of the formula.
func closingAt(line, closing []byte) int {
	if closing[0] != '$' {
		return bytes.Index(line, closing)
	}
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\':
			i++
		case bytes.HasPrefix(line[i:], closing):
			return i
		}
	}
	return -1
}

// isFormula tells formulas from prices, variables of a shell, and links with escaped
// brackets.
func isFormula(tex, after, opening []byte) bool {
	if len(bytes.TrimSpace(tex)) == 0 || len(tex) > mathBytes {
		return false
	}
	switch {
	case opening[0] == '\\':
		return opening[1] != '[' || !bytes.HasPrefix(after, []byte("("))
	case len(opening) == 2:
		return true
	}
	last := tex[len(tex)-1]
	return !util.IsSpace(tex[0]) && !util.IsSpace(last) && (len(after) == 0 || !util.IsAlphaNumeric(after[0]) && after[0] != '$')
}

// unescaped are characters that need no backslash in Markdown.
const unescaped = "()[]{},;:/=@%^?'\""

// keptBackslash returns a backslash and the character after it as text, if the character
// has no meaning in Markdown. TeX and paths are full of them.
func keptBackslash(line []byte, block text.Reader) ast.Node {
	if len(line) < 2 || line[0] != '\\' || bytes.IndexByte([]byte(unescaped), line[1]) < 0 {
		return nil
	}
	n := ast.NewString(bytes.Clone(line[:2]))
	n.SetRaw(true)
	block.Advance(2)
	return n
}

// mathBlockParser parses formulas that begin a line with $$ or \[, whose lines must not be
// taken for lists.
type mathBlockParser struct{}

// Trigger implements [parser.BlockParser].
func (mathBlockParser) Trigger() []byte { return []byte{'$', '\\'} }

// Open implements [parser.BlockParser].
func (mathBlockParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 {
		return nil, parser.NoChildren
	}
	opening, closing := delimiters(line[at:])
	if len(opening) != 2 || opening[1] == '(' {
		return nil, parser.NoChildren
	}
	rest := reader.Source()[segment.Start+at+2-segment.Padding:]
	end := bytes.Index(rest[:min(len(rest), mathBytes)], closing)
	if blank := bytes.Index(rest, []byte("\n\n")); end < 0 || blank >= 0 && blank < end {
		return nil, parser.NoChildren
	}
	if after, _, _ := bytes.Cut(rest[end+2:], []byte("\n")); len(bytes.TrimSpace(after)) > 0 || len(bytes.TrimSpace(rest[:end])) == 0 {
		return nil, parser.NoChildren // more text follows: it is part of a paragraph
	}
	n := &mathBlock{closing: closing}
	n.add(line[at+2:], segment.WithStart(segment.Start+at))
	return n, parser.NoChildren
}

// add adds a line.
func (n *mathBlock) add(line []byte, segment text.Segment) {
	n.Lines().Append(segment)
	n.done = bytes.Contains(line, n.closing)
}

// Continue implements [parser.BlockParser].
func (mathBlockParser) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	n, ok := node.(*mathBlock)
	if !ok || n.done {
		return parser.Close
	}
	line, segment := reader.PeekLine()
	n.add(line, segment)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

// Close implements [parser.BlockParser].
func (mathBlockParser) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph implements [parser.BlockParser].
func (mathBlockParser) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine implements [parser.BlockParser].
func (mathBlockParser) CanAcceptIndentedLine() bool { return false }

// math renders a formula as code, which pages replace by MathML.
func math(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	switch n := n.(type) {
	case *mathNode:
		class := "math"
		if n.display {
			class = "math display"
		}
		w.WriteString(`<code class="` + class + `">` + html.EscapeString(string(n.tex)) + "</code>")
	case *mathBlock:
		tex := bytes.TrimSpace(n.Lines().Value(source))
		tex = bytes.TrimSuffix(tex, n.closing)
		w.WriteString(`<p><code class="math display">` + html.EscapeString(string(bytes.TrimSpace(tex[min(2, len(tex)):]))) + "</code></p>\n")
	}
	return ast.WalkSkipChildren, nil
}
