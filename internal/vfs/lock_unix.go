//go:build !windows

package vfs

import "golang.org/x/sys/unix"

// The lock is that of flock(2): it belongs to the open file, not to the
// process, so two opens of one file in one process keep each other out.

func (f *file) Lock() error {
	return f.call("lock", func(fd int) error { return unix.Flock(fd, unix.LOCK_EX) })
}

func (f *file) TryLock() (bool, error) {
	busy := false
	err := f.call("lock", func(fd int) error {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == unix.EWOULDBLOCK {
			busy = true
			return nil
		}
		return err
	})
	return err == nil && !busy, err
}

func (f *file) Unlock() error {
	return f.call("unlock", func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
}
