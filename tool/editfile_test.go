package tool_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/tool"
)

func edits(pairs ...string) []args {
	var all []args
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, args{"old_text": pairs[i], "new_text": pairs[i+1]})
	}
	return all
}

func TestEditFile(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		edits  []args
		after  string
	}{
		"one":                      {"a\nb\nc\n", edits("b", "B"), "a\nB\nc\n"},
		"several":                  {"a\nb\nc\n", edits("c\n", "C\nd\n", "a", "A"), "A\nb\nC\nd\n"},
		"matched as it was before": {"a b\n", edits("a", "b", "b", "c"), "b c\n"},
		"removed":                  {"a\nb\n", edits("b\n", ""), "a\n"},
		"all":                      {"x x x", []args{{"old_text": "x", "new_text": "yy", "all": true}}, "yy yy yy"},
		"CRLF stays":               {"a\r\nb\r\nc\r\n", edits("a\nb", "A\nx\nB"), "A\r\nx\r\nB\r\nc\r\n"},
		"CRLF, one line":           {"a\r\nb\r\n", edits("b", "b\nc"), "a\r\nb\r\nc\r\n"},
		"LF stays":                 {"a\nb\n", edits("b", "b\nc"), "a\nb\nc\n"},
		"without a final line end": {"a\nb", edits("b", "c"), "a\nc"},
		"with a byte order mark":   {"\ufeffa\nb\n", edits("a", "A"), "\ufeffA\nb\n"},
		"bytes that are not UTF-8": {"caf\xe9 and a long enough text\n", edits("long", "short"), "caf\xe9 and a short enough text\n"},
		"next to each other":       {"ab", edits("a", "1", "b", "2"), "12"},
	} {
		t.Run(name, func(t *testing.T) {
			w := workspace(t, map[string]string{"f.txt": c.before})
			r := result(t, find(t, w, "edit_file"), args{"path": "f.txt", "edits": c.edits})
			if got := content(t, w, "f.txt"); got != c.after {
				t.Errorf("the file is now %q, want %q", got, c.after)
			}
			if d := details[struct{ Diff string }](t, r); !strings.HasPrefix(d.Diff, "--- a/f.txt\n+++ b/f.txt\n@@ ") {
				t.Errorf("the diff is %q", d.Diff)
			}
			leftovers(t, w)
		})
	}
}

func TestEditFileRefuses(t *testing.T) {
	const before = "func one() {\n\treturn 1\n}\n\nfunc two() {\n\treturn 2\n}\n"
	for name, c := range map[string]struct {
		edits []args
		says  []string
		is    error
	}{
		"not found":               {edits("\treturn  3", "x"), []string{"not found", "2: \treturn 1", "6: \treturn 2"}, firn.ErrNotFound},
		"not found, other spaces": {edits("func two() {\n    return 2\n}", "x"), []string{"5: func two() {\n6: \treturn 2\n7: }"}, firn.ErrNotFound},
		"nothing is near":         {edits("completely different", "x"), []string{"copy the text exactly"}, firn.ErrNotFound},
		"not unique":              {edits("return", "x"), []string{"2 times, in lines 2, 6", "set all"}, firn.ErrInvalid},
		"one of several":          {edits("one", "eins", "three", "drei"), []string{"edit 2 of 2", "nothing was changed"}, firn.ErrNotFound},
		"all problems are named":  {edits("return", "x", "three", "drei"), []string{"edit 1 of 2", "edit 2 of 2"}, firn.ErrNotFound},
		"overlap":                 {edits("one() {\n", "x", "{\n\treturn 1", "y"), []string{"overlap in line 1"}, firn.ErrInvalid},
		"empty":                   {edits("", "x"), []string{"old_text is empty"}, firn.ErrInvalid},
		"the same":                {edits("one", "one"), []string{"the same"}, firn.ErrInvalid},
		"none":                    {nil, []string{"1 to 200 edits"}, firn.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			w := workspace(t, map[string]string{"f.go": before})
			a := args{"path": "f.go", "edits": c.edits}
			if c.edits == nil {
				a["edits"] = []args{}
			}
			err := fails(t, find(t, w, "edit_file"), a)
			has(t, err.Error(), c.says...)
			if !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
			if got := content(t, w, "f.go"); got != before {
				t.Errorf("the file was changed: %q", got)
			}
			leftovers(t, w)
		})
	}
	w := workspace(t, map[string]string{"b.bin": "a\x00b", "real.txt": "x"})
	has(t, fails(t, find(t, w, "edit_file"), args{"path": "b.bin", "edits": edits("a", "b")}).Error(), "binary")
	has(t, fails(t, find(t, w, "edit_file"), args{"path": "real.md", "edits": edits("a", "b")}).Error(), "not found", "real.txt")
	has(t, fails(t, find(t, w, "edit_file"), args{"path": ".git/config", "edits": edits("a", "b")}).Error(), ".git belongs to git")
}

