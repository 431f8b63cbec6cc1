package filestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// reviewOpen opens a store that is closed with the test.
func reviewOpen(t *testing.T, home string, opts filestore.Options) *filestore.Store {
	t.Helper()
	st, err := filestore.Open(home, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// reviewBegin creates a session of n messages, each in its own part if parts are small.
func reviewBegin(t *testing.T, st *filestore.Store, n int) firn.ID {
	t.Helper()
	id := firn.NewID()
	for i := range n {
		text := fmt.Sprintf("acknowledged %d %s", i, strings.Repeat("x", 300))
		if _, err := st.Append(t.Context(), id, store.Any, firn.UserText(text)); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// reviewCount returns the number of readable entries of a session, without the header.
func reviewCount(t *testing.T, st *filestore.Store, id firn.ID) (n int) {
	t.Helper()
	for r, err := range st.Read(t.Context(), id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Gap == nil && r.Glance.Kind != firn.KindHeader {
			n++
		}
	}
	return n
}

func reviewTranscript(home string, id firn.ID) string {
	return filepath.Join(home, "agents/main/sessions", string(id)+".jsonl")
}

func reviewWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func reviewAdd(t *testing.T, path, text string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reviewWrite(t, path, string(old)+text)
}

// reviewHolding returns the files of a home that contain a text.
func reviewHolding(t *testing.T, home, text string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), text) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// reviewFiles returns the files that match a pattern below the home.
func reviewFiles(t *testing.T, home, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	slices.Sort(found)
	return found
}

// onceFS runs a function once, just before or after a file with a suffix is opened.
type onceFS struct {
	vfs.OS
	suffix        string
	before, after func()
}

func (f *onceFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	if !strings.HasSuffix(path, f.suffix) {
		return f.OS.Open(path, mode)
	}
	if run := f.before; run != nil {
		f.before = nil
		run()
	}
	file, err := f.OS.Open(path, mode)
	if run := f.after; run != nil {
		f.after = nil
		run()
	}
	return file, err
}
