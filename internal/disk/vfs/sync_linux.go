package vfs

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

var _ SyncerFS = OS{}

// syncData makes bytes and length durable, but not the modification time. For an append
// this saves one disk write compared to fsync.
func syncData(fd int) error { return unix.Fdatasync(fd) }

// syncFull makes a file or directory with all its metadata durable.
func syncFull(fd int) error {
	for {
		if err := unix.Fsync(fd); err != unix.EINTR {
			return err
		}
	}
}

// SyncFS implements [SyncerFS]. It is unsupported where syncfs is unreliable: FUSE and
// network file systems do not forward it to the server, and before Linux 5.8 it does not
// report write errors.
func (OS) SyncFS(path string) error {
	if err := syncFS(path); err != nil {
		return &fs.PathError{Op: "syncfs", Path: path, Err: err}
	}
	return nil
}

func syncFS(path string) error {
	fd, err := openFD(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if ok, err := syncFSReliable(fd); err != nil {
		return err
	} else if !ok {
		return errors.ErrUnsupported
	}
	for {
		if err := unix.Syncfs(fd); err != unix.EINTR {
			return err
		}
	}
}

// syncFSReliable reports whether syncfs is reliable on the file system of an open file.
func syncFSReliable(fd int) (bool, error) {
	var st unix.Statfs_t
	for {
		err := unix.Fstatfs(fd, &st)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return false, err
		}
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return false, err
	}
	return localFS(int64(st.Type)) && reportsSyncErrors(unix.ByteSliceToString(name.Release[:])), nil
}

// localFS reports whether kind is a known file system that the kernel itself writes to
// disk. Unknown file systems are only slower.
func localFS(kind int64) bool {
	switch uint32(kind) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}

// reportsSyncErrors reports whether syncfs returns write errors in a kernel release, that
// is, whether it is 5.8 or later.
func reportsSyncErrors(release string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major > 5 || major == 5 && minor >= 8
}
