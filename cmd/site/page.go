package main

import (
	"bytes"
	"path"
	"strconv"
	"strings"
	"unicode"

	"firn.dev/internal/render/richtext"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// page is a document: its Markdown, parsed.
type page struct {
	name    string // its path in the repository
	source  []byte
	tree    ast.Node
	title   string
	anchors []string  // the IDs of its headings
	heads   []heading // its headings, without the title
}

type heading struct {
	level    int
	id, text string
}

// markdown parses and renders documents as GitHub does, except for HTML in them.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(codeRenderer{}, 100))),
)

// parsePage parses a document.
func parsePage(name string, source []byte) *page {
	p := &page{name: name, source: source, title: path.Base(name)}
	p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&slugs{used: make(map[string]int)}))))
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		id := ""
		if v, ok := h.AttributeString("id"); ok {
			id = string(v.([]byte))
		}
		p.anchors = append(p.anchors, id)
		words := plainText(h, source)
		if h.Level == 1 {
			p.title = words
			continue
		}
		p.heads = append(p.heads, heading{h.Level, id, words})
	}
	return p
}

// output is the path of the page in the site.
func (p *page) output() string {
	dir, base := path.Split(p.name)
	if base == "README.md" {
		return dir + "index.html"
	}
	return dir + strings.TrimSuffix(base, ".md") + ".html"
}

// html renders the text of the page.
func (p *page) html() (string, error) {
	var b bytes.Buffer
	err := markdown.Renderer().Render(&b, p.source, p.tree)
	return b.String(), err
}

// link is a link or an image in a page.
type link struct{ node ast.Node }

func (l link) image() bool { return l.node.Kind() == ast.KindImage }

func (l link) destination() string {
	switch n := l.node.(type) {
	case *ast.Link:
		return string(n.Destination)
	case *ast.Image:
		return string(n.Destination)
	}
	return ""
}

func (l link) set(to string) {
	switch n := l.node.(type) {
	case *ast.Link:
		n.Destination = []byte(to)
	case *ast.Image:
		n.Destination = []byte(to)
	}
}

// links returns all links and images of the page.
func (p *page) links() []link {
	var found []link
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns no errors
		if entering && (n.Kind() == ast.KindLink || n.Kind() == ast.KindImage) {
			found = append(found, link{n})
		}
		return ast.WalkContinue, nil
	})
	return found
}

// section is a part of a page below a heading of the second level.
type section struct {
	title string
	links []string
}

// sections returns the sections of the page that have links.
func (p *page) sections() []section {
	all := []section{{}}
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns no errors
		if !entering {
			return ast.WalkContinue, nil
		}
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			all = append(all, section{title: plainText(h, p.source)})
		}
		if n.Kind() == ast.KindLink {
			last := &all[len(all)-1]
			last.links = append(last.links, link{n}.destination())
		}
		return ast.WalkContinue, nil
	})
	return all
}

// plainText returns the text of a node without markup.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns no errors
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// slugs gives headings the IDs that GitHub gives them, so that links work in both places.
type slugs struct{ used map[string]int }

// Generate implements parser.IDs.
func (s *slugs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(string(value)) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	slug := b.String()
	n := s.used[slug]
	s.used[slug] = n + 1
	if n > 0 {
		slug += "-" + strconv.Itoa(n)
	}
	return []byte(slug)
}

// Put implements parser.IDs.
func (s *slugs) Put(value []byte) { s.used[string(value)]++ }

// codeRenderer renders blocks of code with the syntax colors of firn's own pages.
type codeRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (codeRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, renderCode)
	r.Register(ast.KindCodeBlock, renderCode)
	r.Register(ast.KindHTMLBlock, renderNothing)
	r.Register(ast.KindRawHTML, renderNothing)
}

// renderNothing leaves out comments. Other HTML is a fault of the build.
func renderNothing(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

// rawHTML returns HTML in the page that is not a comment.
func (p *page) rawHTML() []string {
	var found []string
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns no errors
		text := ""
		switch n := n.(type) {
		case *ast.HTMLBlock:
			text = string(n.Lines().Value(p.source))
		case *ast.RawHTML:
			text = string(n.Segments.Value(p.source))
		}
		if entering && text != "" && !strings.HasPrefix(text, "<!--") {
			found = append(found, strings.TrimSpace(text))
		}
		return ast.WalkContinue, nil
	})
	return found
}

func renderCode(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := ""
	if block, ok := n.(*ast.FencedCodeBlock); ok {
		language = string(block.Language(source))
	}
	if language == "console" {
		language = "" // output would be colored as if it were commands
	}
	_, err := w.WriteString(richtext.Code(language, string(n.Lines().Value(source))) + "\n")
	return ast.WalkSkipChildren, err
}
