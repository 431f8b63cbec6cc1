//go:build !windows

package limits

import (
	"errors"
	"syscall"
)

// Descriptors returns the number of file descriptors that this process may open.
func Descriptors() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil || uint64(r.Cur) > Unlimited {
		return Unlimited
	}
	return int(r.Cur)
}

// IsShort reports whether a call failed because the process (EMFILE) or the system (ENFILE)
// has no file descriptor left.
func IsShort(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
