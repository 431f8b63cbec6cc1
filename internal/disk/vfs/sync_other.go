//go:build !linux && !darwin && !windows

package vfs

import "golang.org/x/sys/unix"

// syncData calls syncFull because not every system has fdatasync.
func syncData(fd int) error { return syncFull(fd) }

// syncFull makes a file or directory with all its metadata durable.
func syncFull(fd int) error {
	for {
		if err := unix.Fsync(fd); err != unix.EINTR {
			return err
		}
	}
}
