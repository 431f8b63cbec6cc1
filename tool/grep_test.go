package tool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/tool"
)

func grepSpace(t *testing.T) *tool.Workspace {
	return workspace(t, map[string]string{
		"main.go":         "package main\n\nfunc main() { needle() }\n",
		"src/a.ts":        "const needle = 1\r\nneedle again\r\n",
		"src/b.tsx":       "NEEDLE",
		"src/deep/c.go":   "no\nneedle",
		"bin/app":         "needle\x00needle",
		"picture.png":     "\x89PNG\r\n\x1a\nneedle",
		".git/HEAD":       "needle",
		"sub/.git/config": "needle",
		"latin1.txt":      "n\xe9edle needle",
	})
}

func TestGrep(t *testing.T) {
	w := grepSpace(t)
	if err := os.Symlink("src", filepath.Join(w.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		a    args
		want []string
	}{
		"all": {args{"pattern": "needle"}, []string{
			"latin1.txt:1: n\ufffdedle needle", "main.go:3: func main() { needle() }", "src/a.ts:1: const needle = 1", "src/a.ts:2: needle again",
			"src/deep/c.go:2: needle", "[2 binary files left out]"}},
		"begin and end":    {args{"pattern": "^needle again$"}, []string{"src/a.ts:2: needle again", "[2 binary files left out]"}},
		"case":             {args{"pattern": "^needle$", "ignore_case": true, "path": "src"}, []string{"src/b.tsx:1: NEEDLE", "src/deep/c.go:2: needle"}},
		"one file":         {args{"pattern": "func", "path": "main.go"}, []string{"main.go:3: func main() { needle() }"}},
		"through a link":   {args{"pattern": "NEEDLE", "path": "link"}, []string{"link/b.tsx:1: NEEDLE"}},
		"glob":             {args{"pattern": "needle", "glob": "*.go"}, []string{"main.go:3: func main() { needle() }", "src/deep/c.go:2: needle"}},
		"glob of a path":   {args{"pattern": "(?i)needle", "glob": "src/*.{ts,tsx}", "limit": 2}, []string{"src/a.ts:1: const needle = 1", "src/a.ts:2: needle again", "[not all was searched, because there are more than 2 matches: name a path or a glob, or a narrower pattern]"}},
		"glob below":       {args{"pattern": "needle", "glob": "deep/*", "path": "src"}, []string{"src/deep/c.go:2: needle"}},
		"nothing":          {args{"pattern": "haystack", "glob": "**/*.go"}, []string{`[no line matches "haystack" in 2 files]`}},
		"git asked for":    {args{"pattern": "needle", "path": ".git"}, []string{".git/HEAD:1: needle"}},
		"binary asked for": {args{"pattern": "needle", "path": "bin/app"}, []string{`[no line matches "needle" in 1 file; 1 binary file left out]`}},
	} {
		if got := call(t, find(t, w, "grep"), c.a); got != strings.Join(c.want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, strings.Join(c.want, "\n"))
		}
	}
}

func TestGrepRefuses(t *testing.T) {
	w := grepSpace(t)
	for want, a := range map[string]args{
		`invalid pattern "(a": missing closing ): `: {"pattern": "(a"},
		"no lookaround":              {"pattern": "(?=x)"},
		"pattern must have 1 to":     {"pattern": ""},
		"limit must not be negative": {"pattern": "x", "limit": -1},
		`invalid glob "[a"`:          {"pattern": "x", "glob": "[a"},
		`invalid glob "{a"`:          {"pattern": "x", "glob": "{a"},
	} {
		err := fails(t, find(t, w, "grep"), a)
		has(t, err.Error(), want)
		if !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%v is not ErrInvalid", err)
		}
	}
	if err := fails(t, find(t, w, "grep"), args{"pattern": "x", "path": "none"}); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a missing path: %v", err)
	}
}

func TestGrepIsBounded(t *testing.T) {
	w := workspace(t, map[string]string{
		"many.txt": strings.Repeat("x\n", 5000),
		"wide.txt": strings.Repeat("é", 5000) + "needle" + strings.Repeat("ü", 5000) + "\nneedle at once\n" + strings.Repeat("y", 400) + "needle\n",
		"huge.txt": strings.Repeat("z", 3<<20) + "needle\nafter the needle\n",
	})
	grep := find(t, w, "grep")
	r := result(t, grep, args{"pattern": "x"})
	if d := details[struct {
		Matches int
		More    bool
	}](t, r); d.Matches != 100 || !d.More {
		t.Errorf("the details are %+v", d)
	}
	if n := strings.Count(call(t, grep, args{"pattern": "x", "limit": 99999}), "many.txt:"); n != 1000 {
		t.Errorf("%d matches are shown", n)
	}
	lines := strings.Split(call(t, grep, args{"pattern": "needle", "path": "wide.txt"}), "\n")
	if len(lines) != 3 {
		t.Fatalf("there are %d lines", len(lines))
	}
	for i, want := range []string{"éneedleü", ": needle at once", "yneedle"} {
		has(t, lines[i], want)
		if n := utf8.RuneCountInString(lines[i]); n > 300+len("wide.txt:1: ……") {
			t.Errorf("line %d has %d characters", i, n)
		}
	}
	has(t, lines[0], "…é", "ü…")
	// Only the beginning of a very long line is searched; the search continues with the
	// next line.
	if got := call(t, grep, args{"pattern": "needle", "path": "huge.txt"}); got != "huge.txt:2: after the needle" {
		t.Errorf("got %.100q", got)
	}
}

func TestGlob(t *testing.T) {
	files := map[string]string{}
	paths := []string{"a.go", "x/a.go", "x/y/a.go", "x/b.txt", "x/[1].txt", "x/ü.txt", "dir.go/plain"}
	for _, path := range paths {
		files[path] = "x"
	}
	w := workspace(t, files)
	for glob, want := range map[string]string{
		"*.go":        "a.go x/a.go x/y/a.go",
		"**/*.go":     "a.go x/a.go x/y/a.go",
		"x/*.go":      "x/a.go",
		"./x/*.go":    "x/a.go",
		"x/**":        "x/[1].txt x/a.go x/b.txt x/y/a.go x/ü.txt",
		"x/**/a.go":   "x/a.go x/y/a.go",
		"**/y/**":     "x/y/a.go",
		"?.txt":       "x/b.txt x/ü.txt",
		"[!a].*":      "x/b.txt x/ü.txt",
		"[a-b].*":     "a.go x/a.go x/b.txt x/y/a.go",
		"[ü].txt":     "x/ü.txt",
		`\[1\].txt`:   "x/[1].txt",
		"{a.go,b.*}":  "a.go x/a.go x/b.txt x/y/a.go",
		"{a,b}.{go,}": "a.go x/a.go x/y/a.go",
		"a.g":         "",
		"A.go":        "",
	} {
		var got []string
		for line := range strings.Lines(call(t, find(t, w, "grep"), args{"pattern": "x", "glob": glob})) {
			if path, _, ok := strings.Cut(line, ":1: "); ok {
				got = append(got, path)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(strings.Fields(want)) {
			t.Errorf("%s finds %v, want %s", glob, got, want)
		}
	}
}
