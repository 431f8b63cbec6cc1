package filestore_test

import (
	"errors"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestAppendDoesNotRestore checks that an append does not create a session again
// that was removed meanwhile.
func TestAppendDoesNotRestore(t *testing.T) {
	remove := func(st *filestore.Store, id firn.ID) error { return st.Remove(t.Context(), id, "") }
	purge := func(st *filestore.Store, id firn.ID) error {
		_, err := st.Purge(t.Context(), id, "")
		return err
	}
	for name, c := range map[string]struct {
		there   bool // before the append starts
		putAway func(st *filestore.Store, id firn.ID) error
		left    int // entries that can be restored
	}{
		"removed":           {true, remove, 1},
		"purged":            {true, purge, -1},
		"begun and removed": {false, remove, 1},
		"begun and purged":  {false, purge, -1},
		"removed and restored": {true, func(st *filestore.Store, id firn.ID) error {
			return errors.Join(remove(st, id), st.Restore(t.Context(), id))
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			a := reviewOpen(t, home, filestore.Options{})
			id := firn.NewID()
			begin := func() {
				_, err := a.Append(t.Context(), id, store.Any, firn.UserText("one"))
				must(t, err)
			}
			if c.there {
				begin()
			}
			hook := &onceFS{suffix: string(id) + ".jsonl"}
			b := reviewOpen(t, home, filestore.Options{FS: hook})
			hook.before = func() {
				if !c.there {
					begin()
				}
				must(t, c.putAway(a, id))
			}
			_, err := b.Append(t.Context(), id, store.Any, firn.UserText("two"))
			if c.left == 2 {
				must(t, err)
			} else if !errors.Is(err, firn.ErrNotFound) {
				t.Errorf("append to a session that was %s: %v", name, err)
			}
			if err := a.Restore(t.Context(), id); c.left < 0 {
				if !errors.Is(err, firn.ErrNotFound) {
					t.Errorf("restore: %v", err)
				}
				return
			}
			if n := reviewCount(t, a, id); n != c.left {
				t.Errorf("%d entries were restored, want %d", n, c.left)
			}
		})
	}
}

// TestAppendToRemoved checks that appending to an open session that was removed
// returns ErrNotFound.
func TestAppendToRemoved(t *testing.T) {
	home := t.TempDir()
	a, b := reviewOpen(t, home, filestore.Options{}), reviewOpen(t, home, filestore.Options{})
	id := reviewBegin(t, b, 1)
	must(t, a.Remove(t.Context(), id, ""))
	for range 2 {
		if _, err := b.Append(t.Context(), id, store.Any, firn.UserText("two")); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("append to a removed session: %v", err)
		}
	}
	must(t, a.Restore(t.Context(), id))
	_, err := b.Append(t.Context(), id, store.Any, firn.UserText("two"))
	must(t, err)
	if n := reviewCount(t, a, id); n != 2 {
		t.Errorf("%d entries are there, want 2", n)
	}
}

// TestDirectoryOfAnotherSession checks that an append syncs a directory that another process
// has just created before it returns.
func TestDirectoryOfAnotherSession(t *testing.T) {
	fsys := faultfs.New()
	must(t, fsys.MkdirAll("/home"))
	for _, dir := range []string{"/home/agents", "/home/agents/main", "/home/agents/main/sessions"} {
		must(t, fsys.Mkdir(dir))
	}
	st := reviewOpen(t, "/home", filestore.Options{FS: fsys})
	id := reviewBegin(t, st, 1)
	syncs := fsys.Count(faultfs.SyncDir)
	after := reviewOpen(t, "/home", filestore.Options{FS: fsys.Crash()})
	if n := reviewCount(t, after, id); n != 1 {
		t.Errorf("after the power cut %d entries are there, want 1", n)
	}
	reviewBegin(t, st, 1)
	if more := fsys.Count(faultfs.SyncDir) - syncs; more != 1 {
		t.Errorf("another session there took %d syncs of directories, want the one of its own name", more)
	}
}

// TestAppendWhileRemoving appends and removes concurrently. Both may succeed, or one
// may fail. Acknowledged entries must be restorable.
func TestAppendWhileRemoving(t *testing.T) {
	home := t.TempDir()
	for range 40 {
		a := reviewOpen(t, home, smallParts)
		id := reviewBegin(t, a, 1)
		must(t, a.Close())
		a = reviewOpen(t, home, smallParts)
		var appended, removed error
		var together sync.WaitGroup
		together.Go(func() { _, appended = a.Append(t.Context(), id, store.Any, firn.UserText("two")) })
		together.Go(func() { removed = a.Remove(t.Context(), id, "") })
		together.Wait()
		want := 1
		if appended == nil {
			want = 2
		} else if !errors.Is(appended, firn.ErrNotFound) {
			t.Fatalf("append: %v", appended)
		}
		if removed == nil {
			if _, err := a.Status(t.Context(), id); !errors.Is(err, firn.ErrNotFound) {
				t.Fatalf("a removed session is found: %v", err)
			}
			must(t, a.Restore(t.Context(), id))
		} else if !errors.Is(removed, firn.ErrLocked) {
			t.Fatalf("remove: %v", removed)
		}
		if n := reviewCount(t, a, id); n != want {
			t.Fatalf("%d entries are there, want %d", n, want)
		}
		must(t, a.Close())
	}
}
