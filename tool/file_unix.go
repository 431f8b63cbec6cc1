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
