package richtext

import (
	"html"
	"net/url"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// nodes renders the nodes that the default renderer would render in an unsafe or unsuitable
// way.
type nodes struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, heading)
	r.Register(ast.KindHTMLBlock, rawBlock)
	r.Register(ast.KindRawHTML, rawInline)
	r.Register(ast.KindLink, link)
	r.Register(ast.KindAutoLink, autoLink)
	r.Register(ast.KindImage, image)
	r.Register(ast.KindFencedCodeBlock, codeBlock)
	r.Register(ast.KindCodeBlock, codeBlock)
	r.Register(extast.KindTaskCheckBox, checkBox)
	r.Register(kindMath, math)
	r.Register(kindMathBlock, math)
	r.Register(kindNoteRef, footnote)
	r.Register(kindNote, footnote)
}

// heading renders a heading one level below those of the page.
func heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h, ok := n.(*ast.Heading)
	if !ok {
		return ast.WalkContinue, nil
	}
	tag := "h" + strconv.Itoa(min(h.Level+2, 6)) + ">"
	if entering {
		w.WriteString("<" + tag)
	} else {
		w.WriteString("</" + tag + "\n")
	}
	return ast.WalkContinue, nil
}

// rawBlock renders an HTML block as text.
func rawBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	w.WriteString(`<pre class="plain">`)
	writeLines(w, source, n)
	if b, ok := n.(*ast.HTMLBlock); ok && b.HasClosure() {
		w.WriteString(html.EscapeString(string(b.ClosureLine.Value(source))))
	}
	w.WriteString("</pre>\n")
	return ast.WalkSkipChildren, nil
}

// writeLines writes the lines of a node as text.
func writeLines(w util.BufWriter, source []byte, n ast.Node) {
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		w.WriteString(html.EscapeString(string(at.Value(source))))
	}
}

// rawInline renders an inline HTML tag: those of keys and indices as such, others as text.
func rawInline(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	raw, ok := n.(*ast.RawHTML)
	switch {
	case !ok || !entering:
	case isPaired(n, source):
		w.WriteString(tagOf(n, source))
	default:
		for i := range raw.Segments.Len() {
			at := raw.Segments.At(i)
			w.WriteString(html.EscapeString(string(at.Value(source))))
		}
	}
	return ast.WalkSkipChildren, nil
}

// safeAddress returns the address of a link that may be followed, or an empty string.
func safeAddress(address string) string {
	address = strings.TrimSpace(address)
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" {
			return ""
		}
	case "mailto":
	default:
		return ""
	}
	address = u.String()
	if again, err := url.Parse(address); err != nil || again.String() != address || strings.ContainsAny(address, " \t\r\n") {
		return "" // a browser may read it in another way
	}
	return address
}

// anchor returns the start tag of a link. It sends no referrer and gives the target no
// access to the page.
func anchor(address, class string) string {
	if class != "" {
		class = ` class="` + class + `"`
	}
	return `<a` + class + ` href="` + html.EscapeString(address) + `" target="_blank" rel="noopener noreferrer nofollow">`
}

// link renders a link to a web page or a mail address; others are rendered as text.
func link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	l, ok := n.(*ast.Link)
	if !ok {
		return ast.WalkContinue, nil
	}
	address := safeAddress(string(l.Destination))
	switch {
	case address == "" || insideLink(n):
	case entering:
		w.WriteString(anchor(address, ""))
	default:
		w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

// insideLink reports whether a node is within a link or an image description, where links
// are not allowed.
func insideLink(n ast.Node) bool {
	for up := n.Parent(); up != nil; up = up.Parent() {
		if k := up.Kind(); k == ast.KindLink || k == ast.KindImage {
			return true
		}
	}
	return false
}

// autoLink renders an address within the text.
func autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	l, ok := n.(*ast.AutoLink)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	address := string(l.URL(source))
	if l.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		address = "mailto:" + address
	}
	label := html.EscapeString(string(l.Label(source)))
	if address = safeAddress(address); address == "" || insideLink(n) {
		w.WriteString(label)
	} else {
		w.WriteString(anchor(address, "") + label + "</a>")
	}
	return ast.WalkContinue, nil
}

// image renders an image as a link with its description; it is never fetched.
func image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	i, ok := n.(*ast.Image)
	if !ok {
		return ast.WalkContinue, nil
	}
	address := safeAddress(string(i.Destination))
	linked := address != "" && !insideLink(n)
	if !entering {
		if linked {
			w.WriteString("</a>")
		}
		return ast.WalkContinue, nil
	}
	if linked {
		w.WriteString(anchor(address, "image"))
	}
	if n.FirstChild() == nil {
		w.WriteString(html.EscapeString(shortAddress(address)))
	}
	return ast.WalkContinue, nil
}

// shortAddress returns the display text of a link without a name.
func shortAddress(address string) string {
	if address == "" {
		return "image"
	}
	return address
}

// codeBlock renders a block of code, with colors if the language is known.
func codeBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	language := ""
	if f, ok := n.(*ast.FencedCodeBlock); ok {
		language = string(f.Language(source))
	}
	var code strings.Builder
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		code.Write(at.Value(source))
	}
	w.WriteString(codeHTML(language, code.String()))
	w.WriteString("\n")
	return ast.WalkSkipChildren, nil
}

// checkBox renders a task list item. It is not a form control, since it cannot be toggled.
func checkBox(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if box, ok := n.(*extast.TaskCheckBox); ok && entering {
		if box.IsChecked {
			w.WriteString("☑ ")
		} else {
			w.WriteString("☐ ")
		}
	}
	return ast.WalkContinue, nil
}
