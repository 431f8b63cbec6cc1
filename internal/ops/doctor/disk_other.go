//go:build !linux

package doctor

import (
	"errors"
	"fmt"
)

// diskOf is not supported on this system.
func diskOf(path string) (Disk, error) {
	return Disk{}, fmt.Errorf("get free space of %s: %w", path, errors.ErrUnsupported)
}
