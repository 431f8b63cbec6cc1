// Package faultfs is a file system in memory for tests. It writes down every
// call, makes any one of them fail, and can show what a power cut at this
// moment would leave on the disk.
//
// It is strict: only what was asked for by name is durable. Bytes are durable
// after Sync of their file, names after SyncDir of their directory; both are
// independent of each other. A rename from one directory to another is durable
// at each end when that end is synced, so the target must be synced first. Only
// MkdirAll is durable by itself, as its contract says. What was not synced may
// be on the disk all the same, wholly, in part, or not at all.
package faultfs

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"

	"firn/internal/vfs"
)

// FS is the file system. All methods may be called from many goroutines. Paths
// with and without a leading slash are the same.
type FS struct {
	mu    sync.Mutex
	freed *sync.Cond // some lock was freed
	root  *node
	// inodes counts the nodes made; seq the changes, in the order they came.
	inodes, seq uint64
	// changes are those of names that no SyncDir made durable yet, oldest first.
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

// Limit sets how many bytes all files together may have; a write that would
// pass it is short, and the next one is ENOSPC. A negative limit is none.
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
	fault := f.begin(func() (Kind, string) {
		line := "open " + clean(name) + " " + modeName(mode)
		if _, err := f.find(name); err != nil && mode != vfs.Read {
			return Create, line + " new"
		}
		return Open, line
	})
	defer f.mu.Unlock()
	var h *handle
	err := fault.around(func() (err error) {
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
	switch mode { // that the file was there makes no difference from now on
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
				f.settle(n, elem)
			}
			if !below.dir {
				return syscall.ENOTDIR
			}
			n = below
		}
		return nil
	})
}

// Mkdir makes one directory in another that is there, as the system's own call
// does: its name is durable only after SyncDir of the other.
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
	fault := f.begin(line(Rename, "rename "+clean(from)+" "+clean(to)))
	defer f.mu.Unlock()
	if err := fault.around(func() error { return f.move(from, to) }); err != nil {
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

// SyncFS implements [vfs.SyncerFS]: everything is durable after it.
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

// do runs one operation on a path, unless it is to fail.
func (f *FS) do(kind Kind, op, name string, act func() error) error {
	fault := f.begin(line(kind, op+" "+clean(name)))
	defer f.mu.Unlock()
	if err := fault.around(act); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// clean is a path as the log has it: relative to the root, with slashes, and
// without the random end of the name of a temporary file, which would make
// every log different.
func clean(name string) string {
	name = relative(name)
	dir, base := path.Split(name)
	if before, _, found := strings.Cut(base, ".tmp-"); found {
		return dir + before + ".tmp-*"
	}
	return name
}
