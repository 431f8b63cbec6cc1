// Package faultfs is an in-memory file system for tests. It logs every operation, can make
// any of them fail, and can compute the possible contents of the disk after a power cut.
//
// It is strict: only explicitly synced data is durable. Bytes are durable after Sync of
// their file, names after SyncDir of their directory, independently of each other. A rename
// between directories becomes durable in each directory when that directory is synced, so
// the target must be synced first. Only MkdirAll is durable without a sync, as its contract
// requires. Unsynced data may be on the disk completely, in part, or not at all.
package faultfs

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"

	"firn.dev/internal/disk/vfs"
)

// FS is the file system. All methods are safe for concurrent use. Leading slashes in paths
// are ignored.
type FS struct {
	mu    sync.Mutex
	freed *sync.Cond // signaled when a lock is released
	root  *node
	// inodes counts the nodes created; seq numbers the changes.
	inodes, seq uint64
	// changes are the changes of names that no SyncDir has made durable yet, oldest first.
	changes []*nameChange
	// used and limit count the bytes in all files.
	used, limit int64
	rng         *rand.Rand

	log    []record
	faults []*armed
	hook   func(kind Kind, line string)
}

var (
	_ vfs.FS       = (*FS)(nil)
	_ vfs.SyncerFS = (*FS)(nil)
)

// New returns an empty file system.
func New() *FS {
	f := &FS{limit: noLimit, rng: seeded(1)}
	f.freed = sync.NewCond(&f.mu)
	f.root = f.newNode(true)
	f.root.links = 1
	return f
}

const noLimit = 1<<63 - 1

// Limit sets the maximum total size of all files. The write that exceeds it is short, and
// the next one fails with ENOSPC. A negative value means no limit.
func (f *FS) Limit(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if bytes < 0 {
		bytes = noLimit
	}
	f.limit = bytes
}

// Open implements [vfs.FS].
func (f *FS) Open(name string, mode vfs.Mode) (vfs.File, error) {
	fault := f.startOp(func() (Kind, string) {
		line := "open " + clean(name) + " " + modeName(mode)
		if _, err := f.find(name); err != nil && mode != vfs.Read {
			return Create, line + " new"
		}
		return Open, line
	})
	defer f.mu.Unlock()
	var h *handle
	err := fault.run(func() (err error) {
		h, err = f.open(name, mode)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return h, nil
}

func (f *FS) open(name string, mode vfs.Mode) (*handle, error) {
	if mode < vfs.Read || mode > vfs.Change {
		return nil, syscall.EINVAL
	}
	dir, base, err := f.parent(name)
	if err != nil {
		return nil, err
	}
	n := dir.names[base]
	switch {
	case base == ".":
		return nil, syscall.EISDIR
	case n == nil && (mode == vfs.Read || mode == vfs.Extend || mode == vfs.Change):
		return nil, syscall.ENOENT
	case n == nil:
		n = f.newNode(false)
		f.change(effect{dir: dir, name: base, to: n})
	case mode == vfs.Create:
		return nil, syscall.EEXIST
	case n.dir:
		return nil, syscall.EISDIR
	}
	n.opens++
	switch mode { // From here on, the modes that require an existing file need no distinction.
	case vfs.Extend:
		mode = vfs.Append
	case vfs.Change:
		mode = vfs.Update
	}
	return &handle{fs: f, node: n, path: name, mode: mode}, nil
}

func modeName(mode vfs.Mode) string {
	switch mode {
	case vfs.Read:
		return "read"
	case vfs.Append:
		return "append"
	case vfs.Create:
		return "create"
	case vfs.Update:
		return "update"
	case vfs.Extend:
		return "extend"
	case vfs.Change:
		return "change"
	}
	return "unknown"
}

// Stat implements [vfs.FS].
func (f *FS) Stat(name string) (vfs.Info, error) {
	var info vfs.Info
	err := f.do(Stat, "stat", name, func() error {
		n, err := f.find(name)
		if err == nil {
			info = n.info()
		}
		return err
	})
	if err != nil {
		return vfs.Info{}, err
	}
	return info, nil
}

// ReadDir implements [vfs.FS].
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	err := f.do(ReadDir, "readdir", name, func() error {
		n, err := f.findDir(name)
		if err == nil {
			entries = n.entries()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// MkdirAll implements [vfs.FS].
func (f *FS) MkdirAll(name string) error {
	return f.do(Mkdir, "mkdir", name, func() error {
		n := f.root
		for elem := range elements(name) {
			below := n.names[elem]
			if below == nil {
				below = f.newNode(true)
				f.change(effect{dir: n, name: elem, to: below})
				f.syncName(n, elem)
			}
			if !below.dir {
				return syscall.ENOTDIR
			}
			n = below
		}
		return nil
	})
}

// Mkdir creates one directory in an existing one, as the system call does: its name is
// durable only after SyncDir of the parent.
func (f *FS) Mkdir(name string) error {
	return f.do(Mkdir, "mkdir", name, func() error {
		dir, base, err := f.parent(name)
		if err != nil {
			return err
		}
		if base == "." || dir.names[base] != nil {
			return syscall.EEXIST
		}
		f.change(effect{dir: dir, name: base, to: f.newNode(true)})
		return nil
	})
}

// Rename implements [vfs.FS].
func (f *FS) Rename(from, to string) error {
	fault := f.startOp(line(Rename, "rename "+clean(from)+" "+clean(to)))
	defer f.mu.Unlock()
	if err := fault.run(func() error { return f.move(from, to) }); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// Remove implements [vfs.FS].
func (f *FS) Remove(name string) error {
	return f.do(Remove, "remove", name, func() error {
		dir, base, err := f.parent(name)
		if err != nil {
			return err
		}
		n := dir.names[base]
		switch {
		case base == ".":
			return syscall.EBUSY
		case n == nil:
			return syscall.ENOENT
		case len(n.names) > 0:
			return syscall.ENOTEMPTY
		}
		f.change(effect{dir: dir, name: base})
		return nil
	})
}

// SyncDir implements [vfs.FS]. If it is made to fail, nothing becomes durable.
func (f *FS) SyncDir(name string) error {
	return f.do(SyncDir, "syncdir", name, func() error {
		n, err := f.findDir(name)
		if err == nil {
			f.syncNames(func(e effect) bool { return e.dir == n })
		}
		return err
	})
}

// SyncFS implements [vfs.SyncerFS]. It makes everything durable.
func (f *FS) SyncFS(name string) error {
	return f.do(SyncFS, "syncfs", name, func() error {
		if _, err := f.find(name); err != nil {
			return err
		}
		f.syncNames(func(effect) bool { return true })
		f.root.walk("", func(_ string, n *node) { n.sync() })
		return nil
	})
}

// do runs one operation on a path unless a fault prevents it.
func (f *FS) do(kind Kind, op, name string, act func() error) error {
	fault := f.startOp(line(kind, op+" "+clean(name)))
	defer f.mu.Unlock()
	if err := fault.run(act); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// clean returns a path for the log: relative to the root, with slashes, and without the
// random suffix of temporary files, so that logs are reproducible.
func clean(name string) string {
	name = relative(name)
	dir, base := path.Split(name)
	if before, _, found := strings.Cut(base, ".tmp-"); found {
		return dir + before + ".tmp-*"
	}
	return name
}
