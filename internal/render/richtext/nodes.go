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

// nodes writes what the usual writer would write in a dangerous or unfit way.
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
}

// heading is one of a message, which stands below those of the page it is on.
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

// rawBlock shows HTML as what it is: text that somebody wrote.
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

// rawInline shows a tag within a line as text.
func rawInline(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if raw, ok := n.(*ast.RawHTML); ok && entering {
		for i := range raw.Segments.Len() {
			at := raw.Segments.At(i)
			w.WriteString(html.EscapeString(string(at.Value(source))))
		}
	}
	return ast.WalkSkipChildren, nil
}

// outside is the address of a link that may be followed; empty for all others.
func outside(address string) string {
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
	return u.String()
}

// anchor begins a link. It tells the other side nothing of us.
func anchor(address, class string) string {
	if class != "" {
		class = ` class="` + class + `"`
	}
	return `<a` + class + ` href="` + html.EscapeString(address) + `" target="_blank" rel="noopener noreferrer nofollow">`
}

// link is a link if it leads to a page or a mailbox, else only its text.
func link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	l, ok := n.(*ast.Link)
	if !ok {
		return ast.WalkContinue, nil
	}
	address := outside(string(l.Destination))
	switch {
	case address == "" || within(n):
	case entering:
		w.WriteString(anchor(address, ""))
	default:
		w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

// within reports whether a node stands in a link or in what an image is called:
// there are no links in links.
func within(n ast.Node) bool {
	for up := n.Parent(); up != nil; up = up.Parent() {
		if k := up.Kind(); k == ast.KindLink || k == ast.KindImage {
			return true
		}
	}
	return false
}

// autoLink is an address that stands in the text.
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
	if address = outside(address); address == "" || within(n) {
		w.WriteString(label)
	} else {
		w.WriteString(anchor(address, "") + label + "</a>")
	}
	return ast.WalkContinue, nil
}

// image is never fetched: it becomes a link with the text that stands for it.
func image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	i, ok := n.(*ast.Image)
	if !ok {
		return ast.WalkContinue, nil
	}
	address := outside(string(i.Destination))
	linked := address != "" && !within(n)
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

// shortAddress is what a link is called that has no name.
func shortAddress(address string) string {
	if address == "" {
		return "image"
	}
	return address
}

// codeBlock is a block of code, with colours if we know the language.
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

// checkBox is a box of a list of tasks. It cannot be ticked here, so it is no
// control.
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
