package sessionsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
)

// Folder is a target in a directory, which may be a mounted share.
type Folder struct {
	FS  vfs.FS
	Dir string
	// Rate limits the bandwidth; nil for no limit.
	Rate *Rate
}

func (f Folder) path(name string) string { return filepath.Join(f.Dir, filepath.FromSlash(name)) }

// List implements [Target]. It leaves out temporary files.
func (f Folder) List(_ context.Context, dir string) ([]string, error) {
	// A pipe or a device would block.
	info, err := f.FS.Stat(f.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode.IsDir() {
		return nil, failure.Of(firn.ErrCorrupt, "%s on the target is not a directory", dir)
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = f.FS.ReadDir(f.path(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("list the target: %w", err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Get implements [Target].
func (f Folder) Get(ctx context.Context, name string) (data []byte, err error) {
	info, err := f.FS.Stat(f.path(name))
	if err == nil && !info.Mode.IsRegular() { // a pipe or a device would block
		return nil, failure.Of(firn.ErrCorrupt, "%s on the target is not a file", name)
	}
	var file vfs.File
	if err == nil {
		file, err = f.FS.Open(f.path(name), vfs.Read)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failure.Of(firn.ErrNotFound, "%s is not on the target", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f.Rate.Reader(ctx, file), MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = firn.ErrTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// Put implements [Target]. It writes a temporary file and renames it, so that a crash leaves
// no part of a file under its name.
func (f Folder) Put(ctx context.Context, name string, data []byte) error {
	if _, err := f.FS.Stat(f.path(name)); err == nil {
		return nil
	}
	dir := f.path(path.Dir(name))
	if err := f.FS.MkdirAll(dir); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	temporary := filepath.Join(dir, ".tmp-"+string(firn.NewID()))
	if err := f.write(ctx, temporary, data); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, f.FS.Remove(temporary)))
	}
	if err := f.FS.Rename(temporary, f.path(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, f.FS.Remove(temporary)))
	}
	return f.FS.SyncDir(dir)
}

func (f Folder) write(ctx context.Context, name string, data []byte) error {
	file, err := f.FS.Open(name, vfs.Create)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, f.Rate.Reader(ctx, bytes.NewReader(data)))
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
