//go:build !windows

package vfs

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// LockDir takes the exclusive kernel lock on a directory without waiting. Unlike a lock
// file, it cannot be lost by deleting a file. Close and process exit release it. taken is
// false if another process holds the lock. On a file system that cannot lock directories,
// lock is nil and taken is true.
func (OS) LockDir(path string) (lock io.Closer, taken bool, err error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	for {
		switch err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return d, true, nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			d.Close()
			return nil, false, nil
		default: // for example EBADF or ENOLCK on network file systems
			d.Close()
			return nil, true, nil
		}
	}
}
