package tool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"firn"
	"firn/tool"
)

// noon is a clock that stands still.
func noon() time.Time { return time.Date(2026, 3, 10, 12, 0, 0, 0, time.Local) }

const today = "memory/2026-03-10.md"

func memory(w *tool.Workspace) tool.Tool {
	return tool.MemoryWrite(w, tool.MemoryOptions{Clock: noon})
}

func TestMemoryWrite(t *testing.T) {
	w := workspace(t, nil)
	for _, c := range []struct{ text, said, file string }{
		{"The cat is called Miru.", "noted in memory/2026-03-10.md: 1 fact", "# 2026-03-10\n\n- The cat is called Miru.\n"},
		{"the  CAT is\tcalled miru.", "already noted", "# 2026-03-10\n\n- The cat is called Miru.\n"},
		{"- Deploys are on Monday\n* Anna decides\n\n- deploys are on monday", "noted in memory/2026-03-10.md: 2 facts; 1 already noted",
			"# 2026-03-10\n\n- The cat is called Miru.\n- Deploys are on Monday\n- Anna decides\n"},
	} {
		if got := call(t, memory(w), args{"text": c.text}); got != c.said {
			t.Errorf("%q: said %q, want %q", c.text, got, c.said)
		}
		if got := content(t, w, today); got != c.file {
			t.Errorf("%q: the file is %q, want %q", c.text, got, c.file)
		}
	}
}

