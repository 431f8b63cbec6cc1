package vfs

import (
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

// SyncFS implements [SyncerFS].
func (OS) SyncFS(path string) error {
	fd, err := openFD(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return &fs.PathError{Op: "syncfs", Path: path, Err: err}
	}
	defer unix.Close(fd)
	for {
		switch err := unix.Syncfs(fd); err {
		case nil:
			return nil
		case unix.EINTR:
		default:
			return &fs.PathError{Op: "syncfs", Path: path, Err: err}
		}
	}
}
