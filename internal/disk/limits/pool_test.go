package limits

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"firn.dev/internal/disk/vfs"
)

// scarce is a file system without descriptors until some were freed.
type scarce struct {
	vfs.FS
	free  int
	calls int
}

func (s *scarce) take() error {
	s.calls++
	if s.free <= 0 {
		return &fs.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}
	}
	return nil
}

func (s *scarce) Open(string, vfs.Mode) (vfs.File, error) { return nil, s.take() }
func (s *scarce) ReadDir(string) ([]fs.DirEntry, error)   { return nil, s.take() }
func (s *scarce) MkdirAll(string) error                   { return s.take() }
func (s *scarce) SyncDir(string) error                    { return s.take() }
func (s *scarce) SyncFS(string) error                     { return s.take() }

// each calls every method that needs a descriptor.
var each = map[string]func(vfs.FS) error{
	"Open":     func(f vfs.FS) error { _, err := f.Open("x", vfs.Read); return err },
	"ReadDir":  func(f vfs.FS) error { _, err := f.ReadDir("x"); return err },
	"MkdirAll": func(f vfs.FS) error { return f.MkdirAll("x") },
	"SyncDir":  func(f vfs.FS) error { return f.SyncDir("x") },
	"SyncFS":   func(f vfs.FS) error { return f.(vfs.SyncerFS).SyncFS("x") },
}

// TestRetryAfterClosingIdle checks that a call without a descriptor closes idle ones and
// succeeds without waiting.
func TestRetryAfterClosingIdle(t *testing.T) {
	for name, call := range each {
		t.Run(name, func(t *testing.T) {
			p := &Pool{wait: func(time.Duration) { t.Error("it waited") }, open: nothing}
			s := &scarce{}
			defer p.OnShort(func() int { s.free++; return 1 })()
			if err := call(p.FS(s)); err != nil {
				t.Fatal(err)
			}
			if err := p.Short(); err != nil {
				t.Errorf("a call that was served made the pool short: %v", err)
			}
		})
	}
}

// TestRetryWaits checks that a call waits where nothing is idle, that it ends,
// and that the pool is short afterwards.
func TestRetryWaits(t *testing.T) {
	for name, call := range each {
		t.Run(name, func(t *testing.T) {
			s, waited := &scarce{}, 0
			p := &Pool{wait: func(time.Duration) { waited++; s.free = waited / 3 }, open: nothing}
			if err := call(p.FS(s)); err != nil || waited != 3 {
				t.Fatalf("after %d pauses: %v", waited, err)
			}
			p.wait = func(time.Duration) {}
			s.free, s.calls = 0, 0
			if err := call(p.FS(s)); !IsShort(err) || s.calls < 2 {
				t.Fatalf("after %d calls: %v", s.calls, err)
			}
			if p.Short() == nil {
				t.Error("the pool is not short after a call failed")
			}
			p.failedAt = p.failedAt.Add(-shortFor)
			if err := p.Short(); err != nil {
				t.Errorf("the pool remains short: %v", err)
			}
		})
	}
}

// TestOtherErrorsAreNotRetried checks that only a want of descriptors is.
func TestOtherErrorsAreNotRetried(t *testing.T) {
	p, calls := &Pool{wait: func(time.Duration) { t.Error("it waited") }}, 0
	err := p.Retry(func() error { calls++; return syscall.ENOSPC })
	if !errors.Is(err, syscall.ENOSPC) || calls != 1 {
		t.Errorf("after %d calls: %v", calls, err)
	}
}

// TestShortByProbe checks that the pool is short while few descriptors are left
// and not a moment longer, and that probing leaves nothing open.
func TestShortByProbe(t *testing.T) {
	open, limit := 0, spare-1
	p := &Pool{open: func() (func() error, error) {
		if open+2 > limit {
			return nil, syscall.EMFILE
		}
		open += 2
		return func() error { open -= 2; return nil }, nil
	}}
	if err := p.Short(); !IsShort(err) {
		t.Errorf("with %d left: %v", limit, err)
	}
	limit = spare
	if err := p.Short(); err != nil {
		t.Errorf("with %d left: %v", limit, err)
	}
	if open != 0 {
		t.Errorf("%d files are left open", open)
	}
}

// TestRemovedGiverIsNotCalled checks that a removed giver is not called.
func TestRemovedGiverIsNotCalled(t *testing.T) {
	p := &Pool{}
	a := p.OnShort(func() int { return 1 })
	b := p.OnShort(func() int { return 10 })
	if n := p.Free(); n != 11 {
		t.Errorf("freed %d", n)
	}
	a()
	a()
	if n := p.Free(); n != 10 {
		t.Errorf("freed %d", n)
	}
	b()
	if n := p.Free(); n != 0 {
		t.Errorf("freed %d", n)
	}
}

func nothing() (func() error, error) { return func() error { return nil }, nil }
