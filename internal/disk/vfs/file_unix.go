//go:build !windows

package vfs

import (
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// file is an open file. It makes system calls directly because os.File.Write retries until
// everything is written, and short writes must be visible to the caller.
type file struct {
	fd     int
	path   string
	append bool
	// uses counts the calls in progress, plus one while the file is open. The last user
	// closes fd, because the kernel may reuse the number as soon as it is closed.
	uses   atomic.Int64
	closed atomic.Bool
}

func newFile(fd int, path string, flags int) *file {
	f := &file{fd: fd, path: path, append: flags&unix.O_APPEND != 0}
	f.uses.Store(1)
	return f
}

// use starts a call and done ends it.
func (f *file) use(op string) error {
	for {
		n := f.uses.Load()
		if n == 0 || f.closed.Load() {
			return f.fail(op, os.ErrClosed)
		}
		if f.uses.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

func (f *file) done() error {
	if f.uses.Add(-1) > 0 {
		return nil
	}
	return unix.Close(f.fd)
}

func (f *file) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}

// call runs one system call on the open file and retries it after EINTR. Do not use it on
// the hot path: do escapes to the heap.
func (f *file) call(op string, do func(fd int) error) error {
	if err := f.use(op); err != nil {
		return err
	}
	defer f.done()
	for {
		switch err := do(f.fd); err {
		case nil:
			return nil
		case unix.EINTR:
		default:
			return f.fail(op, err)
		}
	}
}

// Close closes the file. Calls in progress are allowed to finish.
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return f.fail("close", os.ErrClosed)
	}
	// After EINTR the descriptor is closed anyway, so there is nothing to retry.
	if err := f.done(); err != nil && err != unix.EINTR {
		return f.fail("close", err)
	}
	return nil
}

func (f *file) Read(p []byte) (int, error) {
	if err := f.use("read"); err != nil {
		return 0, err
	}
	defer f.done()
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := unix.Read(f.fd, p[:min(len(p), maxRead)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, f.fail("read", err)
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// maxRead is the largest read that every system accepts in one call.
const maxRead = 1 << 30

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := f.use("read"); err != nil {
		return 0, err
	}
	defer f.done()
	done := 0
	for done < len(p) {
		n, err := unix.Pread(f.fd, p[done:min(len(p), done+maxRead)], off+int64(done))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return done, f.fail("read", err)
		case n == 0:
			return done, io.EOF
		default:
			done += n
		}
	}
	return done, nil
}

// Write makes one write(2) call. On a short write, for example on a full disk, the written
// part stays in the file and an error is returned.
func (f *file) Write(p []byte) (int, error) {
	if err := f.use("write"); err != nil {
		return 0, err
	}
	defer f.done()
	for {
		n, err := unix.Write(f.fd, p)
		if err != unix.EINTR {
			return f.wrote(n, len(p), err)
		}
	}
}

// WriteAt makes one pwrite(2) call. It fails on a file opened for appending, where the
// system would ignore the offset.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if f.append {
		return 0, f.fail("write", fs.ErrInvalid)
	}
	if err := f.use("write"); err != nil {
		return 0, err
	}
	defer f.done()
	for {
		n, err := unix.Pwrite(f.fd, p, off)
		if err != unix.EINTR {
			return f.wrote(n, len(p), err)
		}
	}
}

func (f *file) wrote(n, want int, err error) (int, error) {
	switch {
	case err != nil:
		return max(n, 0), f.fail("write", err)
	case n < want:
		return n, f.fail("write", io.ErrShortWrite)
	}
	return n, nil
}

func (f *file) Stat() (Info, error) {
	if err := f.use("stat"); err != nil {
		return Info{}, err
	}
	defer f.done()
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return Info{}, f.fail("stat", err)
	}
	return infoOf(&st), nil
}

func (f *file) Truncate(size int64) error {
	return f.call("truncate", func(fd int) error { return unix.Ftruncate(fd, size) })
}

func (f *file) Sync() error { return f.call("sync", syncData) }
