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

// Fault is something among the notes that can be no note.
type Fault struct {
	// Name is what a note there would be called; empty for the list of notes.
	Name string
	// Err says what is wrong: [firn.ErrUnsupported] or [firn.ErrTooLarge].
	Err error
}

// Faults lists what is among the notes and is not read: links that lead out of
// the folder or to themselves, what is no file, and what is too large.
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
		if _, err := d.readFile(rel); noNote(err) {
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

// noNote reports whether an error says that a file can be no note. Such a file
// keeps no other from being read.
func noNote(err error) bool {
	return errors.Is(err, firn.ErrUnsupported) || errors.Is(err, firn.ErrTooLarge)
}
