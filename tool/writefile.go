package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"firn.dev"
)

// maxWrite limits the size of one write.
const maxWrite = 10 << 20

type writeArguments struct {
	Path    string `json:"path" desc:"The file, relative to the workspace. Directories above it are made."`
	Content string `json:"content" desc:"The whole new content of the file, or what to add to it."`
	Append  bool   `json:"append,omitempty" desc:"Add the content to the end instead of replacing what is there."`
}

func (w *Workspace) writeFile() Tool {
	return withPreview(New("write_file", "Writes a file in the workspace, replacing any existing file. "+
		"With append it adds to the end. To change a part of a file use edit_file.", anywhere(w, (*Workspace).write)), anywhere(w, (*Workspace).previewWrite))
}

// write replaces a file atomically: readers see the old or the new content, also after a
// crash. A symbolic link is kept and its target replaced. Other hard links keep the old
// content.
func (w *Workspace) write(ctx context.Context, a writeArguments) (Result, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	name, info, err := w.target(a)
	if err != nil {
		return Result{}, err
	}
	diff, _ := w.previewWrite(ctx, a) // for display only
	dir := filepath.Dir(name)
	if err := w.root.MkdirAll(dir, 0o777); err != nil {
		return Result{}, w.explain("make the directory", dir, err)
	}
	err = w.recorded(ctx, name, func() error {
		if a.Append {
			return w.add(name, []byte(a.Content))
		}
		return w.replace(name, []byte(a.Content), info)
	})
	if err != nil {
		return Result{}, w.explain("write", name, err)
	}
	did := "wrote"
	switch {
	case info == nil:
		did = "created"
	case a.Append:
		did = "added to"
	}
	text := fmt.Sprintf("%s %s: %s", did, w.shown(name), count(len(a.Content), "byte"))
	return Result{
		Parts:   TextResult(text).Parts,
		Details: quote(changeDetails{Path: w.shown(name), Bytes: len(a.Content), Created: info == nil, Diff: diff}),
	}, nil
}

// target returns the file to write, or an error if writing it is not allowed. The info is
// nil if the file does not exist.
func (w *Workspace) target(a writeArguments) (string, fs.FileInfo, error) {
	if w.readOnly {
		return "", nil, fmt.Errorf("write %s: the workspace is read-only (%w)", display(a.Path), firn.ErrUnsupported)
	}
	if len(a.Content) > maxWrite {
		return "", nil, fmt.Errorf("write %s: %s is %w for one call, at most %s; write it in pieces with append", display(a.Path), size(int64(len(a.Content))), firn.ErrTooLarge, size(maxWrite))
	}
	name, err := w.local(a.Path)
	if err == nil {
		name, err = w.resolveTarget(name)
	}
	if err != nil {
		return "", nil, err
	}
	if name == "." || strings.HasSuffix(a.Path, "/") {
		return "", nil, fmt.Errorf("write %s: that is a directory, name a file in it (%w path)", display(a.Path), firn.ErrInvalid)
	}
	if w.inGit(name) {
		return "", nil, fmt.Errorf("write %s: .git belongs to git, and its files can make git run commands (%w)", w.shown(name), firn.ErrUnsupported)
	}
	info, err := w.root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return name, nil, nil
	case err != nil:
		return "", nil, w.explain("write", name, err)
	case info.IsDir():
		return "", nil, fmt.Errorf("write %s: that is a directory, name a file in it (%w path)", w.shown(name), firn.ErrInvalid)
	case !info.Mode().IsRegular():
		return "", nil, refuseSpecial(name, info)
	case info.Mode().Perm()&0o200 == 0:
		return "", nil, fmt.Errorf("write %s: the file is write-protected (%w)", w.shown(name), fs.ErrPermission)
	}
	return name, info, nil
}

// resolveTarget resolves the symbolic links of a path. An approved path outside has none.
func (w *Workspace) resolveTarget(name string) (string, error) {
	real, err := w.resolve(name)
	if err == nil && w.outsideOf != nil && real != name {
		return "", explainOutside(w.outsideOf.path, errLink)
	}
	return real, err
}

// inGit reports whether a path of the workspace is in a .git directory.
func (w *Workspace) inGit(name string) bool {
	return inGit(name) || w.outsideOf != nil && inGit(w.outsideOf.path)
}

// inGit reports whether a path is or is inside a .git directory. It ignores case, as some
// file systems do.
func inGit(name string) bool {
	for part := range strings.SplitSeq(name, string(filepath.Separator)) {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// replace replaces the file name. The new file has the permissions of the old one, whose
// info is nil if there is none.
func (w *Workspace) replace(name string, content []byte, old fs.FileInfo) error {
	if old == nil {
		return w.replaceMode(name, content, nil)
	}
	mode := old.Mode().Perm()
	return w.replaceMode(name, content, &mode)
}

// replaceMode replaces the file name. If mode is nil, the umask decides.
func (w *Workspace) replaceMode(name string, content []byte, mode *fs.FileMode) (err error) {
	dir := filepath.Dir(name)
	temp := filepath.Join(dir, ".firn-"+rand.Text()+".tmp")
	f, err := w.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			w.root.Remove(temp)
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	if mode != nil {
		if err = f.Chmod(*mode); err != nil {
			return err
		}
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = w.root.Rename(temp, name); err != nil {
		return err
	}
	return w.syncDir(dir)
}

// add appends to a file with one system call.
func (w *Workspace) add(name string, content []byte) error {
	f, err := w.openFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY|nonBlocking, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := refuseSpecial(name, info); err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return w.syncDir(filepath.Dir(name))
}

func (w *Workspace) syncDir(dir string) error {
	d, err := w.root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return syncDir(d)
}
