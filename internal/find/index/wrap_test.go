package index_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/index"
	"firn.dev/store"
	"firn.dev/store/storetest"
)

func openWrapped(t *testing.T) storetest.Opened {
	home := t.TempDir()
	open := func() store.Store {
		s := openStore(t, vfs.OS{}, home)
		c, err := index.Open(vfs.OS{}, filepath.Join(home, "index"), s, index.Options{Report: func(m string) { t.Error(m) }})
		if err != nil {
			t.Fatal(err)
		}
		return index.Wrap(s, c)
	}
	current := open()
	return storetest.Opened{Store: current, Reopen: func() store.Store {
		if err := current.Close(); err != nil {
			t.Fatal(err)
		}
		current = open()
		return current
	}}
}

func TestWrappedStoreKeepsTheContract(t *testing.T) { storetest.Run(t, openWrapped) }

func TestWrappedStoreRandom(t *testing.T) { storetest.RunRandom(t, openWrapped) }

func TestWrapKeepsCapabilities(t *testing.T) {
	f := newFixture(t)
	w := index.Wrap(f.store, f.cat)
	_, keyed := store.As[store.Keyed](w)
	_, claimer := store.As[store.Claimer](w)
	_, deferred := store.As[store.Deferred](w)
	_, remover := store.As[store.Remover](w)
	if !keyed || !claimer || !deferred || !remover {
		t.Errorf("keyed %v, claimer %v, deferred %v, remover %v", keyed, claimer, deferred, remover)
	}
	only := func(s store.Store) (d, r bool) {
		_, d = store.As[store.Deferred](index.Wrap(s, f.cat))
		_, r = store.As[store.Remover](index.Wrap(s, f.cat))
		return d, r
	}
	type plain struct{ store.Store }
	if d, r := only(plain{f.store}); d || r {
		t.Error("the wrapper of a plain store pretends to more")
	}
	if d, r := only(struct {
		store.Store
		store.Remover
	}{f.store, f.store}); d || !r {
		t.Error("the wrapper of a remover is not just that")
	}
	if d, r := only(struct {
		store.Store
		store.Deferred
	}{f.store, f.store}); !d || r {
		t.Error("the wrapper of a deferred store is not just that")
	}
}

// TestWrapNotesChanges checks that the next page includes changes made through the wrapper,
// without a refresh.
func TestWrapNotesChanges(t *testing.T) {
	f := newFixture(t)
	f.fill(6)
	f.refresh()
	w := index.Wrap(f.store, f.cat)
	newest := func(want string) {
		t.Helper()
		f.wantIDs(f.list(w, store.Query{Limit: 2}), want)
	}
	f.append(w, "s001", message("more", 50))
	newest("s001 s005")
	deferred, _ := store.As[store.Deferred](w)
	_, err := deferred.AppendDeferred(f.ctx, "s002", store.Any, message("more", 60))
	f.ok(err)
	newest("s002 s001")
	f.append(w, "new", headed("new", "main", "", 70))
	newest("new s002")
	remover, _ := store.As[store.Remover](w)
	f.ok(remover.Remove(f.ctx, "new", "test"))
	newest("s002 s001")
	f.ok(remover.Archive(f.ctx, "s002"))
	newest("s001 s005")
	f.ok(remover.Restore(f.ctx, "new"))
	newest("new s001")
	f.ok(remover.Unarchive(f.ctx, "s002"))
	newest("new s002")
	f.append(w, "s001", titled("a new name", 80))
	if got := f.list(w, store.Query{Limit: 1}); got[0].Title != "a new name" {
		t.Errorf("the title is %q", got[0].Title)
	}
	if _, err := w.Append(f.ctx, "../evil", store.Any, message("x", 1)); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a bad id gives %v", err)
	}
	f.sameLists()
	f.ok(w.Close())
	f.open()
	f.wantIDs(f.page(store.Query{Limit: 3}, index.Cursor{}).Infos, "s001 new s002")
	if !f.refresh().Empty() {
		t.Error("closing left something to refresh")
	}
}

// TestPurgeReachesTheCatalogue checks that erased text is in no file of the index when the
// purge returns.
func TestPurgeReachesTheCatalogue(t *testing.T) {
	f := newFixture(t)
	f.fill(3)
	f.append(f.store, "s001",
		firn.Entry{ID: "first-title", Time: at(10), Body: &firn.Title{Name: "SECRET-ONE"}})
	f.refresh()
	w := index.Wrap(f.store, f.cat)
	f.append(w, "s001",
		firn.Entry{ID: "second-title", Time: at(11), Body: &firn.Title{Name: "SECRET-TWO"}})
	f.wantIDs(f.list(w, store.Query{Limit: 1}), "s001")
	for _, secret := range []string{"SECRET-ONE", "SECRET-TWO"} {
		if !strings.Contains(f.read(f.path()), secret) {
			t.Fatalf("%s was never in the catalog, so the test checks nothing", secret)
		}
	}
	remover, _ := store.As[store.Remover](w)
	_, err := remover.Purge(f.ctx, "s001", "test", "first-title", "second-title")
	f.ok(err)
	f.wantNowhere("SECRET")
	_, err = remover.Purge(f.ctx, "s002", "test")
	f.ok(err)
	f.wantNowhere("prompt of s002")
	f.sameLists()
}

