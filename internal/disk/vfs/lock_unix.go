//go:build !windows

package vfs

import "golang.org/x/sys/unix"

// Locks use flock(2). They belong to the open file, not to the process, so two opens of one
// file in one process exclude each other.

func (f *file) Lock() error {
	return f.call("lock", func(fd int) error { return unix.Flock(fd, unix.LOCK_EX) })
}

// TryLock and Unlock run on every append, so they avoid call.

func (f *file) TryLock() (bool, error) {
	switch err := f.flock("lock", unix.LOCK_EX|unix.LOCK_NB); err {
	case nil:
		return true, nil
	case unix.EWOULDBLOCK:
		return false, nil
	default:
		return false, err
	}
}

func (f *file) Unlock() error { return f.flock("unlock", unix.LOCK_UN) }

// flock returns EWOULDBLOCK unwrapped.
func (f *file) flock(op string, how int) error {
	if err := f.use(op); err != nil {
		return err
	}
	defer f.done()
	for {
		switch err := unix.Flock(f.fd, how); err {
		case nil, unix.EWOULDBLOCK:
			return err
		case unix.EINTR:
		default:
			return f.fail(op, err)
		}
	}
}
