//go:build !linux && !darwin && !windows

package vfs

import "golang.org/x/sys/unix"

func syncData(fd int) error { return syncFull(fd) }

func syncFull(fd int) error {
	for {
		if err := unix.Fsync(fd); err != unix.EINTR {
			return err
		}
	}
}
