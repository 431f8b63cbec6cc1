package vfs

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

var _ SyncerFS = OS{}

// syncData makes bytes and length durable, but not the time of the last
// change: for an append that is one disk write less than fsync.
func syncData(fd int) error { return unix.Fdatasync(fd) }

// syncFull makes everything about a file or directory durable.
func syncFull(fd int) error {
	for {
		if err := unix.Fsync(fd); err != unix.EINTR {
			return err
		}
	}
}

// SyncFS implements [SyncerFS]. It is unsupported where the kernel's word for
// it is worth nothing: on FUSE and network file systems it does not ask the
// server, and before Linux 5.8 it does not tell of bytes that were lost.
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
	if ok, err := syncFSTells(fd); err != nil {
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

// syncFSTells reports whether syncfs can be trusted on an open file.
func syncFSTells(fd int) (bool, error) {
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
	return localFS(int64(st.Type)) && syncErrorsTold(unix.ByteSliceToString(name.Release[:])), nil
}

// localFS reports whether a kind of file system is one whose disk the kernel
// itself writes. It is a list of those we know; others are only slower.
func localFS(kind int64) bool {
	switch uint32(kind) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}

// syncErrorsTold reports whether a release of the kernel is 5.8 or later.
func syncErrorsTold(release string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major > 5 || major == 5 && minor >= 8
}
