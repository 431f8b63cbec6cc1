package index_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/find/index"
	"firn.dev/store"

	"github.com/google/go-cmp/cmp"
)

// TestManyProcesses has several stores and catalogs over one home append, list and refresh
// concurrently. Kernel locks belong to open files, so they behave like separate processes.
func TestManyProcesses(t *testing.T) {
	f := newFixture(t)
	f.fill(20)
	var crowd sync.WaitGroup
	for p := range 4 {
		own := openStore(t, f.fs, f.home)
		c, err := index.Open(f.fs, f.dir(), own, index.Options{Report: func(m string) { t.Error(m) }})
		f.ok(err)
		w := index.Wrap(own, c)
		crowd.Go(func() {
			for i := range 15 {
				id := firn.ID(fmt.Sprintf("p%d-%03d", p, i%5))
				if _, err := w.Append(f.ctx, id, store.Any, message("hello", 100+i)); err != nil {
					t.Error(err)
				}
				infos, err := collect(w.List(f.ctx, store.Query{Limit: (i % 3) * 50}))
				if err != nil || !strings.Contains(ids(infos), string(id)) {
					t.Errorf("%s is not in the list %q, %v", id, ids(infos), err)
				}
				if i%4 == p {
					if _, err := c.Refresh(f.ctx, nil); err != nil {
						t.Error(err)
					}
				}
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	crowd.Wait()
	f.wantMarks(0)
	found, err := f.cat.Check(f.ctx)
	if err != nil || len(found) > 0 {
		t.Errorf("the catalog disagrees: %v, %v", found, err)
	}
	f.sameLists()
}

// TestManyGoroutines checks that goroutines see their own appends in every page.
func TestManyGoroutines(t *testing.T) {
	f := newFixture(t)
	f.fill(30)
	w := index.Wrap(f.store, f.cat)
	var crowd sync.WaitGroup
	for g := range 8 {
		crowd.Go(func() {
			for i := range 20 {
				id := firn.ID(fmt.Sprintf("s%03d", g))
				if _, err := w.Append(f.ctx, id, store.Any, message("hello", 100+i)); err != nil {
					t.Error(err)
				}
				infos, err := collect(w.List(f.ctx, store.Query{Limit: 8}))
				if err != nil || !strings.Contains(ids(infos), string(id)) {
					t.Errorf("%s is not in the page %q, %v", id, ids(infos), err)
				}
			}
		})
	}
	crowd.Wait()
	f.sameLists()
	f.ok(w.Close())
	f.open()
	if !f.refresh().Empty() {
		t.Error("closing left something to refresh")
	}
}

// TestReplacedWhileRefreshing checks that a reader can continue while the file is replaced,
// and that its changes are not lost.
func TestReplacedWhileRefreshing(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(10)
	f.refresh()
	f.append(f.store, "s003", message("more", 50))
	other := f.catalog(index.Options{Report: f.report})
	meanwhile := sync.OnceFunc(func() {
		f.append(f.store, "s004", message("more", 60))
		f.ok(other.Rebuild(f.ctx, nil))
	})
	busy := false
	mem.Hook(func(kind faultfs.Kind, line string) {
		if kind == faultfs.Open && strings.Contains(line, "s003.jsonl") && !busy {
			busy = true // it is being inspected: the catalog was already read
			meanwhile()
		}
	})
	f.refresh()
	mem.Hook(nil)
	f.wantIDs(f.page(store.Query{Limit: 2}, index.Cursor{}).Infos, "s004 s003")
	f.sameLists()
	if !f.refresh().Empty() || len(f.reports) > 0 {
		t.Errorf("something was left to refresh, or reported: %q", f.reports)
	}
}

// TestLaterScanWins checks that a newer row written by another process is not replaced by
// an older one.
func TestLaterScanWins(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(10)
	f.refresh()
	f.append(f.store, "s003", message("more", 50))
	other := f.catalog(index.Options{Report: f.report})
	mem.Hook(func(kind faultfs.Kind, line string) {
		if kind == faultfs.Open && strings.Contains(line, "index/lock") {
			mem.Hook(nil) // inspected, and about to write
			f.append(f.store, "s003", message("more", 60))
			_, err := other.Refresh(f.ctx, nil)
			f.ok(err)
		}
	})
	changes := f.refresh()
	mem.Hook(nil)
	if diff := cmp.Diff(index.Changes{Changed: []firn.ID{"s003"}}, changes); diff != "" {
		t.Error(diff)
	}
	found, err := f.cat.Check(f.ctx)
	if err != nil || len(found) > 0 {
		t.Errorf("the catalog disagrees: %v, %v", found, err)
	}
}

// TestAddedAfterTheScan checks that a session that another process created and recorded
// between the census and the read of the catalog is not considered removed.
func TestAddedAfterTheScan(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(10)
	f.refresh()
	other := f.catalog(index.Options{Report: f.report})
	counted, came := make(chan struct{}), make(chan struct{})
	count := sync.OnceFunc(func() { close(counted) })
	come := sync.OnceFunc(func() {
		<-counted
		f.createSession("new", 50)
		_, err := other.Refresh(f.ctx, nil)
		f.ok(err)
		close(came)
	})
	var opened atomic.Bool
	mem.Hook(func(kind faultfs.Kind, line string) {
		switch {
		case kind == faultfs.Stat && strings.Contains(line, "s009.jsonl"):
			count() // the directory was already read
		case kind == faultfs.Open && strings.Contains(line, "catalogue.jsonl") && opened.CompareAndSwap(false, true):
			come()
		}
	})
	f.refresh()
	mem.Hook(nil)
	<-came
	found, err := f.cat.Check(f.ctx)
	if err != nil || len(found) > 0 {
		t.Errorf("the catalog disagrees: %v, %v", found, err)
	}
}

// TestListWhileFlushing checks that a list includes a change that is being written.
func TestListWhileFlushing(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(6)
	f.refresh()
	w := index.Wrap(f.store, f.cat)
	f.append(w, "s001", message("more", 50))
	var once atomic.Bool
	mem.Hook(func(kind faultfs.Kind, line string) {
		if kind == faultfs.Open && strings.Contains(line, "s001.jsonl") && once.CompareAndSwap(false, true) {
			f.wantIDs(f.list(w, store.Query{Limit: 1}), "s001")
		}
	})
	f.wantIDs(f.list(w, store.Query{Limit: 1}), "s001")
	mem.Hook(nil)
	if !once.Load() {
		t.Error("nothing was written down")
	}
}

// TestChangeWhileFlushing checks that a change made while an earlier one of the same
// session is being written is not lost.
func TestChangeWhileFlushing(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(6)
	f.refresh()
	w := index.Wrap(f.store, f.cat)
	f.append(w, "s000", message("more", 0))
	var once atomic.Bool
	mem.Hook(func(kind faultfs.Kind, line string) {
		if kind == faultfs.Open && strings.Contains(line, "index/lock") && once.CompareAndSwap(false, true) {
			f.append(w, "s000", message("more", 50))
		}
	})
	f.list(w, store.Query{Limit: 1})
	mem.Hook(nil)
	f.wantIDs(f.list(w, store.Query{Limit: 1}), "s000")
}

// TestNoLocks checks that lists work on a file system without locks, although nothing can
// be written.
func TestNoLocks(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(3)
	f.refresh()
	f.append(f.store, "s000", message("more", 50))
	mem.FailNth(1, faultfs.Fault{Of: faultfs.Lock, Err: errors.New("no locks here"), Always: true})
	f.wantIDs(f.list(f.cat, store.Query{}), "s000 s002 s001")
	f.wantIDs(f.list(f.cat, store.Query{Limit: 2}), "s002 s001") // the change of s000 is not known
	if _, err := f.cat.Refresh(f.ctx, nil); err == nil {
		t.Error("a refresh that could not write did not report it")
	}
}
