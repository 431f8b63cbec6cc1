//go:build !linux && !darwin && !windows

package vfs

import "golang.org/x/sys/unix"

// syncData is syncFull: not every system has a call for less.
func syncData(fd int) error { return syncFull(fd) }

// syncFull makes everything about a file or directory durable.
func syncFull(fd int) error {
	for {
		if err := unix.Fsync(fd); err != unix.EINTR {
			return err
		}
	}
}