func TestMemoryKnowsWhatWasNotedBefore(t *testing.T) {
	w := workspace(t, map[string]string{
		"MEMORY.md":            "# About\n\nAnna likes tea\n",
		"memory/2026-03-03.md": "# 2026-03-03\n\n* Seven days ago\n",
		"memory/2026-03-02.md": "- Eight days ago\n",
		"memory/2026-03-09.md": "- Yesterday\r\n- no line end",
		"memory/2026-03-11.md": "- Tomorrow\n",
	})
	for text, known := range map[string]bool{
		"anna LIKES tea": true, "seven days ago": true, "yesterday": true, "No line end": true,
		"eight days ago": false, "tomorrow": false, "About": true,
	} {
		got := call(t, memory(w), args{"text": text})
		if known != (got == "already noted") {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestNotesAreOnlyEverItems tries to write something else into the file.
func TestNotesAreOnlyEverItems(t *testing.T) {
	w := workspace(t, nil)
	for _, text := range []string{
		"# A heading", "## - > 1", "a\n# b", "a\r# c", "d\u2028# e", "f\u2029# g\u0085# h\v# i\f# j", "---", "===\nx", "> quoted", "***", "#hashtag",
		"-5 degrees", "*loud* words", "  # moved in", "\t- tab", "nul\x00byte", "bad\xffbyte", "esc\x1b[31mred", "- [ ] to do", "#\u00a0hard space",
	} {
		_, err := memory(w).Run(t.Context(), marshal(t, args{"text": text}))
		if err != nil && !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	item := regexp.MustCompile(`^- [^\s#>\-+=]\S*|^- #hashtag|^- -5`)
	file := content(t, w, today)
	for i, line := range strings.Split(strings.TrimSuffix(file, "\n"), "\n") {
		switch {
		case i == 0 && line == "# 2026-03-10", i == 1 && line == "":
		case i < 2 || !item.MatchString(line) || strings.ContainsAny(line, "\r\v\f\x00\x1b\u2028\u2029\u0085"):
			t.Errorf("line %d is %q", i+1, line)
		}
	}
	has(t, file, "- A heading\n", "- -5 degrees\n", "- *loud* words\n", "- #hashtag\n", "- [ ] to do\n", "- quoted\n", "- hard space\n")
	for _, text := range []string{"", " \n\t", "---", "# "} {
		if err := fails(t, memory(w), args{"text": text}); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	w := workspace(t, nil)
	if err := fails(t, memory(w), args{"text": strings.Repeat("x", 2049)}); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("a long note: %v", err)
	}
	small := tool.MemoryWrite(w, tool.MemoryOptions{Clock: noon, MaxBytes: 100})
	call(t, small, args{"text": strings.Repeat("a", 40)})
	before := content(t, w, today)
	if err := fails(t, small, args{"text": strings.Repeat("b", 50)}); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("a full day: %v", err)
	}
	if got := content(t, w, today); got != before {
		t.Errorf("the file is now %q", got)
	}
	if got := call(t, small, args{"text": strings.Repeat("A", 40)}); got != "already noted" {
		t.Errorf("what is known is told as %q", got)
	}
}

func TestMemoryDoesNotGlueLines(t *testing.T) {
	w := workspace(t, map[string]string{today: "# 2026-03-10\n\n- edited by hand"})
	call(t, memory(w), args{"text": "new"})
	if got := content(t, w, today); got != "# 2026-03-10\n\n- edited by hand\n- new\n" {
		t.Errorf("the file is %q", got)
	}
}

func TestMemoryOfAReadOnlyWorkspace(t *testing.T) {
	w := open(t, t.TempDir(), tool.WorkspaceOptions{ReadOnly: true})
	if err := fails(t, memory(w), args{"text": "x"}); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(w.Dir(), "memory")); err == nil {
		t.Error("a directory was made")
	}
}

func TestMemoryDoesNotLeaveTheWorkspace(t *testing.T) {
	outer := tree(t, map[string]string{"secret/x": "", "work/x": ""})
	if err := os.Symlink("../secret", filepath.Join(outer, "work/memory")); err != nil {
		t.Fatal(err)
	}
	w := open(t, filepath.Join(outer, "work"), tool.WorkspaceOptions{})
	fails(t, memory(w), args{"text": "x"})
	if entries, _ := os.ReadDir(filepath.Join(outer, "secret")); len(entries) != 1 {
		t.Errorf("outside there is %v", entries)
	}
}

// TestManyNoteAtOnce has workspaces of their own, which know of each other as
// little as processes do.
func TestManyNoteAtOnce(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 8 {
		w := open(t, dir, tool.WorkspaceOptions{})
		group.Go(func() {
			for j := range 5 {
				text := fmt.Sprintf("note %d of all\nown note %d of %d", j, j, i)
				if _, err := memory(w).Run(t.Context(), marshal(t, args{"text": text})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	data, err := os.ReadFile(filepath.Join(dir, today))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	seen := make(map[string]bool)
	for _, line := range lines {
		if seen[line] {
			t.Errorf("%q is there twice", line)
		}
		seen[line] = true
	}
	if len(lines) != 2+5+8*5 || lines[0] != "# 2026-03-10" {
		t.Errorf("there are %d lines, the first is %q", len(lines), lines[0])
	}
}

func TestNotes(t *testing.T) {
	w := workspace(t, map[string]string{
		"MEMORY.md":            "# Memory\n\nAnna likes tea.\n",
		"memory/2026-01-02.md": "# 2026-01-02\n\n- older\n",
		"memory/2026-03-04.md": "# 2026-03-04\n\n- first\n- second \xff\n",
		"memory/people.md":     "- Bob is a dog\n",
		"memory/picture.png":   "not a note",
		"memory/old/x.md":      "- not looked at",
	})
	notes, err := tool.Notes(w)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range notes {
		got = append(got, fmt.Sprintf("%s:%d %s %s", n.Source, n.Line, n.Text, n.Time.Format("0102")))
	}
	want := []string{
		"MEMORY.md:3 Anna likes tea. 0101", "memory/people.md:1 Bob is a dog 0101",
		"memory/2026-03-04.md:3 first 0304", "memory/2026-03-04.md:4 second \ufffd 0304", "memory/2026-01-02.md:3 older 0102",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if notes, err := tool.Notes(workspace(t, nil)); err != nil || len(notes) != 0 {
		t.Errorf("without files: %v, %v", notes, err)
	}
}
