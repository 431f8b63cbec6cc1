package line

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"firn/internal/vfs"
)

// TestEraseHistory takes lines out of a history, which need not be there.
func TestEraseHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	gone := func(text string) bool { return strings.Contains(text, "xyzzy") }
	if n, err := EraseHistory(vfs.OS{}, path, gone); n != 0 || err != nil {
		t.Errorf("of none %d went: %v", n, err)
	}
	h, err := OpenHistory(vfs.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "say xyzzy", "two", "xyzzy\nagain", "three"} {
		if err := h.Add(text); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := EraseHistory(vfs.OS{}, path, gone); n != 2 || err != nil {
		t.Errorf("%d went: %v", n, err)
	}
	if err := h.Add("four"); err != nil { // by who has it open
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "\"one\"\n\"two\"\n\"three\"\n\"four\"\n" {
		t.Errorf("left are %q, %v", data, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v, %v", info, err)
	}
}

// TestEraseAtOnce erases from one history, adds to it and shortens it, all at once:
// what was erased does not come back, and what was added is there.
func TestEraseAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	const workers, each = 4, 25
	var all strings.Builder
	for i := range 2*maxHistory + 1 { // too many, so that who opens it shortens it
		fmt.Fprintf(&all, "\"old %d\"\n", i)
	}
	for w := range workers {
		for i := range each {
			fmt.Fprintf(&all, "\"secret %d.%d.\"\n", w, i)
		}
	}
	if err := os.WriteFile(path, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				secret := fmt.Sprintf("secret %d.%d.", w, i)
				if n, err := EraseHistory(vfs.OS{}, path, func(text string) bool { return text == secret }); n != 1 || err != nil {
					t.Errorf("of %s %d went: %v", secret, n, err)
				}
			}
		})
		wg.Go(func() {
			h, err := OpenHistory(vfs.OS{}, path)
			for i := range each {
				if err == nil {
					err = h.Add(fmt.Sprintf("new %d.%d.", w, i))
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), "secret") {
		t.Errorf("something came back (%v)", err)
	}
	for w := range workers {
		for i := range each {
			if text := fmt.Sprintf("\"new %d.%d.\"\n", w, i); strings.Count(string(data), text) != 1 {
				t.Errorf("%q is there %d times", text, strings.Count(string(data), text))
			}
		}
	}
}

// TestEraseLeftover erases also what a crash left of a history that was about to be
// replaced, and the beginning of one that is too long for anybody to read.
func TestEraseLeftover(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	long := "\"xyzzy\"\n" + strings.Repeat("\"a line\"\n", maxHistoryFile/8)
	for name, text := range map[string]string{path: long, path + ".new": "\"xyzzy\"\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := EraseHistory(vfs.OS{}, path, func(text string) bool { return text == "xyzzy" }); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), "xyzzy") || len(data) == 0 {
		t.Errorf("left are %d bytes, %v", len(data), err)
	}
	if _, err := os.Stat(path + ".new"); !os.IsNotExist(err) {
		t.Errorf("what a crash left is still there: %v", err)
	}
}
