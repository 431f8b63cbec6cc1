package journal

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
)

// A failed sync may have lost the data written before it, and the next sync succeeds
// although the system has dropped the bytes. No promise may depend on such a sync.

// failedSyncs runs a scenario with many random choices of what a failed sync loses, and
// cuts the power at its end. fail makes the next sync of a file fail, and calls meanwhile
// right before it unless it is nil.
func failedSyncs(t *testing.T, run func(w *world, fail func(path string, meanwhile func()))) {
	t.Helper()
	for seed := range uint64(rounds(32)) {
		w := newWorld(t, memory(t, nil))
		w.pad = 700
		w.fs.Seed(seed)
		met := false
		run(w, func(path string, meanwhile func()) {
			w.fs.Hook(func(_ faultfs.Kind, line string) {
				if line != "sync "+path {
					return
				}
				w.fs.Hook(nil)
				if meanwhile != nil {
					meanwhile()
				}
				w.fs.FailNth(1, faultfs.Fault{Of: faultfs.Sync, Err: syscall.EIO, Evict: seed%2 == 0})
				met = true
			})
		})
		if !met {
			t.Fatal("no sync failed")
		}
		for left := range w.fs.CrashStates(6) {
			w.recover(left, fmt.Sprintf("seed %d", seed))
		}
	}
}

// may runs steps that may fail.
func (w *world) may(steps func()) {
	w.failed = func(error) {}
	steps()
	w.failed = nil
}

func TestFailedSyncOfSharedLeader(t *testing.T) {
	t.Parallel()
	failedSyncs(t, func(w *world, fail func(string, func())) {
		w.open(base, Options{})
		w.append(base, 1)
		j := w.journals[base]
		first, late := w.lines(1), w.lines(1)
		_, wait, err := j.Write(false, batch(first...))
		must(w.t, err)
		var lateWait Wait
		fail(base, func() {
			_, lateWait, err = j.Write(false, batch(late...))
			must(w.t, err)
		})
		w.may(func() {
			w.note(base, false, wait.Wait(), first)
			w.note(base, false, lateWait.Wait(), late)
		})
		if fates := w.books[base].fates; fates[1] != refused || fates[2] != refused {
			w.t.Fatal("a sync failed and the append did not")
		}
	})
}

func TestFailedSyncOfALoggedFile(t *testing.T) {
	t.Parallel()
	failedSyncs(t, func(w *world, fail func(string, func())) {
		w.commitLog(512, 1<<20)
		w.open(base, Options{})
		w.open(other, Options{})
		w.appendTogether(base, other)
		w.appendTogether(base, other)
		fail(base, nil)
		w.may(func() { w.append(base, 1) })
		w.checkpoint()
	})
}

func TestFailedSyncWhileEmptyingTheLog(t *testing.T) {
	t.Parallel()
	failedSyncs(t, func(w *world, fail func(string, func())) {
		w.commitLog(512, 1<<20)
		w.open(base, Options{})
		w.open(other, Options{})
		w.appendTogether(base, other)
		w.appendTogether(base, other)
		fail(base, nil)
		w.may(w.checkpoint)
		w.appendTogether(base, other)
		w.checkpoint()
	})
}

func TestFailedSyncWhileTheLogRotates(t *testing.T) {
	t.Parallel()
	failedSyncs(t, func(w *world, fail func(string, func())) {
		w.commitLog(512, 4000)
		w.open(base, Options{})
		w.open(other, Options{})
		for w.committer.log.spare == nil {
			w.appendTogether(base, other)
			w.committer.log.emptying.Wait()
		}
		fail(base, nil)
		w.may(func() {
			for range 8 {
				w.appendTogether(base, other)
			}
		})
		w.may(w.checkpoint)
		w.checkpoint()
	})
}

func TestFailedSyncBeforeTheNextProcess(t *testing.T) {
	t.Parallel()
	failedSyncs(t, func(w *world, fail func(string, func())) {
		w.commitLog(512, 1<<20)
		w.open(base, Options{})
		w.open(other, Options{})
		w.appendTogether(base, other)
		w.appendTogether(base, other)
		fail(base, nil)
		w.may(w.close)
		w.commitLog(512, 1<<20)
		w.close()
	})
}

// TestFailedSyncStops checks that a journal rejects appends after a failed sync.
func TestFailedSyncStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memory(t, nil))
	w.open(base, Options{})
	w.fs.FailNth(1, faultfs.Fault{Of: faultfs.Sync, Err: syscall.EIO})
	for _, deferred := range []bool{false, false, true} {
		_, err := w.journals[base].Append(deferred, batch(`{}`))
		if !errors.Is(err, firn.ErrNotSaved) || !errors.Is(err, syscall.EIO) {
			t.Errorf("append: %v", err)
		}
	}
	if err := w.journals[base].Sync(); !errors.Is(err, firn.ErrNotSaved) {
		t.Errorf("sync: %v", err)
	}
	w.close()
	w.open(base, Options{})
	w.append(base, 1)
}
