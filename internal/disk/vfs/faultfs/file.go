package faultfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"firn.dev/internal/disk/vfs"
)

// handle is an open file.
type handle struct {
	fs     *FS
	node   *node
	path   string
	mode   vfs.Mode
	pos    int64
	closed bool
}

// do runs one operation on the open file unless a fault prevents it.
func (h *handle) do(kind Kind, op string, act func() error) error {
	fault := h.fs.startOp(line(kind, op+" "+clean(h.path)))
	defer h.fs.mu.Unlock()
	if h.closed {
		return h.fail(op, os.ErrClosed)
	}
	return h.fail(op, fault.run(act))
}

func (h *handle) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: h.path, Err: err}
}

// Close closes the file and releases its lock, even if it is made to fail.
func (h *handle) Close() error {
	fault := h.fs.startOp(line(Close, "close "+clean(h.path)))
	defer h.fs.mu.Unlock()
	if h.closed {
		return h.fail("close", os.ErrClosed)
	}
	h.closed = true
	h.unlock()
	h.fs.freed.Broadcast() // wakes up waiters for the lock through this file
	h.node.opens--
	h.fs.release(h.node)
	return h.fail("close", fault.run(func() error { return nil }))
}

func (h *handle) Stat() (vfs.Info, error) {
	var info vfs.Info
	err := h.do(Stat, "stat", func() error {
		info = h.node.info()
		return nil
	})
	return info, err
}

func (h *handle) Read(p []byte) (int, error) {
	return h.read(p, func() int64 { return h.pos }, func(n int, err error) (int, error) {
		h.pos += int64(n)
		if n > 0 && err == io.EOF {
			err = nil
		}
		return n, err
	})
}

func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	return h.read(p, func() int64 { return off }, func(n int, err error) (int, error) { return n, err })
}

// read reads at an offset that is determined after the lock is taken.
func (h *handle) read(p []byte, at func() int64, end func(int, error) (int, error)) (int, error) {
	fault := h.fs.startOp(func() (Kind, string) {
		return Read, fmt.Sprintf("read %s %d@%d", clean(h.path), len(p), at())
	})
	defer h.fs.mu.Unlock()
	off := at()
	switch {
	case h.closed:
		return 0, h.fail("read", os.ErrClosed)
	case off < 0:
		return 0, h.fail("read", syscall.EINVAL)
	case fault != nil:
		data := h.node.data[min(off, int64(len(h.node.data))):]
		n := copy(p[:min(len(p), fault.Short)], data)
		return end(n, h.fail("read", fault.Err))
	case len(p) == 0:
		return 0, nil
	}
	n := copy(p, h.node.data[min(off, int64(len(h.node.data))):])
	if n < len(p) {
		return end(n, io.EOF)
	}
	return end(n, nil)
}

func (h *handle) Write(p []byte) (int, error) {
	return h.write(p, func() int64 {
		if h.mode == vfs.Update {
			return h.pos
		}
		return int64(len(h.node.data))
	}, func(end int64) { h.pos = end })
}

func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	if h.mode != vfs.Update && h.mode != vfs.Read {
		return 0, h.fail("write", fs.ErrInvalid)
	}
	return h.write(p, func() int64 { return off }, func(int64) {})
}

// write writes at an offset that is determined after the lock is taken, limited by the
// space left and by the fault.
func (h *handle) write(p []byte, at func() int64, moved func(end int64)) (int, error) {
	fault := h.fs.startOp(func() (Kind, string) {
		return Write, fmt.Sprintf("write %s %d@%d", clean(h.path), len(p), at())
	})
	defer h.fs.mu.Unlock()
	off := at()
	switch {
	case h.closed:
		return 0, h.fail("write", os.ErrClosed)
	case h.mode == vfs.Read:
		return 0, h.fail("write", syscall.EBADF)
	case off < 0:
		return 0, h.fail("write", syscall.EINVAL)
	}
	todo := p
	if fault != nil && !fault.After {
		todo = p[:min(len(p), fault.Short)]
	}
	n, err := h.put(todo, off)
	if fault != nil && err == nil {
		err = fault.Err
	}
	if n > 0 {
		moved(off + int64(n))
	}
	return n, h.fail("write", err)
}

// put writes as many bytes as there is space for.
func (h *handle) put(p []byte, off int64) (int, error) {
	size := int64(len(h.node.data))
	if len(p) == 0 {
		return 0, nil
	}
	var err error
	if grow := off + int64(len(p)) - size; grow > h.fs.limit-h.fs.used {
		fits := max(0, int64(len(p))-(grow-max(0, h.fs.limit-h.fs.used)))
		if fits == 0 {
			return 0, syscall.ENOSPC
		}
		p, err = p[:fits], io.ErrShortWrite
	}
	h.fs.seq++
	h.node.write(h.fs.seq, p, off)
	h.fs.used += int64(len(h.node.data)) - size
	return len(p), err
}

func (h *handle) Truncate(size int64) error {
	fault := h.fs.startOp(line(Truncate, fmt.Sprintf("truncate %s %d", clean(h.path), size)))
	defer h.fs.mu.Unlock()
	if h.closed {
		return h.fail("truncate", os.ErrClosed)
	}
	return h.fail("truncate", fault.run(func() error {
		if size < 0 || h.mode == vfs.Read {
			return syscall.EINVAL
		}
		old := int64(len(h.node.data))
		if size-old > h.fs.limit-h.fs.used {
			return syscall.ENOSPC
		}
		h.fs.seq++
		h.node.truncate(h.fs.seq, size)
		h.fs.used += size - old
		return nil
	}))
}

func (h *handle) Sync() error {
	fault := h.fs.startOp(line(Sync, "sync "+clean(h.path)))
	defer h.fs.mu.Unlock()
	switch {
	case h.closed:
		return h.fail("sync", os.ErrClosed)
	case fault == nil:
		h.node.sync()
		return nil
	case fault.After:
		h.node.sync()
	case fault.Err != ErrPowerOff:
		h.node.failSync(h.fs.rng, fault.Evict)
	}
	return h.fail("sync", fault.Err)
}

// Lock waits for the lock. It fails if the file is closed in the meantime.
func (h *handle) Lock() error {
	return h.do(Lock, "lock", func() error {
		for h.node.owner != nil && h.node.owner != h {
			h.fs.freed.Wait()
			if h.closed {
				return os.ErrClosed
			}
		}
		h.node.owner = h
		return nil
	})
}

func (h *handle) TryLock() (bool, error) {
	taken := false
	err := h.do(Lock, "trylock", func() error {
		taken = h.node.owner == nil || h.node.owner == h
		if taken {
			h.node.owner = h
		}
		return nil
	})
	return taken && err == nil, err
}

func (h *handle) Unlock() error {
	return h.do(Unlock, "unlock", func() error {
		h.unlock()
		return nil
	})
}

func (h *handle) unlock() {
	if h.node.owner == h {
		h.node.owner = nil
		h.fs.freed.Broadcast()
	}
}
