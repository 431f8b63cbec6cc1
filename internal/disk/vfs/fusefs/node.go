//go:build linux

package fusefs

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path"
	"syscall"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node is a file or directory known to the kernel.
type node struct {
	fs.Inode
	mount *Mount
	// disk and life identify the file system of the node; the root is valid in every life.
	disk *faultfs.FS
	life uint64
}

var (
	_ fs.NodeLookuper  = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeReaddirer = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)
)

// current returns the file system of the node and its life.
func (n *node) current() (*faultfs.FS, uint64) {
	if n.IsRoot() {
		return n.mount.now()
	}
	return n.disk, n.life
}

func (n *node) path(name ...string) string {
	return path.Join("/", n.Path(n.Root()), path.Join(name...))
}

// child creates the kernel's node for a file or directory in n.
func (n *node) child(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	disk, life := n.current()
	info, err := disk.Stat(n.path(name))
	if err != nil {
		return nil, errno(err)
	}
	fill(&out.Attr, info)
	mode := uint32(syscall.S_IFREG)
	if info.Mode.IsDir() {
		mode = syscall.S_IFDIR
	}
	below := &node{mount: n.mount, disk: disk, life: life}
	return n.NewInode(ctx, below, fs.StableAttr{Mode: mode, Ino: info.Inode, Gen: life}), 0
}

// Lookup finds a name in a directory.
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.child(ctx, name, out)
}

// Getattr returns the attributes of a file, through the open handle if there is one,
// because the file may have no name.
func (n *node) Getattr(_ context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	info, err := n.stat(f)
	if err != nil {
		return errno(err)
	}
	fill(&out.Attr, info)
	return 0
}

func (n *node) stat(f fs.FileHandle) (vfs.Info, error) {
	if h, ok := f.(*handle); ok {
		return h.file.Stat()
	}
	disk, _ := n.current()
	return disk.Stat(n.path())
}

// Setattr sets the size. Other attributes are ignored without an error.
func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		if err := n.truncate(f, int64(size)); err != nil {
			return errno(err)
		}
	}
	return n.Getattr(ctx, f, out)
}

func (n *node) truncate(f fs.FileHandle, size int64) error {
	if h, ok := f.(*handle); ok {
		return h.file.Truncate(size)
	}
	disk, _ := n.current()
	if _, err := disk.Stat(n.path()); err != nil {
		return err
	}
	file, err := disk.Open(n.path(), vfs.Update)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(size), file.Close())
}

// Readdir lists a directory.
func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	disk, _ := n.current()
	entries, err := disk.ReadDir(n.path())
	if err != nil {
		return nil, errno(err)
	}
	var list []fuse.DirEntry
	for _, e := range entries {
		mode := uint32(syscall.S_IFREG)
		if e.IsDir() {
			mode = syscall.S_IFDIR
		}
		list = append(list, fuse.DirEntry{Name: e.Name(), Mode: mode})
	}
	return fs.NewListDirStream(list), 0
}

// Open opens an existing file.
func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	disk, _ := n.current()
	if _, err := disk.Stat(n.path()); err != nil {
		return nil, 0, errno(err)
	}
	file, err := disk.Open(n.path(), modeOf(flags))
	if err == nil && flags&syscall.O_TRUNC != 0 {
		err = file.Truncate(0)
	}
	if err != nil {
		return nil, 0, errno(err)
	}
	return &handle{file, flags&syscall.O_APPEND != 0}, fuse.FOPEN_DIRECT_IO, 0
}

// Create creates a file that must not exist.
func (n *node) Create(ctx context.Context, name string, flags, _ uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	disk, _ := n.current()
	file, err := disk.Open(n.path(name), modeOf(flags|syscall.O_RDWR))
	if err != nil {
		return nil, nil, 0, errno(err)
	}
	below, no := n.child(ctx, name, out)
	if no != 0 {
		file.Close()
		return nil, nil, 0, no
	}
	return below, &handle{file, flags&syscall.O_APPEND != 0}, fuse.FOPEN_DIRECT_IO, 0
}

