package tool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/tool"
)

func TestListDir(t *testing.T) {
	w := workspace(t, map[string]string{
		"b.txt": "12345", "a/z.go": strings.Repeat("x", 2048), "a/deep/er/x": "", "a.txt": "", "C/": "", ".git/config": "x", ".hidden": "1",
	})
	if err := os.Symlink("a/z.go", filepath.Join(w.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	list := find(t, w, "list_dir")
	for name, c := range map[string]struct {
		a    args
		want []string
	}{
		"top":      {nil, []string{".git/", ".hidden  1 byte", "C/", "a/", "a.txt  0 bytes", "b.txt  5 bytes", "link -> a/z.go"}},
		"dot":      {args{"path": "."}, []string{".git/", ".hidden  1 byte", "C/", "a/", "a.txt  0 bytes", "b.txt  5 bytes", "link -> a/z.go"}},
		"two deep": {args{"depth": 2}, []string{".git/", ".hidden  1 byte", "C/", "a/", "a/deep/", "a/z.go  2.0 KB", "a.txt  0 bytes", "b.txt  5 bytes", "link -> a/z.go"}},
		"below":    {args{"path": "a", "depth": 9}, []string{"deep/", "deep/er/", "deep/er/x  0 bytes", "z.go  2.0 KB"}},
		"empty":    {args{"path": "C"}, []string{"[C is empty]"}},
		"git":      {args{"path": ".git"}, []string{"config  1 byte"}},
	} {
		if got := call(t, list, c.a); got != strings.Join(c.want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, strings.Join(c.want, "\n"))
		}
	}
	has(t, fails(t, list, args{"path": "b.txt"}).Error(), "b.txt is a file of 5 bytes, not a directory: read_file shows it")
	if err := fails(t, list, args{"path": "none"}); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a missing directory: %v", err)
	}
	if err := fails(t, list, args{"depth": 99}); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("too deep: %v", err)
	}
}

func TestListDirIsBounded(t *testing.T) {
	files := map[string]string{"z/last.txt": ""}
	for i := range 600 {
		files[fmt.Sprintf("a/%04d.txt", i)] = ""
	}
	w := workspace(t, files)
	r := result(t, find(t, w, "list_dir"), args{"depth": 3})
	text := firn.JoinText(r.Parts)
	// The upper level is complete, although a sorts before z.
	has(t, text, "a/\n", "a/0000.txt", "z/\n", "[500 entries shown, and there are more")
	if n := strings.Count(text, "\n"); n != 500 {
		t.Errorf("%d lines are shown", n)
	}
	if d := details[struct {
		Entries int
		More    bool
	}](t, r); d.Entries != 500 || !d.More {
		t.Errorf("the details are %+v", d)
	}
	lacks(t, call(t, find(t, w, "list_dir"), nil), "there are more")
}

func TestToolsAreCanceled(t *testing.T) {
	w := workspace(t, map[string]string{"a.txt": "x"})
	for _, tl := range append(w.Tools(), tool.Calc(), tool.Now(nil), tool.Remember(nil), tool.Forget(nil)) {
		if _, err := tl.Run(ended(t), []byte(`{}`)); err == nil {
			t.Errorf("%s ran", tl.Spec().Name)
		}
	}
}
