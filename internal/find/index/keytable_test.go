package index

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// openedFS counts the transcripts that are opened.
type openedFS struct {
	vfs.FS
	n atomic.Int64
}

// Open counts transcripts.
func (f *openedFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	if strings.HasSuffix(path, ".jsonl") && filepath.Base(filepath.Dir(path)) == "sessions" {
		f.n.Add(1)
	}
	return f.FS.Open(path, mode)
}

// TestMissingKeyTable removes the key table of a home with many sessions. Keys are found as
// if all transcripts were read, but only those are opened that changed since they were added
// to the catalog.
func TestMissingKeyTable(t *testing.T) {
	home := t.TempDir()
	open := func(fsys vfs.FS) *filestore.Store {
		st, err := filestore.Open(home, filestore.Options{FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	wrap := func(st *filestore.Store) store.Store {
		c, err := Open(vfs.OS{}, filepath.Join(home, "index"), st, Options{})
		if err != nil {
			t.Fatal(err)
		}
		wrapped := Wrap(st, c)
		t.Cleanup(func() { wrapped.Close() })
		return wrapped
	}
	const sessions = 50
	first := wrap(open(vfs.OS{}))
	ids := make([]firn.ID, sessions)
	for i := range ids {
		ids[i] = firn.NewID()
		if _, err := first.Append(t.Context(), ids[i], store.Start, firn.UserText("hello")); err != nil {
			t.Fatal(err)
		}
		if err := store.Bind(t.Context(), first, fmt.Sprintf("agent:main:k%d", i), ids[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range first.List(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// Without the catalog, a key moves and a session gets another.
	other := open(vfs.OS{})
	if err := store.Bind(t.Context(), other, "agent:main:k3", ids[4]); err != nil {
		t.Fatal(err)
	}
	if err := store.Bind(t.Context(), other, "agent:main:new", ids[5]); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(home, "agents", "main", "sessions", "sessions.json")); err != nil {
		t.Fatal(err)
	}
	counted := &openedFS{FS: vfs.OS{}}
	st := open(counted)
	wrap(st)
	want := map[string]firn.ID{"agent:main:k3": ids[4], "agent:main:new": ids[5], "agent:main:k4": ids[4], "agent:main:k49": ids[49]}
	for key, id := range want {
		if got, err := st.Lookup(t.Context(), key); err != nil || got != id {
			t.Errorf("key %s points to %s, %v; want %s", key, got, err, id)
		}
	}
	if n := counted.n.Load(); n > 8 {
		t.Errorf("%d transcripts were opened; want those of the 3 that changed", n)
	}
}
