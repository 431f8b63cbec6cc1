package vfs

import "golang.org/x/sys/unix"

// syncData calls syncFull because there is no cheaper call.
func syncData(fd int) error { return syncFull(fd) }

// syncFull flushes the disk's cache with F_FULLFSYNC; on this system fsync only passes the
// bytes to the disk. Network file systems support only fsync.
func syncFull(fd int) error {
	for {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
		if err == unix.ENOTSUP || err == unix.ENOTTY {
			err = unix.Fsync(fd)
		}
		if err != unix.EINTR {
			return err
		}
	}
}
