package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// builtSite is a site in a temporary directory.
type builtSite struct {
	t     *testing.T
	dir   string
	pages map[string]*html.Node
}

func buildHere(t *testing.T) *builtSite {
	t.Helper()
	s, err := build(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	b := &builtSite{t: t, dir: t.TempDir(), pages: make(map[string]*html.Node)}
	for range 2 { // the second build replaces the first
		if err := s.write(b.dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range s.pages {
		f, err := os.Open(filepath.Join(b.dir, p.output()))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if b.pages[p.output()], err = html.Parse(f); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// attribute returns the value of an attribute.
func attribute(n *html.Node, name string) (string, bool) {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	if i < 0 {
		return "", false
	}
	return n.Attr[i].Val, true
}

// TestSite builds the documentation and checks the built pages: every link leads to a file
// and an element, and nothing is requested from elsewhere.
func TestSite(t *testing.T) {
	b := buildHere(t)
	if len(b.pages) < 100 {
		t.Errorf("only %d pages", len(b.pages))
	}
	for name, tree := range b.pages {
		for n := range tree.Descendants() {
			b.checkElement(name, n)
		}
	}
	b.checkAssets()
	b.checkNavigation()
}

// checkElement checks what an element requests or links to.
func (b *builtSite) checkElement(page string, n *html.Node) {
	if src, ok := attribute(n, "src"); ok {
		b.checkFile(page, src)
	}
	if _, ok := attribute(n, "style"); ok {
		b.t.Errorf("%s has a style of its own", page)
	}
	href, ok := attribute(n, "href")
	if !ok || n.Data == "a" && isExternal(href) {
		return
	}
	to, anchor, _ := strings.Cut(href, "#")
	target := page
	if to != "" {
		target = b.checkFile(page, to)
	}
	if tree := b.pages[target]; anchor != "" && tree != nil && !hasID(tree, anchor) {
		b.t.Errorf("%s links to %s, which has no such element", page, href)
	}
}

// checkFile returns the file that a page refers to.
func (b *builtSite) checkFile(page, to string) string {
	target := path.Join(path.Dir(page), to)
	if isExternal(to) {
		b.t.Errorf("%s requests %s", page, to)
	} else if info, err := os.Stat(filepath.Join(b.dir, filepath.FromSlash(target))); err != nil || info.IsDir() {
		b.t.Errorf("%s refers to %s, which is not in the site", page, to)
	}
	return target
}

func hasID(tree *html.Node, id string) bool {
	for n := range tree.Descendants() {
		if has, ok := attribute(n, "id"); ok && has == id {
			return true
		}
	}
	return false
}

// external matches an address in a style sheet or script.
var external = regexp.MustCompile(`(?i)https?:|@import|url\((["']?)//`)

// checkAssets checks that the style sheet, the scripts and the images request nothing from
// elsewhere. Namespaces of SVG are not requested.
func (b *builtSite) checkAssets() {
	err := fs.WalkDir(os.DirFS(b.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".css", ".js", ".svg"}, path.Ext(name)) || name == "search-index.js" {
			return err
		}
		data, err := os.ReadFile(filepath.Join(b.dir, name))
		text := strings.ReplaceAll(string(data), `xmlns="http://www.w3.org/2000/svg"`, "")
		if found := external.FindString(text); found != "" {
			b.t.Errorf("%s contains %q", name, found)
		}
		return err
	})
	if err != nil {
		b.t.Error(err)
	}
}

// checkNavigation checks that the first page leads to the quickstart next, as in
// docs/README.md, and that the index of the search has every page.
func (b *builtSite) checkNavigation() {
	index, err := os.ReadFile(filepath.Join(b.dir, "search-index.js"))
	if err != nil {
		b.t.Fatal(err)
	}
	for name := range b.pages {
		if !strings.Contains(string(index), `"u":"`+name) {
			b.t.Errorf("the search does not find %s", name)
		}
	}
	for n := range b.pages["index.html"].Descendants() {
		if rel, _ := attribute(n, "rel"); rel == "next" {
			if to, _ := attribute(n, "href"); to != "docs/quickstart.html" {
				b.t.Errorf("the next page is %s", to)
			}
			return
		}
	}
	b.t.Error("the first page has no next one")
}

// TestDeadLinks checks that a build fails on each kind of dead link, and names it.
func TestDeadLinks(t *testing.T) {
	for text, want := range map[string]string{
		"[a](docs/nothing.md)":            "docs/nothing.md: no such file",
		"[a](docs/README.md#nothing)":     "#nothing: no such heading",
		"[a](#nothing)":                   "#nothing: no such heading",
		"[a](docs)":                       "a directory without a page",
		"![a](https://example.org/a.png)": "an image of another site",
		"[a](https://example.org/)":       "",
		"[a](docs/README.md#twice-1)":     "",
		"[a](#the-title-of-this)":         "",
		"a <b>c</b>":                      "contains HTML, which is not rendered: <b>",
		"<!-- a -->":                      "",
	} {
		root := t.TempDir()
		for name, text := range map[string]string{"README.md": "# firn\n\n## The `title` of this\n\n" + text, "docs/README.md": "# All\n\n## Twice\n\n## Twice\n"} {
			if err := put(root, name, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := build(root)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestUnlistedPage checks that every page is in the navigation, and that a build does not
// remove a directory with other files.
func TestUnlistedPage(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"README.md", "docs/README.md", "docs/lost.md"} {
		if err := put(root, name, []byte("# A\n")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := build(root); err == nil || !strings.Contains(err.Error(), "docs/README.md does not list docs/lost.md") {
		t.Errorf("got %v", err)
	}
	if err := (&site{root: root}).write(root); err == nil {
		t.Error("a directory with other files was replaced")
	}
	if _, err := os.Stat(filepath.Join(root, "README.md")); err != nil {
		t.Error(err)
	}
}
