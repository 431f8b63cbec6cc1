package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"firn.dev/internal/render/richtext"

	"github.com/yuin/goldmark/ast"
)

//go:embed assets
var assets embed.FS

var layout = template.Must(template.New("page.html").ParseFS(assets, "assets/page.html"))

// The style sheet of firn's own pages with the colors, type and space of the site, and
// their icon.
const (
	tokens = "internal/door/webui/src/style/base.css"
	icon   = "internal/door/webui/src/icon.svg"
)

// write replaces a directory with the site.
func (s *site) write(out string) error {
	if err := s.empty(out); err != nil {
		return err
	}
	for i, p := range s.order() {
		built, err := s.render(p, i)
		if err == nil {
			err = put(out, p.output(), built)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(s.files) {
		if err := s.copy(out, name, name); err != nil {
			return err
		}
	}
	return s.writeAssets(out)
}

// empty removes what an earlier build wrote. A directory with other files is not removed.
func (s *site) empty(out string) error {
	there, err := os.ReadDir(out)
	if os.IsNotExist(err) || err == nil && len(there) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(out, "search-index.js")); err != nil {
		return &os.PathError{Op: "replace", Path: out, Err: os.ErrExist}
	}
	return os.RemoveAll(out)
}

func (s *site) copy(out, from, to string) error {
	data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(from)))
	if err != nil {
		return err
	}
	return put(out, to, data)
}

// put writes a file of the site.
func put(out, name string, data []byte) error {
	to := filepath.Join(out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// writeAssets writes the style sheet, the scripts, the icon and the index for the search.
func (s *site) writeAssets(out string) error {
	base, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(tokens)))
	if err != nil {
		return err
	}
	own, err := assets.ReadFile("assets/site.css")
	if err != nil {
		return err
	}
	style := bytes.Join([][]byte{base, []byte(richtext.CSS()), own}, []byte("\n"))
	if err := put(out, "site.css", style); err != nil {
		return err
	}
	for _, name := range []string{"site.js", "theme.js"} {
		data, err := assets.ReadFile("assets/" + name)
		if err == nil {
			err = put(out, name, data)
		}
		if err != nil {
			return err
		}
	}
	if err := s.copy(out, icon, "icon.svg"); err != nil {
		return err
	}
	index, err := json.Marshal(s.index())
	if err != nil {
		return err
	}
	return put(out, "search-index.js", append([]byte("window.searchIndex="), append(index, '\n')...))
}

// order returns all pages: first those of the navigation.
func (s *site) order() []*page {
	var all []*page
	seen := make(map[*page]bool)
	for _, g := range s.nav {
		for _, p := range g.pages {
			all, seen[p] = append(all, p), true
		}
	}
	for _, p := range s.pages {
		if !seen[p] {
			all = append(all, p)
		}
	}
	return all
}

// item is a link in the template.
type item struct {
	Link, Title string
	Here        bool
	Deep        bool
}

type navGroup struct {
	Title string
	Items []item
}

// view is the data of the template.
type view struct {
	Title, Root string
	Body        template.HTML
	Nav         []navGroup
	Contents    []item
	Prev, Next  *item
}

// render builds a page; i is its place in the order.
func (s *site) render(p *page, i int) ([]byte, error) {
	body, err := p.html()
	if err != nil {
		return nil, err
	}
	v := view{Title: p.title, Root: strings.Repeat("../", strings.Count(p.name, "/")), Body: template.HTML(body)} // of our own documents, without raw HTML
	count := 0
	for _, g := range s.nav {
		count += len(g.pages)
		n := navGroup{Title: g.title}
		for _, q := range g.pages {
			n.Items = append(n.Items, item{Link: relative(p.output(), q.output()), Title: q.title, Here: q == p})
		}
		v.Nav = append(v.Nav, n)
	}
	for _, h := range p.heads {
		if h.level <= 3 && len(p.heads) > 2 {
			v.Contents = append(v.Contents, item{Link: "#" + h.id, Title: h.text, Deep: h.level == 3})
		}
	}
	order := s.order()
	if i > 0 && i < count {
		v.Prev = &item{Link: relative(p.output(), order[i-1].output()), Title: order[i-1].title}
	}
	if i+1 < count {
		v.Next = &item{Link: relative(p.output(), order[i+1].output()), Title: order[i+1].title}
	}
	var b bytes.Buffer
	err = layout.Execute(&b, v)
	return b.Bytes(), err
}

// record is a section in the index of the search.
type record struct {
	URL     string `json:"u"`
	Page    string `json:"p"`
	Heading string `json:"h,omitempty"`
	Text    string `json:"t"`
}

// index returns the sections of all pages with their text.
func (s *site) index() []record {
	var all []record
	for _, p := range s.order() {
		now := record{URL: p.output(), Page: p.title}
		for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
			words := plainText(n, p.source)
			h, ok := n.(*ast.Heading)
			if !ok {
				now.Text = strings.TrimSpace(now.Text + " " + words)
				continue
			}
			if h.Level == 1 {
				continue
			}
			all = append(all, now)
			id, _ := h.AttributeString("id")
			now = record{URL: p.output() + "#" + string(id.([]byte)), Page: p.title, Heading: words}
		}
		all = append(all, now)
	}
	return all
}
