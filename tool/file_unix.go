//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package tool

import (
	"errors"
	"os"
	"syscall"
)

// nonBlocking opens a named pipe without waiting for its other end.
const nonBlocking = syscall.O_NONBLOCK

// syncDir makes the entries of a directory durable. Errors of file systems that do not
// support it are ignored.
func syncDir(d *os.File) error {
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
