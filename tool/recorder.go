package tool

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"firn.dev"
)

// maxRecorded is the size in bytes up to which the content of a file is passed to a
// recorder. Of larger files only the hash is.
const maxRecorded = 64 << 20

// FileState is the state of a file before or after a change.
type FileState struct {
	// Path is absolute, with symbolic links resolved.
	Path string
	// Exists is false if there is no file; the other fields are then zero.
	Exists bool
	Mode   fs.FileMode
	Size   int64
	Hash   [sha256.Size]byte
	// Content is nil if the file is larger than 64 MB.
	Content []byte
}

// ChangeRecorder records the state of files that tools change.
type ChangeRecorder interface {
	// Before is called before a file is changed. If it fails, the file is not changed.
	Before(ctx context.Context, s FileState) error
	// After is called after the change.
	After(ctx context.Context, before, after FileState) error
}

type recorderKey struct{}

// WithChangeRecorder returns a context whose tool calls report file changes to r.
func WithChangeRecorder(ctx context.Context, r ChangeRecorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// recorded makes a change of the file name and reports it to the recorder of the context.
func (w *Workspace) recorded(ctx context.Context, name string, change func() error) error {
	r, _ := ctx.Value(recorderKey{}).(ChangeRecorder)
	if r == nil {
		return change()
	}
	before, err := w.fileState(name)
	if err != nil {
		return err
	}
	if err := r.Before(ctx, before); err != nil {
		return fmt.Errorf("the file was not changed, because its content could not be kept: %w", err)
	}
	changed := change()
	if w.changed != nil {
		w.changed(before.Path)
	}
	after, err := w.fileState(name)
	if err == nil {
		err = r.After(context.WithoutCancel(ctx), before, after)
	}
	if changed != nil {
		return changed
	}
	return err
}

// fileState reads the state of a file of the workspace.
func (w *Workspace) fileState(name string) (FileState, error) {
	s := FileState{Path: filepath.Join(w.real, name)}
	f, err := w.openFile(name, os.O_RDONLY|nonBlocking, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return s, err
	}
	if err := refuseSpecial(name, info); err != nil {
		return s, err
	}
	s.Exists, s.Mode, s.Size = true, info.Mode().Perm(), info.Size()
	if s.Size > maxRecorded {
		sum := sha256.New()
		if _, err := io.Copy(sum, f); err != nil {
			return s, err
		}
		sum.Sum(s.Hash[:0])
		return s, nil
	}
	if s.Content, err = io.ReadAll(io.LimitReader(f, maxRecorded)); err != nil {
		return s, err
	}
	s.Size, s.Hash = int64(len(s.Content)), sha256.Sum256(s.Content)
	return s, nil
}

// FileStates reads and restores files by absolute path, for rewinding what tools changed.
type FileStates struct{ root *Workspace }

// OpenFileStates opens the file system that has the given path.
func OpenFileStates(path string) (FileStates, error) {
	w, err := OpenWorkspace(filepath.VolumeName(path)+string(filepath.Separator), WorkspaceOptions{})
	return FileStates{w}, err
}

// Close closes the file system.
func (f FileStates) Close() error { return f.root.Close() }

// Read returns the state of a file.
func (f FileStates) Read(path string) (FileState, error) {
	name, err := f.root.local(path)
	if err != nil {
		return FileState{}, err
	}
	s, err := f.root.fileState(name)
	s.Path = path
	return s, err
}

// Restore gives a file the content and mode of a state, or removes it if the state is that
// of no file. Readers see the old or the new file, also after a crash.
func (f FileStates) Restore(s FileState) error {
	name, err := f.root.local(s.Path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(name)
	if !s.Exists {
		if err := f.root.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return f.root.syncDir(dir)
	}
	if s.Size > maxRecorded {
		return fmt.Errorf("restore %s: its content was %w to be kept", s.Path, firn.ErrTooLarge)
	}
	if err := f.root.root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return f.root.replaceMode(name, s.Content, &s.Mode)
}
