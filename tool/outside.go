package tool

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

type outsideKey struct{}

// WithOutside returns a context whose call of a workspace tool may use one path outside of
// the workspace, because its user approved that path. The path is absolute and clean. It is
// refused if a symbolic link is part of it, so that the approved name is that of the file.
func WithOutside(ctx context.Context, path string) context.Context {
	return context.WithValue(ctx, outsideKey{}, path)
}

// Outside returns the path of [WithOutside]; empty if there is none.
func Outside(ctx context.Context) string {
	path, _ := ctx.Value(outsideKey{}).(string)
	return path
}

// anywhere returns a method of a workspace as the function of a tool. For a call with an
// approved path outside, the method gets a workspace that has only this path.
func anywhere[T, R any](w *Workspace, run func(w *Workspace, ctx context.Context, arguments T) (R, error)) func(context.Context, T) (R, error) {
	return func(ctx context.Context, arguments T) (R, error) {
		path := Outside(ctx)
		if path == "" {
			return run(w, ctx, arguments)
		}
		out, err := w.openOutside(filepath.FromSlash(path))
		if err != nil {
			var none R
			return none, err
		}
		defer out.Close()
		return run(out, ctx, arguments)
	}
}

// approved is the only path of a workspace that was opened for one call.
type approved struct {
	// path is absolute, name the same relative to the root of the workspace.
	path, name string
	// from is the directory that relative paths of the call start from.
	from string
}

// local returns the name of the approved path, if that is the given one.
func (a *approved) local(path string) (name string, ok bool) {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.from, path)
	}
	return a.name, filepath.Clean(path) == a.path
}

// openOutside opens the directory of an approved path, or the path itself if it is a
// directory.
func (w *Workspace) openOutside(path string) (*Workspace, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, w.outside(path)
	}
	out := &Workspace{readOnly: w.readOnly, changed: w.changed, writing: w.writing, outsideOf: &approved{path: path, from: w.dir}}
	for _, p := range w.private {
		if p != "" && isPrivate(p, path) { // it need not exist
			return nil, explainOutside(path, errHidden)
		}
		if info, err := os.Stat(p); err == nil {
			out.hidden = append(out.hidden, info)
		}
	}
	if err := out.descend(path); err != nil {
		return nil, err
	}
	return out, nil
}

// isPrivate reports whether a path is a private path or below it, by name.
func isPrivate(private, path string) bool {
	private, err := filepath.Abs(private)
	if err != nil {
		return false
	}
	for _, p := range []string{private, resolveExisting(private)} {
		if rel, err := filepath.Rel(p, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// resolveExisting resolves the symbolic links in the part of an absolute path that exists.
func resolveExisting(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(resolveExisting(dir), filepath.Base(path))
}

// descend opens the existing directories of a path one after the other. A directory that is
// replaced meanwhile, for example by a symbolic link, is an error.
func (w *Workspace) descend(path string) error {
	dir := filepath.VolumeName(path) + string(filepath.Separator)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", display(dir), err)
	}
	rest := strings.TrimPrefix(path, dir)
	for rest != "" {
		part, after, _ := strings.Cut(rest, string(filepath.Separator))
		next, err := w.enter(root, part)
		if err != nil {
			root.Close()
			return explainOutside(path, err)
		}
		if next == nil {
			break
		}
		root.Close()
		root, dir, rest = next, filepath.Join(dir, part), after
	}
	w.root, w.dir, w.real = root, dir, dir
	w.outsideOf.name = filepath.Clean(rest)
	return nil
}

// The reasons why an approved path is not opened.
var (
	errLink    = errors.New("a symbolic link")
	errHidden  = errors.New("a directory of firn")
	errChanged = fmt.Errorf("another process changed the file meanwhile (%w)", firn.ErrConflict)
)

// enter opens a directory in root. It returns nil if the name is that of a file, or of
// nothing.
func (w *Workspace) enter(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, errLink
	case w.hides(info):
		return nil, errHidden
	case !info.IsDir():
		return nil, nil
	}
	next, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := next.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = errChanged
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// hides reports whether a file or directory is private to firn.
func (w *Workspace) hides(info fs.FileInfo) bool {
	return slices.ContainsFunc(w.hidden, func(h fs.FileInfo) bool { return os.SameFile(h, info) })
}

// withoutHidden removes the entries that are private to firn.
func (w *Workspace) withoutHidden(entries []fs.DirEntry) []fs.DirEntry {
	if len(w.hidden) == 0 {
		return entries
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		info, err := e.Info()
		return err == nil && w.hides(info)
	})
}

// explainOutside converts an error of an approved path to a sentence.
func explainOutside(path string, err error) error {
	switch {
	case errors.Is(err, errLink):
		target := "another path"
		if real, e := filepath.EvalSymlinks(path); e == nil {
			target = display(real)
		}
		return fmt.Errorf("%w path %s: a symbolic link leads from it to %s; use that path, so that the user is asked about it", firn.ErrInvalid, display(path), target)
	case errors.Is(err, errHidden):
		return fmt.Errorf("%w path %s: it belongs to firn, and no approval covers it", firn.ErrInvalid, display(path))
	}
	return fmt.Errorf("open %s: %w", display(path), err)
}

// openFile opens a file. An approved path outside must be the file itself, not a link that
// replaced it after the approval.
func (w *Workspace) openFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := w.root.OpenFile(name, flag, mode)
	if err != nil || w.outsideOf == nil {
		return f, err
	}
	named, err := w.root.Lstat(name)
	if err == nil {
		var opened fs.FileInfo
		if opened, err = f.Stat(); err == nil && (!os.SameFile(named, opened) || w.hides(opened)) {
			err = errChanged
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
