package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// site is the set of pages that are built from a repository. All names are paths relative
// to the root of the repository, with slashes.
type site struct {
	root  string
	pages []*page
	// files are the other files that pages link to or show; they are copied.
	files map[string]bool
	nav   []group
	// faults are dead links, unlisted pages, and HTML.
	faults []string
}

// A group is a section of the navigation.
type group struct {
	title string
	pages []*page
}

// The page with the list of all documents, and the directories whose pages it lists
// together.
const overview = "docs/README.md"

var folders = map[string]string{
	"docs/decisions": "Design decisions",
	"docs/formats":   "Formats of other tools",
	"docs/tutorials": "Tutorials",
}

// build reads all documents, and checks their links.
func build(root string) (*site, error) {
	s := &site{root: root, files: make(map[string]bool)}
	for _, pattern := range []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/*/*.md", "packaging/npm/README.md"} {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
			if err != nil {
				return nil, err
			}
			s.pages = append(s.pages, parsePage(name, source))
		}
	}
	if s.page("README.md") == nil || s.page(overview) == nil {
		return nil, fmt.Errorf("%s is not the repository: README.md or %s is missing", root, overview)
	}
	s.addFolders()
	for _, p := range s.pages {
		s.resolveLinks(p)
		for _, html := range p.rawHTML() {
			s.faults = append(s.faults, p.name+" contains HTML, which is not rendered: "+html)
		}
	}
	s.orderPages()
	if len(s.faults) > 0 {
		return nil, errors.New("faults in the documents:\n  " + strings.Join(s.faults, "\n  "))
	}
	return s, nil
}

// page returns the page of a document, or nil.
func (s *site) page(name string) *page {
	for _, p := range s.pages {
		if p.name == name {
			return p
		}
	}
	return nil
}

// addFolders adds a page for each directory of documents, which links to all of them.
func (s *site) addFolders() {
	for _, dir := range sortedKeys(folders) {
		name := dir + "/README.md"
		if s.page(name) != nil {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n\n", folders[dir])
		for _, p := range s.pages {
			if path.Dir(p.name) == dir {
				fmt.Fprintf(&b, "- [%s](%s)\n", p.title, path.Base(p.name))
			}
		}
		s.pages = append(s.pages, parsePage(name, []byte(b.String())))
	}
}

// resolveLinks turns the links of a page into links between the built pages.
func (s *site) resolveLinks(p *page) {
	for _, l := range p.links() {
		to, anchor, _ := strings.Cut(l.destination(), "#")
		if isExternal(to) {
			if l.image() {
				s.fault(p, l, "an image of another site")
			}
			continue
		}
		name := p.name
		if to != "" {
			name = path.Join(path.Dir(p.name), to)
		}
		l.set(relative(p.output(), s.target(p, l, name, anchor)))
		if anchor != "" {
			l.set(l.destination() + "#" + anchor)
		}
	}
}

// target returns the path in the site of a file that a page links to.
func (s *site) target(p *page, l link, name, anchor string) string {
	if _, ok := folders[name]; ok {
		name += "/README.md"
	}
	if to := s.page(name); to != nil {
		if anchor != "" && !slices.Contains(to.anchors, anchor) {
			s.fault(p, l, "no such heading")
		}
		return to.output()
	}
	info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(name)))
	switch {
	case err != nil:
		s.fault(p, l, "no such file")
	case info.IsDir():
		s.fault(p, l, "a directory without a page")
	default:
		s.files[name] = true
	}
	return name
}

func (s *site) fault(p *page, l link, why string) {
	s.faults = append(s.faults, fmt.Sprintf("%s links to %s: %s", p.name, l.destination(), why))
}

// orderPages makes the navigation from docs/README.md: a group for each section, and the
// pages of its table in their order.
func (s *site) orderPages() {
	start := s.page("README.md")
	s.nav = []group{{pages: []*page{start}}}
	listed := map[*page]bool{start: true, s.page(overview): true}
	for _, section := range s.page(overview).sections() {
		g := group{title: section.title}
		for _, to := range section.links {
			p := s.built(path.Join(path.Dir(overview), to))
			if p != nil && !listed[p] {
				g.pages, listed[p] = append(g.pages, p), true
			}
		}
		if len(g.pages) > 0 {
			s.nav = append(s.nav, g)
		}
	}
	for _, p := range s.pages {
		inFolder := folders[path.Dir(p.name)] != ""
		if strings.HasPrefix(p.name, "docs/") && !inFolder && !listed[p] {
			s.faults = append(s.faults, overview+" does not list "+p.name)
		}
	}
}

// built returns the page with a path in the site, without its anchor.
func (s *site) built(output string) *page {
	output, _, _ = strings.Cut(output, "#")
	for _, p := range s.pages {
		if p.output() == output {
			return p
		}
	}
	return nil
}

// relative returns the link from one file of the site to another.
func relative(from, to string) string {
	if from == to {
		return path.Base(to)
	}
	up := strings.Repeat("../", strings.Count(from, "/"))
	if dir := path.Dir(from); dir != "." && strings.HasPrefix(to, dir+"/") {
		return to[len(dir)+1:]
	}
	return up + to
}

// isExternal reports whether a link leads out of the repository.
func isExternal(to string) bool {
	return strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") || strings.HasPrefix(to, "//")
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
