//go:build !linux

package doctor

import (
	"errors"
	"fmt"
)

// diskOf asks the system about the disk that a path is on. Here it does not
// know how to.
func diskOf(path string) (Disk, error) {
	return Disk{}, fmt.Errorf("ask for free space at %s: %w", path, errors.ErrUnsupported)
}