func modeOf(flags uint32) vfs.Mode {
	switch {
	case flags&syscall.O_ACCMODE == syscall.O_RDONLY:
		return vfs.Read
	case flags&syscall.O_APPEND != 0:
		return vfs.Append
	}
	return vfs.Update
}

// Mkdir creates a directory.
func (n *node) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	disk, _ := n.current()
	if err := disk.Mkdir(n.path(name)); err != nil {
		return nil, errno(err)
	}
	return n.child(ctx, name, out)
}

// Unlink removes a file.
func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	disk, _ := n.current()
	return errno(disk.Remove(n.path(name)))
}

// Rmdir removes an empty directory.
func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno { return n.Unlink(ctx, name) }

// Rename moves a file or directory. Exchanging two is not supported.
func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, toName string, flags uint32) syscall.Errno {
	target, ok := to.(*node)
	if !ok || flags != 0 {
		return syscall.EINVAL
	}
	disk, _ := n.current()
	return errno(disk.Rename(n.path(name), target.path(toName)))
}

// Fsync makes a file's bytes or a directory's names durable.
func (n *node) Fsync(_ context.Context, f fs.FileHandle, _ uint32) syscall.Errno {
	if h, ok := f.(*handle); ok {
		return errno(h.file.Sync())
	}
	disk, _ := n.current()
	return errno(disk.SyncDir(n.path()))
}

// Statfs reports a large empty disk, regardless of the limit.
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	const block, blocks = 4096, 1 << 28
	*out = fuse.StatfsOut{
		Bsize: block, Frsize: block, Blocks: blocks, Bfree: blocks, Bavail: blocks,
		Files: blocks, Ffree: blocks, NameLen: 255,
	}
	return 0
}

// fill copies info to the kernel's attributes.
func fill(a *fuse.Attr, info vfs.Info) {
	a.Ino = info.Inode
	a.Size = uint64(info.Size)
	a.Blocks = (a.Size + 511) / 512
	a.Blksize = 4096
	a.Mode = uint32(info.Mode.Perm())
	a.Nlink = uint32(info.Links)
	a.Owner = fuse.Owner{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())}
	a.SetTimes(&info.ModTime, &info.ModTime, &info.ModTime)
}

// errno returns the number of an error, or EIO if it has none.
func errno(err error) syscall.Errno {
	var number syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &number):
		return number
	case errors.Is(err, os.ErrClosed):
		return syscall.EBADF
	case errors.Is(err, iofs.ErrInvalid):
		return syscall.EINVAL
	}
	return syscall.EIO
}

// handle is an open file.
type handle struct {
	file vfs.File
	add  bool // every write goes to the end
}

var (
	_ fs.FileReader   = (*handle)(nil)
	_ fs.FileWriter   = (*handle)(nil)
	_ fs.FileFlusher  = (*handle)(nil)
	_ fs.FileReleaser = (*handle)(nil)
)

// Read reads at an offset.
func (h *handle) Read(_ context.Context, p []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := h.file.ReadAt(p, off)
	if err != nil && err != io.EOF {
		return nil, errno(err)
	}
	return fuse.ReadResultData(p[:n]), 0
}

// Write writes at an offset or at the end. A short write is reported by its length.
func (h *handle) Write(_ context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	var n int
	var err error
	if h.add {
		n, err = h.file.Write(p)
	} else {
		n, err = h.file.WriteAt(p, off)
	}
	if n > 0 {
		return uint32(n), 0
	}
	return 0, errno(err)
}

// Flush is called when one of the file's descriptors is closed; it makes nothing durable.
func (h *handle) Flush(context.Context) syscall.Errno { return 0 }

// Release is called on the last close.
func (h *handle) Release(context.Context) syscall.Errno { return errno(h.file.Close()) }
