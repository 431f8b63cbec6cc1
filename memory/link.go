package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"firn"
)

// within says whether a file of the folder is in it: a link that leads out of
// the folder would tell a model what is elsewhere on the machine, and one that
// leads to itself is nothing at all. Both are [firn.ErrUnsupported], as other
// things that can be no note. The folder itself may be a link, and so may its
// memory.
func (d *Dir) within(full string) error {
	info, err := os.Lstat(full)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil // whoever reads it is told what is wrong with it
	}
	real, err := filepath.EvalSymlinks(full)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it leads nowhere yet
	}
	if err != nil {
		return fmt.Errorf("read a note: %s: %w: the link cannot be followed: %w", full, firn.ErrUnsupported, err)
	}
	for _, dir := range []string{d.root, filepath.Join(d.root, memoryDir)} {
		if home, err := filepath.EvalSymlinks(dir); err == nil && strings.HasPrefix(real, home+string(filepath.Separator)) {
			return nil
		}
	}
	return fmt.Errorf("read a note: %s: %w: the link leads out of the folder of notes", full, firn.ErrUnsupported)
}
