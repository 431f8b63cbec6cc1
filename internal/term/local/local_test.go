package local

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// dot is a PNG image of one pixel.
var dot, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

// tree writes files into a new directory.
func tree(t *testing.T, files map[string]string) Machine {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Machine{Dir: dir}
}

// ignored is a tree with ignored files, and what is listed of it.
var ignored = map[string]string{
	".gitignore": "*.log\n/build/\n!keep.log\n# comment\nnode_modules\ndocs/**/draft.md\n\\#odd\na/*/z\n", "main.go": "", "x.log": "", "keep.log": "", "build/out": "", "sub/build/in": "",
	"sub/node_modules/m.js": "", "sub/.gitignore": "secret\n!x.log\n", "sub/secret": "", "sub/x.log": "", "secret": "", "docs/a/b/draft.md": "", "docs/draft.md": "", "docs/final.md": "", "#odd": "",
	"a/b/z": "", "a/b/c/z": "", "with space.txt": "",
}

const listed = ".gitignore a/b/c/z docs/final.md keep.log main.go secret sub/.gitignore sub/build/in sub/x.log with space.txt"

// TestFiles lists files as git does, with git and without it.
func TestFiles(t *testing.T) {
	m := tree(t, ignored)
	files, whole, err := m.Files(t.Context())
	if got := strings.Join(files, " "); got != listed || !whole || err != nil {
		t.Errorf("without a repository there are %q, %v, %v", got, whole, err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return // the walk above is all there is
	}
	if out, err := exec.Command("git", "-C", m.Dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, whole, err = m.gitFiles(t.Context())
	slices.Sort(files)
	if got := strings.Join(files, " "); got != listed || !whole || err != nil {
		t.Errorf("git lists %q, %v, %v", got, whole, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := m.Files(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled list returns %v", err)
	}
}

// TestDropped recognizes dropped image files in the ways in which terminals paste them.
func TestDropped(t *testing.T) {
	m := tree(t, map[string]string{"a.png": "", "my shot.png": "", "it's.jpg": "", "note.txt": ""})
	path := func(name string) string { return filepath.Join(m.Dir, name) }
	cases := []struct{ text, want string }{
		{path("a.png"), path("a.png")},
		{path("a.png") + " \n", path("a.png")},
		{"'" + path("my shot.png") + "'", path("my shot.png")},
		{`"` + path("my shot.png") + `"`, path("my shot.png")},
		{"file://" + strings.ReplaceAll(path("my shot.png"), " ", "%20"), path("my shot.png")},
		{"'" + path("it") + `'\''s.jpg'`, path("it's.jpg")},
		{"a.png", "a.png"},
		{path("note.txt"), ""},
		{"look at " + path("a.png"), ""},
		{path("none.png"), ""},
		{"", ""},
	}
	if filepath.Separator == '/' {
		cases = append(cases, []struct{ text, want string }{
			{strings.ReplaceAll(path("my shot.png"), " ", `\ `), path("my shot.png")},
			{path("a.png") + " " + strings.ReplaceAll(path("my shot.png"), " ", `\ `), path("a.png") + "|" + path("my shot.png")},
		}...)
	}
	for _, c := range cases {
		if got := strings.Join(m.Dropped(c.text), "|"); got != c.want {
			t.Errorf("%q is %q, want %q", c.text, got, c.want)
		}
	}
}

// TestAttach reads the files that a text names.
func TestAttach(t *testing.T) {
	long := strings.Repeat("é", MaxText)
	m := tree(t, map[string]string{"a.go": "package a", "my file.txt": "mine\n", "dot.png": string(dot), "long": long, "binary": "\x00\x01", "dir/x": ""})
	text := `see @a.go, @a.go and (@"my file.txt") but not ada@a.go, @none or @dir; @dot.png?`
	if got := strings.Join(m.Mentions(text), "|"); got != "a.go|my file.txt|dot.png" {
		t.Errorf("it names %q", got)
	}
	a, err := m.Attach("a.go")
	if got := a.Sent(); err != nil || got != "package a" {
		t.Errorf("a.go is %q, %v", got, err)
	}
	if a, err = m.Attach("dot.png"); err != nil || a.Image == nil || a.Image.MimeType != "image/png" {
		t.Errorf("the image is %+v, %v", a, err)
	}
	a, err = m.Attach("long")
	if err != nil || !a.Cut || a.Text != long[:MaxText] || !strings.HasSuffix(a.Sent(), "é\n[cut after 131072 of 262144 bytes]\n") {
		t.Errorf("the long file has %d bytes, %v", len(a.Text), err)
	}
	for _, name := range []string{"binary", "none", "dir"} {
		if a, err := m.Attach(name); err == nil {
			t.Errorf("%s is %+v", name, a)
		}
	}
}

// TestRun runs commands, and keeps the end of a long output.
func TestRun(t *testing.T) {
	m := tree(t, map[string]string{"here.txt": ""})
	var seen strings.Builder
	done, err := m.Run(t.Context(), "echo one && echo two", func(text string) { seen.WriteString(text) })
	if err != nil || strings.ReplaceAll(done.Output, " ", "") != "one\ntwo" || done.ExitCode == nil || *done.ExitCode != 0 || seen.Len() == 0 {
		t.Errorf("it is %+v, %v, seen %q", done, err, seen.String())
	}
	if done, err = m.Run(t.Context(), "exit 3", nil); err != nil || done.ExitCode == nil || *done.ExitCode != 3 {
		t.Errorf("it is %+v, %v", done, err)
	}
	out := &tail{}
	for range 3 * maxOutput / 10 {
		out.Write([]byte("123456789\n"))
	}
	if text := out.text(); !out.cut || len(text) > maxOutput || !strings.HasPrefix(text, "123456789\n") || !strings.HasSuffix(text, "\n123456789") {
		t.Errorf("%d bytes are kept, cut %v", len(text), out.cut)
	}
}

// TestEdit uses the configured editor, and fails if there is none.
func TestEdit(t *testing.T) {
	if _, err := (Machine{}).Edit(t.Context(), "x", nil, nil); !errors.Is(err, ErrNoEditor) && runtime.GOOS != "windows" {
		t.Errorf("without an editor: %v", err)
	}
	for system, want := range map[string]string{"linux": "", "windows": "notepad.exe"} {
		if got := (Machine{}).editor(system); got != want {
			t.Errorf("the default editor of %s is %q, want %q", system, got, want)
		}
	}
	m := Machine{Env: func(name string) string { return map[string]string{"VISUAL": "no-such-editor --wait"}[name] }}
	if _, err := m.Edit(t.Context(), "x", nil, nil); err == nil || !strings.Contains(err.Error(), "no-such-editor") {
		t.Errorf("a missing editor returns %v", err)
	}
	if _, err := (Machine{}).Clipboard(t.Context()); err == nil {
		t.Error("there is a clipboard without a display")
	}
}
