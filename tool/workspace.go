package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"firn"
)

// Workspace is a directory that tools may touch, and nothing outside of it:
// paths with .. in them, absolute paths and symbolic links are followed only as
// long as they stay inside. The operating system's file permissions count too.
// It may be used from many goroutines.
type Workspace struct {
	root *os.Root
	// dir is the directory as it was given, real the same without symbolic links.
	dir, real string
	readOnly  bool
}

// WorkspaceOptions says what may be done in a workspace.
type WorkspaceOptions struct {
	// ReadOnly leaves out all that writes.
	ReadOnly bool
}

// OpenWorkspace opens a directory that exists. It stays the same one if it is
// moved later on.
func OpenWorkspace(dir string, o WorkspaceOptions) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace %s: %w", dir, err)
	}
	root, err := os.OpenRoot(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the workspace %s: the directory was %w", abs, firn.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open the workspace %s: %w", abs, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		real = abs // then absolute paths are told from the given name alone
	}
	return &Workspace{root: root, dir: abs, real: real, readOnly: o.ReadOnly}, nil
}

// Dir is the workspace's directory, absolute.
func (w *Workspace) Dir() string { return w.dir }

// ReadOnly reports whether nothing may be written.
func (w *Workspace) ReadOnly() bool { return w.readOnly }

// Close lets go of the directory. Tools of the workspace fail from then on.
func (w *Workspace) Close() error { return w.root.Close() }

// Tools are read_file, list_dir and grep, and write_file unless the workspace
// is read-only.
func (w *Workspace) Tools() []Tool {
	tools := []Tool{w.readFile(), w.listDir(), w.grep()}
	if !w.readOnly {
		tools = append(tools, w.writeFile())
	}
	return tools
}

// local makes a path as a model gives it relative to the root, without dots in
// it. Empty is the root itself.
func (w *Workspace) local(path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%w path %s: it has a NUL in it", firn.ErrInvalid, display(path))
	}
	name := filepath.FromSlash(path)
	if filepath.IsAbs(name) {
		inside := ""
		for _, base := range []string{w.dir, w.real} {
			if rel, err := filepath.Rel(base, name); err == nil && filepath.IsLocal(rel) {
				inside = rel
				break
			}
		}
		if inside == "" {
			return "", w.outside(path)
		}
		name = inside
	}
	name = filepath.Clean(name)
	if !filepath.IsLocal(name) {
		return "", w.outside(path)
	}
	return name, nil
}

func (w *Workspace) outside(path string) error {
	return fmt.Errorf("%w path %s: it is outside of the workspace %s, and only what is in there can be used", firn.ErrInvalid, display(path), w.dir)
}

// maxLinks is how many symbolic links a path may lead through.
const maxLinks = 40

// resolve follows the symbolic links in a path that [Workspace.local] returned,
// the last one too, and returns one without any. What does not exist stays as
// it is. The answer may be out of date when it comes; the root holds then too.
func (w *Workspace) resolve(name string) (string, error) {
	done, links := ".", 0
	todo := strings.Split(name, string(filepath.Separator))
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			if done == "." {
				return "", w.escape(name)
			}
			done = filepath.Dir(done)
			continue
		}
		path := filepath.Join(done, next)
		target, err := w.root.Readlink(path)
		if err != nil { // not a link, or not there
			done = path
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%w path %s: too many symbolic links, they may go in a circle", firn.ErrInvalid, shown(name))
		}
		if filepath.IsAbs(target) {
			return "", w.escape(name)
		}
		todo = append(strings.Split(filepath.FromSlash(target), string(filepath.Separator)), todo...)
	}
	return done, nil
}

func (w *Workspace) escape(name string) error {
	return fmt.Errorf("%w path %s: a symbolic link in it leads out of the workspace, and only what is in there can be used", firn.ErrInvalid, shown(name))
}

// shown is a path within the root as a model sees it: with slashes everywhere.
func shown(name string) string { return display(filepath.ToSlash(name)) }

// stat tells of what is at a path, and refuses what is neither a file nor a
// directory: a pipe would make us wait, and a device do who knows what.
func (w *Workspace) stat(name string) (fs.FileInfo, error) {
	info, err := w.root.Stat(name)
	if err != nil {
		return nil, w.explain("look at", name, err)
	}
	if !info.IsDir() {
		if err := refuseSpecial(name, info); err != nil {
			return nil, err
		}
	}
	return info, nil
}

// open opens a file to be read. It is a plain one.
func (w *Workspace) open(name string) (*os.File, fs.FileInfo, error) {
	before, err := w.stat(name)
	if err != nil {
		return nil, nil, err
	}
	if before.IsDir() {
		return nil, nil, fmt.Errorf("%s is a directory, not a file: list_dir shows what is in it (%w path)", shown(name), firn.ErrInvalid)
	}
	f, err := w.root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, w.explain("read", name, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = refuseSpecial(name, info) // it may have been swapped just now
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// refuseSpecial says no to what is not a plain file.
func refuseSpecial(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is %s, not a file: it is left alone (%w here)", shown(name), special(info.Mode()), firn.ErrUnsupported)
}

// special says what a thing in a directory is if it is no plain file.
func special(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

// explain makes a sentence of why something in the workspace could not be done.
func (w *Workspace) explain(doing, name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.missing(name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s %s: the system does not permit it (%w)", doing, shown(name), fs.ErrPermission)
	case errors.Is(err, fs.ErrClosed):
		return fmt.Errorf("%s %s: the workspace was %w", doing, shown(name), firn.ErrClosed)
	case strings.HasSuffix(err.Error(), "path escapes from parent"): // package os has no name for it
		return w.escape(name)
	}
	var failure *fs.PathError
	if errors.As(err, &failure) {
		err = failure.Err // the name was told
	}
	return fmt.Errorf("%s %s: %w", doing, shown(name), err)
}

// missing says what is not there, and what is there instead.
func (w *Workspace) missing(name string) error {
	for {
		dir := filepath.Dir(name)
		if info, err := w.root.Stat(dir); err == nil && info.IsDir() || dir == name {
			break
		}
		name = dir
	}
	similar := near(filepath.Base(name), w.names(filepath.Dir(name)))
	if len(similar) == 0 {
		return fmt.Errorf("%s was %w in the workspace", shown(name), firn.ErrNotFound)
	}
	for i, s := range similar {
		similar[i] = shown(filepath.Join(filepath.Dir(name), s))
	}
	return fmt.Errorf("%s was %w in the workspace; there is %s", shown(name), firn.ErrNotFound, enumerate(similar))
}

// maxNames is how many names of a directory are looked through for similar ones.
const maxNames = 5000

func (w *Workspace) names(dir string) []string {
	d, err := w.root.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxNames)
	return names
}
