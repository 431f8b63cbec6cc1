package index

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// surveyed counts how often all sessions of a store are examined.
type surveyed struct {
	*filestore.Store
	n int
}

// Census counts the call.
func (s *surveyed) Census(ctx context.Context) ([]store.Status, error) {
	s.n++
	return s.Store.Census(ctx)
}

// TestSessionsOfTheLibrary creates sessions with a store that knows nothing of the
// catalog, while it is open and after it was closed. A page of a list has them. If there
// is no new session, a page does not examine all sessions.
func TestSessionsOfTheLibrary(t *testing.T) {
	home := t.TempDir()
	open := func() *filestore.Store {
		st, err := filestore.Open(home, filestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	begin := func(st store.Store, id firn.ID) {
		t.Helper()
		if _, err := st.Append(t.Context(), id, store.Start, firn.UserText("hello")); err != nil {
			t.Fatal(err)
		}
	}
	listed := &surveyed{Store: open()}
	c, err := Open(vfs.OS{}, filepath.Join(home, "index"), listed, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wrapped := Wrap(listed, c)
	t.Cleanup(func() { wrapped.Close() })
	var want []firn.ID
	page := func(surveys int) {
		t.Helper()
		before := listed.n
		found, err := c.Page(t.Context(), store.Query{Limit: 100}, Cursor{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []firn.ID
		for _, info := range found.Infos {
			ids = append(ids, info.ID)
		}
		slices.Sort(ids)
		if !slices.Equal(ids, want) {
			t.Errorf("listed: %v, want %v", ids, want)
		}
		if n := listed.n - before; n != surveys {
			t.Errorf("all sessions were examined %d times, want %d", n, surveys)
		}
	}
	add := func(st store.Store) {
		t.Helper()
		id := firn.ID(fmt.Sprintf("s%03d", len(want)))
		begin(st, id)
		want = append(want, id)
	}

	add(wrapped)
	page(1) // there was no catalog
	page(0)
	bare := open()
	for range 3 {
		add(bare)
		add(bare)
		page(1)
		page(0)
	}
	add(wrapped)
	page(0)
	add(bare)
	if err := bare.Close(); err != nil {
		t.Fatal(err)
	}
	page(1)
	page(0)
	if marks, err := filepath.Glob(filepath.Join(home, "index", "*writing-*")); err != nil || len(marks) != 1 { // that of the catalog itself
		t.Errorf("marks are left: %v, %v", marks, err)
	}
}
