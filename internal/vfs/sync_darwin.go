package vfs

import "golang.org/x/sys/unix"

// syncData is syncFull: there is no call for less.
func syncData(fd int) error { return syncFull(fd) }

// syncFull asks the disk itself to write; fsync alone only hands the bytes to
// the disk here. Network file systems know only fsync.
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
