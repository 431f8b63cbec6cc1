//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"firn.dev/wire"
)

// unreadable are ways in which a transcript cannot be opened, also not by root.
var unreadable = map[string]func(path string) error{
	"a directory":        func(path string) error { return os.Mkdir(path, 0o700) },
	"a link to nowhere":  func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "gone"), path) },
	"a link to itself":   func(path string) error { return os.Symlink(path, path) },
	"a pipe":             func(path string) error { return syscall.Mkfifo(path, 0o600) },
	"a file of mode 000": nil, // root may read it
}

// TestUnreadableFileDoesNotHideOthers makes one of three transcripts unreadable: search and
// grep return the results of the others, name the unreadable one, and report it by their
// exit code; the list shows all sessions.
func TestUnreadableFileDoesNotHideOthers(t *testing.T) {
	for what, put := range unreadable {
		t.Run(what, func(t *testing.T) {
			if put == nil && os.Geteuid() == 0 {
				put = unreadable["a directory"]
			}
			home := t.TempDir()
			var ids []string
			for i := range 3 {
				s := newTalk(fmt.Sprintf("0198000%d-0000-7000-8000-000000000001", i), 0)
				s.add(entryName(1), parentName(1), fmt.Sprintf("message of session %d.", i))
				s.write(t, home, 1, nil)
				ids = append(ids, s.id)
			}
			path := filepath.Join(home, "agents", "main", "sessions", ids[1]+".jsonl")
			if put == nil {
				put = func(path string) error { return os.Chmod(path, 0) }
			} else if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			for range 2 { // also when the index was built before
				checkUnreadable(t, home, ids)
			}
		})
	}
}

func checkUnreadable(t *testing.T, home string, ids []string) {
	t.Helper()
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"ls"}, 0}, {[]string{"search", "message"}, 8}, {[]string{"search", "nothinglikethis"}, 8}, {[]string{"grep", "message"}, 9}, {[]string{"grep", "-l", "message"}, 9}, {[]string{"verify"}, 8},
	} {
		code, out, errs := damageRun(t, home, c.args...)
		if code != c.code {
			t.Errorf("%v ended with %d, not %d: %s%s", c.args, code, c.code, out, errs)
		}
		if !strings.Contains(out+errs, ids[1][:13]) {
			t.Errorf("%v does not name it:\n%s%s", c.args, out, errs)
		}
		if lines := linesWith(out+errs, ids[1]); c.args[0] == "search" && len(lines) != 1 {
			t.Errorf("%v names it in %d lines, want one:\n%s%s", c.args, len(lines), out, errs)
		}
		if found := c.args[0] != "verify" && c.args[1:] == nil || c.args[len(c.args)-1] == "message"; found && (!strings.Contains(out, ids[0][:13]) || !strings.Contains(out, ids[2][:13])) {
			t.Errorf("%v does not list the others:\n%s%s", c.args, out, errs)
		}
	}
	code, out, errs := damageRun(t, home, "search", "--json", "message")
	var found wire.Found
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 8 || len(found.Items) == 0 {
		t.Fatalf("search --json ended with %d: %v\n%s%s", code, err, out, errs)
	}
	if u := found.Unsearched; len(u) != 1 || string(u[0].Session) != ids[1] || u[0].Reason == "" {
		t.Errorf("it reports that %+v were not searched", u)
	}
	if !strings.Contains(errs, `"kind":"integrity"`) && !strings.Contains(errs, `"kind": "integrity"`) {
		t.Errorf("on stderr: %s", errs)
	}
}

// linesWith returns the lines of a text that contain a word.
func linesWith(text, word string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return !strings.Contains(line, word) })
}
