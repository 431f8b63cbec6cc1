package vfstest

import (
	"sync/atomic"
	"testing"

	"firn.dev/internal/disk/vfs"
)

// tryLock calls TryLock and checks its result.
func (e *env) tryLock(f vfs.File, want bool) {
	e.t.Helper()
	if got, err := f.TryLock(); got != want || err != nil {
		e.t.Fatalf("TryLock: %v, %v; want %v", got, err, want)
	}
}

func testLock(t *testing.T, e *env) {
	a, b := e.open("a", vfs.Append), e.open("a", vfs.Update)
	other := e.open("other", vfs.Append)
	e.ok(a.Lock())
	e.ok(a.Lock()) // already held by a
	e.tryLock(a, true)
	e.tryLock(b, false)
	e.tryLock(other, true)
	e.write(b, "a lock does not prevent writes")
	e.ok(b.Unlock()) // not held by b, so nothing is released
	e.tryLock(b, false)
	e.ok(a.Unlock())
	e.tryLock(b, true)
	e.tryLock(a, false)

	// The lock is on the file, not on its name.
	e.ok(e.Rename(e.path("a"), e.path("moved")))
	e.tryLock(e.open("moved", vfs.Append), false)
	e.tryLock(e.open("a", vfs.Append), true)
}

func testLockWaits(t *testing.T, e *env) {
	a, b := e.open("a", vfs.Append), e.open("a", vfs.Append)
	e.ok(a.Lock())
	var free atomic.Bool
	done := make(chan error)
	go func() {
		err := b.Lock()
		if !free.Load() {
			t.Error("two hold the lock")
		}
		done <- err
	}()
	e.tryLock(e.open("a", vfs.Append), false)
	free.Store(true)
	e.ok(a.Unlock())
	e.ok(<-done)
	e.tryLock(a, false)
}

func testLockClose(t *testing.T, e *env) {
	a, b := e.open("a", vfs.Append), e.open("a", vfs.Append)
	e.ok(a.Lock())
	e.ok(e.Remove(e.path("a")))
	e.tryLock(b, false)
	e.ok(a.Close())
	e.tryLock(b, true)
}
