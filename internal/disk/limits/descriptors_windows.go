package limits

import (
	"errors"
	"syscall"
)

// Descriptors returns Unlimited: Windows limits handles only by memory.
func Descriptors() int { return Unlimited }

// errTooManyOpenFiles is ERROR_TOO_MANY_OPEN_FILES.
const errTooManyOpenFiles = syscall.Errno(4)

// IsShort reports whether a call failed because no handle is left.
func IsShort(err error) bool {
	return errors.Is(err, errTooManyOpenFiles) || errors.Is(err, syscall.EMFILE)
}
