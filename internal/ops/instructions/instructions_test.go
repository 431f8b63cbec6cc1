package instructions

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var names = []string{"AGENTS.md", "CLAUDE.md", "FIRN.md"}

func options() Options { return Options{Names: names, Bytes: 40 << 10} }

// write creates files below a directory; a name that ends with / is a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// project creates a repository in a new directory and returns its root.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "project")
	write(t, root, map[string]string{".git/": ""})
	write(t, root, files)
	return root
}

func paths(r Result) string {
	var all []string
	for _, f := range r.Files {
		all = append(all, f.Path)
	}
	return strings.Join(all, " ")
}

func expect(t *testing.T, r Result, want string, skipped ...string) {
	t.Helper()
	if got := paths(r); got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	if len(r.Skipped) != len(skipped) {
		t.Fatalf("skipped %v, want %q", r.Skipped, skipped)
	}
	for i, s := range r.Skipped {
		if !strings.Contains(s.String(), skipped[i]) {
			t.Errorf("skipped %q, want %q", s, skipped[i])
		}
	}
}

// TestHierarchy checks that the files of a directory and its parents up to the repository
// root are read, the root's first, and nothing above it.
func TestHierarchy(t *testing.T) {
	root := project(t, map[string]string{
		"../AGENTS.md": "above", "AGENTS.md": "a", "FIRN.md": "f", "sub/CLAUDE.md": "c", "sub/deep/AGENTS.md": "d", "sub/other/AGENTS.md": "no",
	})
	r := Read(filepath.Join(root, "sub", "deep"), options())
	expect(t, r, "AGENTS.md FIRN.md sub/CLAUDE.md sub/deep/AGENTS.md")
	if r.Root != root {
		t.Errorf("the root is %s", r.Root)
	}
	// Without a repository only the directory itself counts.
	if err := os.RemoveAll(filepath.Join(root, ".git")); err != nil {
		t.Fatal(err)
	}
	expect(t, Read(filepath.Join(root, "sub"), options()), "CLAUDE.md")
}

// TestIncludes checks includes on separate lines and within text, in text order, each file
// once.
func TestIncludes(t *testing.T) {
	root := project(t, map[string]string{
		"CLAUDE.md":    "@AGENTS.md\nSee (@docs/style.md), mail me@example.org, ask @nobody.\n```\n@docs/fenced.md\n```\nThe span `@docs/span.md` is code.\n@include docs/sub/rules.md\n@include docs/missing.md\n",
		"AGENTS.md":    "agents, see @docs and @README",
		"README":       "readme",
		"docs/a.md":    "no",
		"docs/span.md": "no", "docs/fenced.md": "no",
		"docs/style.md":       "style @sub/rules.md",
		"docs/sub/rules.md":   "rules @../style.md @../../CLAUDE.md @peers.md",
		"docs/sub/peers.md":   "peers",
		"docs/sub/unused.md":  "no",
		"docs/sub/example.md": "no",
	})
	r := Read(root, Options{Names: []string{"CLAUDE.md", "AGENTS.md"}, Bytes: 40 << 10})
	expect(t, r, "CLAUDE.md AGENTS.md README docs/style.md docs/sub/rules.md docs/sub/peers.md", "docs/missing.md, included by CLAUDE.md, was not read")
	if by := r.Files[4].By; by != "docs/style.md" {
		t.Errorf("the rules were included by %q", by)
	}
}

// TestCyclicIncludes checks that cyclic includes end.
func TestCyclicIncludes(t *testing.T) {
	root := project(t, map[string]string{"AGENTS.md": "@include a.md\n@include AGENTS.md", "a.md": "@include b.md", "b.md": "@include a.md\n@include ./AGENTS.md"})
	expect(t, Read(root, options()), "AGENTS.md a.md b.md")
}

