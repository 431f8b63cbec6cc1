package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev"
)

// checkInside checks that a file is inside the folder. A link that leads out of it would
// expose other files to a model, and a link to itself cannot be read; both fail with
// [firn.ErrUnsupported], like other files that cannot be notes. The folder itself and its
// memory directory may be links.
func (d *Dir) checkInside(full string) error {
	info, err := os.Lstat(full)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil // reading it returns the error
	}
	real, err := filepath.EvalSymlinks(full)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the target does not exist yet
	}
	if err != nil {
		return fmt.Errorf("read a note: %s: %w: the link cannot be followed: %w", full, firn.ErrUnsupported, err)
	}
	for _, dir := range []string{d.root, filepath.Join(d.root, memoryDir)} {
		if home, err := filepath.EvalSymlinks(dir); err == nil && strings.HasPrefix(real, home+string(filepath.Separator)) {
			return nil
		}
	}
	return fmt.Errorf("read a note: %s: %w: the link leads out of the notes folder", full, firn.ErrUnsupported)
}

// Fault is a file among the notes that cannot be a note.
type Fault struct {
	// Name is the name that the note would have; empty for the index.
	Name string
	// Err is the cause: [firn.ErrUnsupported] or [firn.ErrTooLarge].
	Err error
}

// Faults lists the files among the notes that are not read: links that lead out of the
// folder or to themselves, non-regular files, and files that are too large.
func (d *Dir) Faults(ctx context.Context) ([]Fault, error) {
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	var all []Fault
	for _, rel := range names {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if _, err := d.readFile(rel); isNotNote(err) {
			name, ok := noteName(rel)
			if !ok {
				name = ""
			}
			all = append(all, Fault{name, err})
		}
	}
	slices.SortFunc(all, func(a, b Fault) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// isNotNote reports whether an error means that a file cannot be a note. Such a file does
// not prevent reading the others.
func isNotNote(err error) bool {
	return errors.Is(err, firn.ErrUnsupported) || errors.Is(err, firn.ErrTooLarge)
}