// TestPurgeWithoutWrapper checks that a refresh detects a purge made without the wrapper.
func TestPurgeWithoutWrapper(t *testing.T) {
	f := newFixture(t)
	f.fill(3)
	f.append(f.store, "s001", firn.Entry{ID: "t", Time: at(10), Body: &firn.Title{Name: "SECRET"}})
	f.refresh()
	f.append(f.store, "s000", message("more", 12)) // so that the old line would remain
	_, err := f.store.Purge(f.ctx, "s001", "test", "t")
	f.ok(err)
	f.refresh()
	f.wantNowhere("SECRET")
	f.ok(f.store.Remove(f.ctx, "s002", "test"))
	f.refresh()
	f.wantNowhere("prompt of s002")
	f.sameLists()
}

func (f *fixture) wantNowhere(secret string) {
	f.Helper()
	entries, err := os.ReadDir(f.dir())
	f.ok(err)
	for _, e := range entries {
		if strings.Contains(f.read(filepath.Join(f.dir(), e.Name())), secret) {
			f.Errorf("%s still has %q", e.Name(), secret)
		}
	}
}

// TestDeadWriter checks that a process that dies with unwritten changes leaves a mark, so
// that the next page is right.
func TestDeadWriter(t *testing.T) {
	f := newFixture(t)
	f.fill(5)
	f.refresh()
	w := index.Wrap(f.store, f.cat)
	f.append(w, "s000", message("more", 50))
	f.createSession("lost", 60)
	f.wantMarks(1)

	// While it is alive, others check all sessions.
	alive := f.catalog(index.Options{})
	page, err := alive.Page(f.ctx, store.Query{Limit: 2}, index.Cursor{})
	f.ok(err)
	f.wantIDs(page.Infos, "lost s000")
	f.append(w, "s001", message("more", 70))
	page, err = alive.Page(f.ctx, store.Query{Limit: 2}, index.Cursor{})
	f.ok(err)
	f.wantIDs(page.Infos, "s001 lost")
	f.wantMarks(1)

	f.append(w, "s002", message("more", 80))
	f.die()
	f.open()
	f.wantMarks(1)
	f.wantIDs(f.page(store.Query{Limit: 2}, index.Cursor{}).Infos, "s002 s001")
	f.wantMarks(0)
	f.sameLists()
}

// die releases the locks of the catalog as if its process had died: its mark is replaced
// with an unlocked copy.
func (f *fixture) die() {
	f.Helper()
	marks, err := filepath.Glob(filepath.Join(f.dir(), "writing-*"))
	f.ok(err)
	for _, path := range marks {
		f.ok(os.Remove(path))
		f.write(path, "")
	}
}

func (f *fixture) wantMarks(n int) {
	f.Helper()
	marks, err := filepath.Glob(filepath.Join(f.dir(), "*writing-*"))
	f.ok(err)
	if len(marks) != n {
		f.Errorf("there are %d marks, want %d: %v", len(marks), n, marks)
	}
}

// TestMarkIsRenewed checks that a mark deleted with the whole directory is created again
// with the catalog.
func TestMarkIsRenewed(t *testing.T) {
	f := newFixture(t)
	f.fill(3)
	w := index.Wrap(f.store, f.cat)
	f.append(w, "s000", message("more", 50))
	f.ok(os.RemoveAll(f.dir()))
	f.wantIDs(f.list(w, store.Query{Limit: 1}), "s000")
	f.wantMarks(1)
	f.append(w, "s001", message("more", 60))
	f.die()
	f.open()
	f.wantIDs(f.page(store.Query{Limit: 1}, index.Cursor{}).Infos, "s001")
}

// TestWrapReadOnly changes a store with a read-only catalog.
func TestWrapReadOnly(t *testing.T) {
	f := newFixture(t)
	f.fill(3)
	f.refresh()
	before := f.read(f.path())
	f.cat = f.catalog(index.Options{ReadOnly: true})
	w := index.Wrap(f.store, f.cat)
	f.append(w, "s000", message("more", 50))
	f.wantIDs(f.list(w, store.Query{Limit: 1}), "s000")
	f.wantIDs(f.list(w, store.Query{Limit: 1}), "s000")
	f.sameLists()
	f.ok(w.Close())
	f.wantMarks(0)
	if f.read(f.path()) != before {
		t.Error("the catalog was written")
	}
}

// TestCloseThatCannotWrite checks that the mark remains if the catalog cannot be written
// on Close.
func TestCloseThatCannotWrite(t *testing.T) {
	f := newFixture(t)
	f.fill(3)
	f.refresh()
	w := index.Wrap(f.store, f.cat)
	f.append(w, "s000", message("more", 50))
	f.ok(f.store.Close()) // so that the catalog cannot inspect sessions
	f.ok(f.cat.Close())
	if len(f.reports) != 1 {
		t.Errorf("reported was %q", f.reports)
	}
	f.open()
	f.wantMarks(1)
	f.wantIDs(f.page(store.Query{Limit: 1}, index.Cursor{}).Infos, "s000")
	f.wantMarks(0)
}

func TestListEndsWithContext(t *testing.T) {
	f := newFixture(t)
	f.fill(3)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	for _, limit := range []int{0, 2} {
		if _, err := collect(f.cat.List(ctx, store.Query{Limit: limit})); !errors.Is(err, context.Canceled) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}
