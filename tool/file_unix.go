//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package tool

import (
	"errors"
	"os"
	"syscall"
)

// nonBlocking opens a pipe without waiting for who is at its other end.
const nonBlocking = syscall.O_NONBLOCK

// syncDir makes durable which files are in a directory. Some file systems
// cannot, and then it is their promise that counts.
func syncDir(d *os.File) error {
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// tryLock takes the kernel's lock on an open file; false says that another has
// it. Closing the file frees it, and so does the end of the process.
func tryLock(f *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}