// TestDepth checks that includes end after MaxDepth with a report.
func TestDepth(t *testing.T) {
	files := map[string]string{"AGENTS.md": "@include 1.md"}
	want := []string{"AGENTS.md"}
	for i := 1; i <= MaxDepth+3; i++ {
		files[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("@include %d.md", i+1)
		if i <= MaxDepth {
			want = append(want, fmt.Sprintf("%d.md", i))
		}
	}
	expect(t, Read(project(t, files), options()), strings.Join(want, " "), fmt.Sprintf("more than %d includes", MaxDepth))
}

// TestOutside checks that nothing outside the project is read, by any kind of path, unless
// it is allowed.
func TestOutside(t *testing.T) {
	root := project(t, map[string]string{"../secret.md": "secret", "../shared/rules.md": "rules @more.md", "../shared/more.md": "more", "in.md": "inside"})
	outside := filepath.Join(filepath.Dir(root), "secret.md")
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(outside, "link.md")
	link(filepath.Join("..", "secret.md"), "relative.md")
	link(filepath.Dir(root), "up")
	link(filepath.Join(root, "in.md"), "absolute.md") // inside, although an os.Root does not follow it
	link(outside, "FIRN.md")
	for path, read := range map[string]string{
		"../secret.md": "", "./../secret.md": "", outside: "", "link.md": "", "relative.md": "", "up/secret.md": "",
		"~/secret.md": "", "sub/../../secret.md": "", "absolute.md": " absolute.md", "in.md": " in.md",
	} {
		write(t, root, map[string]string{"AGENTS.md": "@include " + path})
		o := options()
		o.Home = filepath.Dir(root)
		r := Read(root, o)
		if got := strings.TrimPrefix(paths(r), "AGENTS.md"); got != read {
			t.Errorf("%s: read %q, want %q", path, got, read)
		}
		if slices.ContainsFunc(r.Files, func(f File) bool { return strings.Contains(f.Text, "secret") && f.Path != "AGENTS.md" }) {
			t.Errorf("%s: the secret was read", path)
		}
		if n := len(r.Skipped); n != 2 && read == "" || n != 1 && read != "" || !strings.Contains(r.Skipped[n-1].Why, "outside the project") {
			t.Errorf("%s: skipped %v", path, r.Skipped)
		}
	}
	write(t, root, map[string]string{"AGENTS.md": "@include ../shared/rules.md\n@include ../secret.md"})
	if err := os.Remove(filepath.Join(root, "FIRN.md")); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Outside = []string{filepath.Join(filepath.Dir(root), "shared"), filepath.Join(root, "..", "nowhere")}
	shared := filepath.Join(filepath.Dir(root), "shared")
	expect(t, Read(root, o), "AGENTS.md "+filepath.Join(shared, "rules.md")+" "+filepath.Join(shared, "more.md"), "outside the project")
	o.Outside = []string{outside}
	expect(t, Read(root, o), "AGENTS.md "+outside, "outside the project")
}

// TestSameFile checks that a file with two names is read once.
func TestSameFile(t *testing.T) {
	root := project(t, map[string]string{"AGENTS.md": "once"})
	if err := os.Symlink("AGENTS.md", filepath.Join(root, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	expect(t, Read(root, options()), "AGENTS.md")
}

// TestSize checks that the size limit favors the directory itself over its parents, and
// that truncation is reported.
func TestSize(t *testing.T) {
	root := project(t, map[string]string{"AGENTS.md": strings.Repeat("a", 90), "sub/AGENTS.md": strings.Repeat("b", 60), "FIRN.md": "none left"})
	o := options()
	o.Bytes = 100
	r := Read(filepath.Join(root, "sub"), o)
	expect(t, r, "AGENTS.md sub/AGENTS.md", "was cut after 40 bytes", "size limit")
	if len(r.Files[0].Text) != 40 || len(r.Files[1].Text) != 60 {
		t.Errorf("read %d and %d bytes", len(r.Files[0].Text), len(r.Files[1].Text))
	}
}

// TestNotText checks that files that are not text are skipped.
func TestNotText(t *testing.T) {
	root := project(t, map[string]string{"AGENTS.md/": "", "CLAUDE.md": "a\x00b", "FIRN.md": "@include dir", "dir/": ""})
	expect(t, Read(root, options()), "FIRN.md", "AGENTS.md was not read: it is not a text file", "CLAUDE.md was not read: it is not a text file", "dir, included by FIRN.md")
}

// FuzzIncludes parses arbitrary text without failing, and finds only paths that occur in
// it.
func FuzzIncludes(f *testing.F) {
	f.Add("@include a.md\n```\n@b\n```\n`@c` (@d.md).")
	f.Fuzz(func(t *testing.T, text string) {
		for _, inc := range includes(text) {
			if inc.path == "" || !strings.Contains(text, inc.path) {
				t.Errorf("found %q", inc.path)
			}
		}
	})
}
