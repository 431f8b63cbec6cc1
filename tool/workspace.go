package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"firn.dev"
)

// Workspace confines tools to a directory: relative paths with .., absolute paths and
// symbolic links are followed only if they stay inside, except for a path that the user
// approved, see [WithOutside]. File permissions apply too. It is safe for concurrent use.
type Workspace struct {
	root *os.Root
	// dir is the directory as given, real the same with symbolic links resolved.
	dir, real string
	readOnly  bool
	changed   func(path string)
	// writing serializes changes, so that parallel calls do not lose each other's.
	writing *sync.Mutex
	// private are the paths that no approval covers.
	private []string
	// outsideOf is set if the workspace was opened for one approved path outside of another
	// one; hidden are the private files and directories then.
	outsideOf *approved
	hidden    []fs.FileInfo
}

// WorkspaceOptions configures a workspace.
type WorkspaceOptions struct {
	// ReadOnly omits all tools that write.
	ReadOnly bool
	// Changed is called after a tool changed a file, with its absolute path, for calls whose
	// changes are recorded. It may be nil; see [Shells.Accept].
	Changed func(path string)
	// Private are files and directories that no call can reach with [WithOutside].
	Private []string
}

// OpenWorkspace opens an existing directory. The workspace follows the directory if it is
// moved.
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
		real = abs // absolute paths are then compared with the given name only
	}
	return &Workspace{root: root, dir: abs, real: real, readOnly: o.ReadOnly, changed: o.Changed, private: o.Private, writing: new(sync.Mutex)}, nil
}

// Dir returns the absolute path of the workspace.
func (w *Workspace) Dir() string { return w.dir }

// ReadOnly reports whether the workspace is read-only.
func (w *Workspace) ReadOnly() bool { return w.readOnly }

// Close closes the directory. Tools of the workspace fail from then on.
func (w *Workspace) Close() error { return w.root.Close() }

// Tools returns read_file, list_dir, glob and grep, and write_file and edit_file unless the
// workspace is read-only.
func (w *Workspace) Tools() []Tool {
	tools := []Tool{w.readFile(), w.listDir(), w.globFiles(), w.grep()}
	if !w.readOnly {
		tools = append(tools, w.writeFile(), w.editFile())
	}
	return tools
}

// local converts a path given by a model to a clean path relative to the root. Empty means
// the root itself.
func (w *Workspace) local(path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%w path %s: it has a NUL in it", firn.ErrInvalid, display(path))
	}
	if w.outsideOf != nil {
		name, ok := w.outsideOf.local(path)
		if !ok {
			return "", w.outside(path)
		}
		return name, nil
	}
	name := filepath.FromSlash(path)
	if !filepath.IsLocal(name) && !filepath.IsAbs(name) {
		name = filepath.Join(w.dir, name) // it may return to the workspace by its name
	}
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
	return fmt.Errorf("%w path %s: it is outside the workspace %s; only files in the workspace can be used", firn.ErrInvalid, display(path), w.dir)
}

// maxLinks limits the number of symbolic links in a path.
const maxLinks = 40

// resolve resolves all symbolic links in a path returned by [Workspace.local], including
// the last element. Elements that do not exist are kept. The result may be outdated when it
// is used; the root still confines access.
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
		if err != nil { // not a link, or does not exist
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
	target, err := filepath.EvalSymlinks(filepath.Join(w.real, name))
	if err != nil {
		return fmt.Errorf("%w path %s: a symbolic link in it leads out of the workspace; only files in the workspace can be used", firn.ErrInvalid, shown(name))
	}
	return fmt.Errorf("%w path %s: a symbolic link in it leads out of the workspace, to %s; use that path, so that the user is asked about it", firn.ErrInvalid, shown(name), display(target))
}

// shown returns a path within the root as shown to a model, with slashes.
func shown(name string) string { return display(filepath.ToSlash(name)) }

// shown returns a path as shown to a model: relative to the workspace, absolute if the
// workspace was opened for a path outside.
func (w *Workspace) shown(name string) string {
	if w.outsideOf != nil {
		name = filepath.Join(w.dir, name)
	}
	return shown(name)
}

// stat returns the info of a path. It rejects anything but files and directories, because
// opening a pipe or device may block or have side effects.
func (w *Workspace) stat(name string) (fs.FileInfo, error) {
	info, err := w.root.Stat(name)
	if err != nil {
		return nil, w.explain("stat", name, err)
	}
	if !info.IsDir() {
		if err := refuseSpecial(name, info); err != nil {
			return nil, err
		}
	}
	return info, nil
}

// open opens a regular file for reading.
func (w *Workspace) open(name string) (*os.File, fs.FileInfo, error) {
	before, err := w.stat(name)
	if err != nil {
		return nil, nil, err
	}
	if before.IsDir() {
		return nil, nil, fmt.Errorf("%s is a directory, not a file: list_dir shows its contents (%w path)", w.shown(name), firn.ErrInvalid)
	}
	f, err := w.openFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, w.explain("read", name, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = refuseSpecial(name, info) // it may have been replaced in the meantime
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// refuseSpecial returns an error if the file is not a regular file.
func refuseSpecial(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is %s, not a regular file (%w here)", shown(name), special(info.Mode()), firn.ErrUnsupported)
}

// special returns the name of a special file type, or "" for a regular file.
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

// explain converts an error of a file operation to a sentence.
func (w *Workspace) explain(doing, name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.missing(name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s %s: the system does not permit it (%w)", doing, w.shown(name), fs.ErrPermission)
	case errors.Is(err, fs.ErrClosed):
		return fmt.Errorf("%s %s: the workspace was %w", doing, w.shown(name), firn.ErrClosed)
	case strings.HasSuffix(err.Error(), "path escapes from parent"): // package os exports no error for it
		return w.escape(name)
	}
	var failure *fs.PathError
	if errors.As(err, &failure) {
		err = failure.Err // the name is already in the message
	}
	return fmt.Errorf("%s %s: %w", doing, w.shown(name), err)
}

// missing returns the error for a missing file, with similar names.
func (w *Workspace) missing(name string) error {
	for {
		dir := filepath.Dir(name)
		if info, err := w.root.Stat(dir); err == nil && info.IsDir() || dir == name {
			break
		}
		name = dir
	}
	if w.outsideOf != nil { // names of other files there are not approved
		return fmt.Errorf("%s was %w", w.shown(name), firn.ErrNotFound)
	}
	similar := similarNames(filepath.Base(name), w.names(filepath.Dir(name)))
	if len(similar) == 0 {
		return fmt.Errorf("%s was %w in the workspace", shown(name), firn.ErrNotFound)
	}
	for i, s := range similar {
		similar[i] = shown(filepath.Join(filepath.Dir(name), s))
	}
	return fmt.Errorf("%s was %w in the workspace; there is %s", shown(name), firn.ErrNotFound, enumerate(similar))
}

// maxNames limits the number of names searched for similar ones.
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
