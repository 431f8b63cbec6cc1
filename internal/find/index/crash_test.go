package index_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/find/index"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// story creates, lists, extends, archives and removes sessions of a home, and closes it.
// Errors are ignored, since the caller injects faults.
func story(t *testing.T, mem *faultfs.FS) {
	s, err := filestore.Open("/home", filestore.Options{FS: mem, Sync: filestore.SyncAlways})
	if err != nil {
		return
	}
	defer s.Close()
	c, err := index.Open(mem, "/home/index", s, index.Options{})
	if err != nil {
		return
	}
	w := index.Wrap(s, c)
	defer w.Close()
	list := func(limit int) { collect(w.List(t.Context(), store.Query{Limit: limit})) }
	list(2)
	for i := range 3 {
		id := firn.ID(fmt.Sprintf("t%03d", i))
		w.Append(t.Context(), id, store.Any, headed(id, "main", "", 100+i), message("hello", 100+i))
		list(2)
	}
	remover, _ := store.As[store.Remover](w)
	remover.Archive(t.Context(), "t001")
	list(2)
	remover.Remove(t.Context(), "s001", "test")
	list(2)
	w.Append(t.Context(), "s000", store.Any, message("more", 200))
	c.Refresh(t.Context(), nil)
	w.Append(t.Context(), "t002", store.Any, message("more", 201))
}

// seededHome returns a function that copies a home with a few sessions and their catalog,
// all durable.
func seededHome(t *testing.T) (copied func() *faultfs.FS) {
	t.Helper()
	f, mem := inMemory(t)
	f.fill(4)
	f.refresh()
	f.ok(f.cat.Close())
	f.ok(f.store.Close())
	f.ok(mem.SyncFS("/"))
	return mem.Crash
}

// sound checks that pages of a home's catalog are right immediately, and all of it after
// a refresh.
func sound(t *testing.T, what string, mem *faultfs.FS) {
	t.Helper()
	f := &fixture{T: t, ctx: t.Context(), home: "/home", fs: mem}
	f.open()
	defer f.store.Close()
	for _, limit := range []int{2, 0} {
		want, got := f.list(f.store, store.Query{Limit: limit}), f.list(f.cat, store.Query{Limit: limit})
		if ids(got) != ids(want) {
			t.Fatalf("%s: with limit %d listed are %q, want %q; reported was %q", what, limit, ids(got), ids(want), f.reports)
		}
	}
	f.refresh()
	found, err := f.cat.Check(f.ctx)
	if err != nil || len(found) > 0 {
		t.Fatalf("%s: after a refresh the catalog disagrees: %v, %v", what, found, err)
	}
	f.ok(f.cat.Close())
}

// operations counts the file system operations of the story.
func operations(t *testing.T, mem *faultfs.FS, of faultfs.Kind) int {
	t.Helper()
	story(t, mem)
	n := mem.Count(of)
	if n < 40 {
		t.Fatalf("the story has only %d operations", n)
	}
	return n
}

// TestPowerCuts cuts the power after every operation, with various remains on disk.
func TestPowerCuts(t *testing.T) {
	home := seededHome(t)
	random := rand.New(rand.NewPCG(3, 3))
	total := operations(t, home(), faultfs.Changing)
	states := 8
	if testing.Short() {
		states = 3
	}
	for n := 1; n <= total+1; n++ {
		mem := home()
		mem.PowerOff(n, faultfs.Changing)
		story(t, mem)
		what := fmt.Sprintf("power off at %d of %d", n, total)
		for left := range mem.CrashStates(states) {
			sound(t, what, left)
		}
		for range 2 {
			sound(t, what+", by chance", mem.CrashRandom(random))
		}
	}
}

// TestKills kills the process after every operation. The disk keeps everything written.
func TestKills(t *testing.T) {
	home := seededHome(t)
	total := operations(t, home(), faultfs.Any)
	for n := 1; n <= total; n += step() {
		mem := home()
		var left atomic.Int64
		left.Store(int64(n))
		mem.Hook(func(faultfs.Kind, string) {
			if left.Add(-1) == 0 {
				mem.SyncFS("/")
				mem.PowerOff(1, faultfs.Any)
			}
		})
		story(t, mem)
		mem.Hook(nil)
		sound(t, fmt.Sprintf("killed at %d of %d", n, total), mem.Crash())
	}
}

// TestFaults makes each single operation fail.
func TestFaults(t *testing.T) {
	home := seededHome(t)
	total := operations(t, home(), faultfs.Any)
	faults := []faultfs.Fault{{}, {Err: syscall.ENOSPC, Short: 20}, {Err: syscall.EIO, After: true}}
	for i, fault := range faults {
		for n := 1; n <= total; n += step() * (1 + i) {
			mem := home()
			mem.FailNth(n, fault)
			story(t, mem)
			sound(t, fmt.Sprintf("%v at %d of %d", fault, n, total), mem)
		}
	}
}

// step is the number of operations to skip between tests.
func step() int {
	if testing.Short() {
		return 7
	}
	return 1
}

// TestTemporaryFault checks that a session that could temporarily not be inspected is listed
// again afterwards.
func TestTemporaryFault(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(6)
	f.refresh()
	w := index.Wrap(f.store, f.cat)
	f.append(w, "s002", message("more", 90))
	mem.Hook(func(kind faultfs.Kind, line string) {
		if kind == faultfs.Open && strings.Contains(line, "s002.jsonl") {
			mem.FailNth(1, faultfs.Fault{})
		}
	})
	f.wantIDs(f.list(w, store.Query{Limit: 2}), "s005 s004")
	f.append(w, "s004", message("more", 60))
	f.append(w, "s005", message("more", 70))
	f.wantIDs(f.list(w, store.Query{Limit: 2}), "s005 s004")
	mem.Hook(nil)
	f.wantIDs(f.list(w, store.Query{Limit: 2}), "s002 s005")
	f.wantIDs(f.list(w, store.Query{Limit: 2}), "s002 s005")
	f.sameLists()
}

// TestUnmarkedWritesAreDurable checks that lines written by a process without a mark
// survive a power failure, since they would not be looked for again.
func TestUnmarkedWritesAreDurable(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(6)
	f.refresh()
	f.append(f.store, "s000", message("more", 50))
	f.ok(mem.SyncFS("/"))
	f.refresh()
	g := &fixture{T: t, ctx: f.ctx, home: f.home, fs: mem.Crash()}
	g.open()
	g.wantIDs(g.page(store.Query{Limit: 1}, index.Cursor{}).Infos, "s000")
}

// TestFullDisk checks that listing works with a full disk.
func TestFullDisk(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(5)
	f.refresh()
	w := index.Wrap(f.store, f.cat)
	for i := range 5 {
		f.append(w, firn.ID(fmt.Sprintf("s%03d", i)), message("more", 50+i))
	}
	mem.Limit(0)
	f.wantIDs(f.list(w, store.Query{Limit: 3}), "s004 s003 s002")
	f.wantIDs(f.list(w, store.Query{}), "s004 s003 s002 s001 s000")
	if len(f.reports) == 0 {
		t.Error("the failure was not reported")
	}
	mem.Limit(-1)
	f.sameLists()
}
