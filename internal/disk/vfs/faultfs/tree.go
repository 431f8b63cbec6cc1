package faultfs

import (
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// nameChange is one change of names: a file created, removed or renamed. A crash keeps or
// loses it as a whole.
type nameChange struct {
	seq     uint64
	effects []effect // effects that are not durable yet
}

// effect is the change of one name: it points to a node, or to none.
type effect struct {
	dir  *node
	name string
	to   *node
}

// change applies a change of names without making it durable.
func (f *FS) change(effects ...effect) {
	f.seq++
	f.changes = append(f.changes, &nameChange{f.seq, effects})
	for _, e := range effects {
		old := e.dir.names[e.name]
		e.apply(e.dir.names)
		if e.to != nil {
			e.to.links++
		}
		if old != nil {
			old.links--
			f.release(old)
		}
		e.dir.mtime = time.Now()
	}
}

func (e effect) apply(names map[string]*node) {
	if e.to == nil {
		delete(names, e.name)
	} else {
		names[e.name] = e.to
	}
}

// release subtracts the bytes of a file that is no longer reachable.
func (f *FS) release(n *node) {
	if n.links == 0 && n.opens == 0 {
		f.used -= int64(len(n.data))
	}
}

// syncNames makes the selected effects durable, oldest first.
func (f *FS) syncNames(which func(effect) bool) {
	for _, c := range f.changes {
		c.effects = slices.DeleteFunc(c.effects, func(e effect) bool {
			if which(e) {
				e.apply(e.dir.kept)
				return true
			}
			return false
		})
	}
	f.changes = slices.DeleteFunc(f.changes, func(c *nameChange) bool { return len(c.effects) == 0 })
}

// syncName makes one name durable.
func (f *FS) syncName(dir *node, name string) {
	f.syncNames(func(e effect) bool { return e.dir == dir && e.name == name })
}

// move renames a file or directory following the rules of rename(2).
func (f *FS) move(from, to string) error {
	fromDir, fromName, err := f.parent(from)
	if err != nil {
		return err
	}
	toDir, toName, err := f.parent(to)
	if err != nil {
		return err
	}
	n, there := fromDir.names[fromName], toDir.names[toName]
	switch {
	case fromName == "." || toName == ".":
		return syscall.EBUSY
	case n == nil:
		return syscall.ENOENT
	case n == there:
		return nil
	case n.dir && strings.HasPrefix(relative(to)+"/", relative(from)+"/"):
		return syscall.EINVAL
	case there == nil:
	case there.dir && !n.dir:
		return syscall.EISDIR
	case !there.dir && n.dir:
		return syscall.ENOTDIR
	case len(there.names) > 0:
		return syscall.ENOTEMPTY
	}
	f.change(effect{toDir, toName, n}, effect{fromDir, fromName, nil})
	return nil
}

// find returns the node at a path.
func (f *FS) find(name string) (*node, error) {
	n := f.root
	for elem := range elements(name) {
		if !n.dir {
			return nil, syscall.ENOTDIR
		}
		below := n.names[elem]
		if below == nil {
			return nil, syscall.ENOENT
		}
		n = below
	}
	return n, nil
}

func (f *FS) findDir(name string) (*node, error) {
	n, err := f.find(name)
	if err == nil && !n.dir {
		return nil, syscall.ENOTDIR
	}
	return n, err
}

// parent returns the directory of a path, which need not exist itself, and the name in it,
// which is "." for the root.
func (f *FS) parent(name string) (*node, string, error) {
	dir, err := f.findDir(path.Dir(relative(name)))
	return dir, path.Base(relative(name)), err
}

// relative returns a path relative to the root with slashes; "." is the root.
func relative(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(name)), "/")
	if name == "" {
		return "."
	}
	return name
}

// elements yields the names from the root to a path.
func elements(name string) iter.Seq[string] {
	name = relative(name)
	if name == "." {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(name, "/")
}

// walk visits a node and its descendants in path order.
func (n *node) walk(name string, visit func(name string, n *node)) {
	visit(name, n)
	for _, below := range slices.Sorted(maps.Keys(n.names)) {
		n.names[below].walk(path.Join(name, below), visit)
	}
}

// entries lists a directory.
func (n *node) entries() []fs.DirEntry {
	entries := []fs.DirEntry{}
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		below := n.names[name].info()
		entries = append(entries, fs.FileInfoToDirEntry(fileInfo{name, below.Size, below.Mode, below.ModTime}))
	}
	return entries
}

// fileInfo implements fs.FileInfo for directory entries.
type fileInfo struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return i.mtime }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }
