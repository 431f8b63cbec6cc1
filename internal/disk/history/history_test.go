package history

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"firn.dev/internal/disk/vfs"
)

// TestErase checks that lines are removed from a history, and that the file need not exist.
func TestErase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	gone := func(text string) bool { return strings.Contains(text, "xyzzy") }
	if n, err := Erase(vfs.OS{}, path, gone); n != 0 || err != nil {
		t.Errorf("%d entries of none were removed: %v", n, err)
	}
	h, err := Open(vfs.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "say xyzzy", "two", "xyzzy\nagain", "three"} {
		if err := h.Add(text); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := Erase(vfs.OS{}, path, gone); n != 2 || err != nil {
		t.Errorf("%d entries were removed: %v", n, err)
	}
	if err := h.Add("four"); err != nil { // by a process that has it open
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "\"one\"\n\"two\"\n\"three\"\n\"four\"\n" {
		t.Errorf("remaining: %q, %v", data, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v, %v", info, err)
	}
}

// TestEraseAtOnce erases from a history, adds to it and shortens it concurrently: erased
// lines do not return, and added lines are kept.
func TestEraseAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	const workers, each = 4, 25
	var all strings.Builder
	for i := range 2*maxItems + 1 { // too many, so that opening the history shortens it
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
				if n, err := Erase(vfs.OS{}, path, func(text string) bool { return text == secret }); n != 1 || err != nil {
					t.Errorf("of %s, %d entries were removed: %v", secret, n, err)
				}
			}
		})
		wg.Go(func() {
			h, err := Open(vfs.OS{}, path)
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
		t.Errorf("a removed line reappeared (%v)", err)
	}
	for w := range workers {
		for i := range each {
			if text := fmt.Sprintf("\"new %d.%d.\"\n", w, i); strings.Count(string(data), text) != 1 {
				t.Errorf("%q is stored %d times", text, strings.Count(string(data), text))
			}
		}
	}
}

// TestEraseLeftover checks that Erase removes a temporary file left by a crash, and erases
// lines from the beginning of a file too long to be read completely.
func TestEraseLeftover(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	long := "\"xyzzy\"\n" + strings.Repeat("\"a line\"\n", maxFile/8)
	for name, text := range map[string]string{path: long, path + ".new": "\"xyzzy\"\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Erase(vfs.OS{}, path, func(text string) bool { return text == "xyzzy" }); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), "xyzzy") || len(data) == 0 {
		t.Errorf("%d bytes remain, %v", len(data), err)
	}
	if _, err := os.Stat(path + ".new"); !os.IsNotExist(err) {
		t.Errorf("the leftover file of a crash still exists: %v", err)
	}
}

// TestHistoryFile checks that lines are stored for the next process, readable only by the
// owner.
func TestHistoryFile(t *testing.T) {
	path := t.TempDir() + "/home/history"
	open := func() *History {
		t.Helper()
		h, err := Open(vfs.OS{}, path)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := open()
	for _, text := range []string{"one", "two\nlines", "two\nlines", " secret", "", "  ", "<&>雪"} {
		if err := h.Add(text); err != nil {
			t.Fatal(err)
		}
	}
	other := open() // concurrently
	if err := other.Add("other"); err != nil {
		t.Fatal(err)
	}
	if err := h.Add("last"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%q", open().items); got != `["one" "two\nlines" "<&>雪" "other" "last"]` {
		t.Errorf("it remembers %s", got)
	}
	info, err := vfs.OS{}.Stat(path)
	if err != nil || info.Mode.Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode, err)
	}
}

// TestHistoryBounds checks that old lines are dropped and malformed ones skipped.
func TestHistoryBounds(t *testing.T) {
	path := t.TempDir() + "/history"
	h, err := Open(vfs.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2*maxItems + 10 {
		if err := h.Add(fmt.Sprint("line ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.items) != maxItems {
		t.Errorf("in memory are %d", len(h.items))
	}
	if err := h.Add(strings.Repeat("x", maxItem)); err != nil {
		t.Fatal(err)
	}
	if err := h.locked(vfs.Append, func(file vfs.File) error {
		_, err := file.Write([]byte("not JSON\n\"half"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	again, err := Open(vfs.OS{}, path)
	if err != nil || len(again.items) != maxItems || again.items[maxItems-1] != fmt.Sprint("line ", 2*maxItems+9) {
		t.Fatalf("it remembers %d, %v", len(again.items), err)
	}
	info, err := vfs.OS{}.Stat(path)
	if err != nil || info.Size > 20*maxItems || info.Mode.Perm() != 0o600 {
		t.Errorf("the file has %d bytes, mode %v, %v", info.Size, info.Mode, err)
	}
	if _, err := Open(vfs.OS{}, t.TempDir()); err == nil {
		t.Error("a directory is treated as a history")
	}
}
