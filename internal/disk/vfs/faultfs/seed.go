package faultfs

import (
	"io/fs"
	"path"
	"slices"
	"syscall"
)

// Put creates a file or replaces its content, creating its directories. Everything is
// durable; the call is not logged and triggers no faults.
func (f *FS) Put(name string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.root
	for elem := range elements(path.Dir(relative(name))) {
		n = f.putName(n, elem, true)
		if !n.dir {
			return &fs.PathError{Op: "put", Path: name, Err: syscall.ENOTDIR}
		}
	}
	base := path.Base(relative(name))
	if base == "." || n.names[base] != nil && n.names[base].dir {
		return &fs.PathError{Op: "put", Path: name, Err: syscall.EISDIR}
	}
	n = f.putName(n, base, false)
	f.used += int64(len(data) - len(n.data))
	f.seq++
	n.truncate(f.seq, 0)
	n.write(f.seq, data, 0)
	n.sync()
	return nil
}

func (f *FS) putName(dir *node, name string, isDir bool) *node {
	if dir.names[name] == nil {
		f.change(effect{dir, name, f.newNode(isDir)})
	}
	f.syncName(dir, name)
	return dir.names[name]
}

// Get returns the current content of a file. The call is not logged and triggers no faults.
func (f *FS) Get(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(name)
	if err == nil && n.dir {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "get", Path: name, Err: err}
	}
	return slices.Clone(n.data), nil
}

// Files returns the paths of all files, sorted.
func (f *FS) Files() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var files []string
	f.root.walk("", func(name string, n *node) {
		if !n.dir {
			files = append(files, name)
		}
	})
	slices.Sort(files)
	return files
}
