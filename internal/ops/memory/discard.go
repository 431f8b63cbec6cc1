package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"firn.dev/internal/disk/vfs"
)

// Discard removes a folder that has no notes, with its lists of changes and state files,
// and reports whether it did. A folder with notes, with an index that has text, or with
// files that do not belong to it is kept.
func (d *Dir) Discard(ctx context.Context) (gone bool, err error) {
	if _, err := d.fs.Stat(filepath.Join(d.root, memoryDir)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = d.locked(ctx, func() error {
		gone, err = discard(ctx, d)
		return err
	})
	if err == nil && gone { // the lock is released: not every system removes open files
		err = errors.Join(vfs.RemoveAll(d.fs, d.root), d.fs.SyncDir(filepath.Dir(d.root)))
	}
	if err != nil {
		return false, fmt.Errorf("remove the notes folder %s: %w", d.root, err)
	}
	return gone, nil
}

// discard removes everything but the lock file, unless the folder is to be kept.

func discard(ctx context.Context, d *Dir) (bool, error) {
	if empty, err := d.Empty(ctx); err != nil || !empty {
		return false, err
	}
	for _, dir := range []string{d.root, filepath.Join(d.root, memoryDir)} {
		found, err := d.fs.ReadDir(dir)
		if err != nil {
			return false, err
		}
		for _, f := range found {
			if name := f.Name(); !strings.HasPrefix(name, ".") && name != memoryDir && name != IndexFile && !strings.HasSuffix(name, ending) {
				return false, nil
			}
		}
	}
	found, err := d.fs.ReadDir(filepath.Join(d.root, memoryDir))
	if err != nil {
		return false, err
	}
	for _, f := range found {
		switch path := d.memoryPath(f.Name()); {
		case f.Name() == lockFile:
		case f.IsDir():
			err = errors.Join(err, vfs.RemoveAll(d.fs, path))
		default:
			err = errors.Join(err, d.fs.Remove(path))
		}
	}
	return true, err
}

// Empty reports whether no note and no index has text other than headings.
func (d *Dir) Empty(ctx context.Context) (bool, error) {
	files, err := d.read(ctx)
	if err != nil {
		return false, err
	}
	for _, c := range files {
		for line := range strings.Lines(c.text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				return false, nil
			}
		}
	}
	return true, nil
}