// TestParallelEdits checks that calls of one answer do not lose each other's changes.
func TestParallelEdits(t *testing.T) {
	var lines, want []string
	for i := range 40 {
		lines = append(lines, "line "+string(rune('A'+i))+";")
		want = append(want, "edited "+string(rune('A'+i))+";")
	}
	w := workspace(t, map[string]string{"f.txt": strings.Join(lines, "\n")})
	edit := find(t, w, "edit_file")
	var group sync.WaitGroup
	for i, line := range lines {
		group.Go(func() {
			if _, err := edit.Run(t.Context(), marshal(t, args{"path": "f.txt", "edits": edits(line, want[i])})); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := content(t, w, "f.txt"); got != strings.Join(want, "\n") {
		t.Errorf("the file is %q", got)
	}
}

// TestPreview checks that a preview shows the change and makes none.
func TestPreview(t *testing.T) {
	w := workspace(t, map[string]string{"f.txt": "a\nb\n"})
	for _, c := range []struct {
		tool string
		a    args
		want string
	}{
		{"edit_file", args{"path": "f.txt", "edits": edits("b", "c")}, "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		{"write_file", args{"path": "f.txt", "content": "a\n"}, "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1 @@\n a\n-b\n"},
		{"write_file", args{"path": "f.txt", "content": "c\n", "append": true}, "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,3 @@\n a\n b\n+c\n"},
		{"write_file", args{"path": "new/n.txt", "content": "x\n"}, "--- /dev/null\n+++ b/new/n.txt\n@@ -0,0 +1 @@\n+x\n"},
	} {
		p, ok := find(t, w, c.tool).(tool.Previewer)
		if !ok {
			t.Fatalf("%s has no preview", c.tool)
		}
		got, err := p.Preview(t.Context(), marshal(t, c.a))
		if err != nil || got != c.want {
			t.Errorf("%s %v: %q, %v", c.tool, c.a, got, err)
		}
	}
	if got := content(t, w, "f.txt"); got != "a\nb\n" {
		t.Errorf("the preview changed the file: %q", got)
	}
	if _, err := os.Stat(filepath.Join(w.Dir(), "new")); err == nil {
		t.Error("the preview made a directory")
	}
}

func TestGlobFiles(t *testing.T) {
	w := workspace(t, map[string]string{"a.go": "", "b.txt": "", "src/c.go": "", "src/deep/d.go": "", ".git/e.go": ""})
	for _, c := range []struct {
		a    args
		want []string
		not  []string
	}{
		{args{"pattern": "*.go"}, []string{"a.go", "src/c.go", "src/deep/d.go"}, []string{"b.txt", ".git"}},
		{args{"pattern": "src/*.go"}, []string{"src/c.go"}, []string{"deep", "a.go"}},
		{args{"pattern": "**/d.*"}, []string{"src/deep/d.go"}, []string{"c.go"}},
		{args{"pattern": "deep/*", "path": "src"}, []string{"src/deep/d.go"}, []string{"c.go"}},
		{args{"pattern": "*.rs"}, []string{"no file matches *.rs"}, nil},
	} {
		got := call(t, find(t, w, "glob"), c.a)
		has(t, got, c.want...)
		lacks(t, got, c.not...)
	}
	fails(t, find(t, w, "glob"), args{"pattern": "[", "path": ""})
	fails(t, find(t, w, "glob"), args{"pattern": "*", "path": "../.."})
}
