// Package instructions reads the instruction files of a project: AGENTS.md, CLAUDE.md and
// FIRN.md of a directory and of its parents up to the project's root, and the files that
// they include.
//
// A file is included by a line "@include PATH", or by a word "@PATH" that names an existing
// file, outside of code blocks and code spans. Paths are relative to the including file.
// Every file is read once, so cyclic includes end, and includes nest no deeper than
// [MaxDepth].
//
// Only files inside the project and in the directories that the settings allow are read,
// regardless of paths and symbolic links.
package instructions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"firn.dev"
)

const (
	// MaxDepth is the maximum nesting of includes.
	MaxDepth = 5
	// maxFiles limits the number of files read.
	maxFiles = 64
	// maxParents limits how far up the project's root is searched.
	maxParents = 64
)

// Options configures the files to read. Zero values mean none.
type Options struct {
	// Names are the file names that are read in every directory, in this order.
	Names []string
	// Outside are directories and files outside the project that may be included.
	Outside []string
	// Bytes bounds the text of all files together. The files of the directory
	// itself come first, then those of its parents.
	Bytes int64
	// Home is what ~ in a path stands for.
	Home string
}

// File is an instruction file that was read.
type File struct {
	// Path is relative to the project's root, or absolute if it is outside.
	Path string
	Text string
	// By is the file that includes it; empty if it was found by its name.
	By string
}

// Skipped is a file that was not read, or only in part, with the reason.
type Skipped struct{ Path, By, Why string }

// String returns one sentence for the user.
func (s Skipped) String() string {
	if s.By == "" {
		return fmt.Sprintf("instructions: %s %s", s.Path, s.Why)
	}
	return fmt.Sprintf("instructions: %s, included by %s, %s", s.Path, s.By, s.Why)
}

// Result is the result of reading a directory.
type Result struct {
	// Root is the project's root.
	Root string
	// Files are in the order in which they are sent: the root's first, and included files
	// after the file that includes them.
	Files   []File
	Skipped []Skipped
}

// Read reads the instruction files of a directory. Files that cannot be read are
// in Skipped; a directory that cannot be opened has none.
func Read(dir string, o Options) Result {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Result{Skipped: []Skipped{{Path: dir, Why: "was not read: " + err.Error()}}}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	root := Root(dir)
	r := &reader{o: o, left: o.Bytes, result: Result{Root: root}}
	defer r.close()
	if err := r.open(root); err != nil {
		return Result{Root: root, Skipped: []Skipped{{Path: root, Why: "was not read: " + reason(err)}}}
	}
	for _, allowed := range o.Outside {
		_ = r.open(r.home(allowed)) // a path that does not exist allows nothing
	}
	var groups [][]File
	for d := dir; ; d = filepath.Dir(d) {
		groups = append(groups, r.directory(d))
		if d == root {
			break
		}
	}
	slices.Reverse(groups)
	r.result.Files = slices.Concat(groups...)
	return r.result
}

// markers are names that identify the root of a project.
var markers = []string{".git", ".hg", ".jj", ".svn"}

// Root returns the root of the project that a directory belongs to: the nearest directory,
// from dir upwards, that is the root of a repository, or dir itself if there is none. The
// search stops at a directory that all users can write to, such as /tmp, where another user
// could have created a repository.
func Root(dir string) string {
	at := dir
	for range maxParents {
		for _, m := range markers {
			if _, err := os.Lstat(filepath.Join(at, m)); err == nil {
				return at
			}
		}
		up := filepath.Dir(at)
		if up == at || shared(up) {
			return dir
		}
		at = up
	}
	return dir
}

// shared reports whether all users can write to a directory. On Windows the mode does not
// show this.
func shared(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0
}

// reader reads the files of one project.
type reader struct {
	o Options
	// areas are the directories that may be read from, the project's root first.
	areas  []area
	seen   []fs.FileInfo
	left   int64
	result Result
}

// area is a directory that may be read from, or one file in it.
type area struct {
	root *os.Root
	dir  string
	// only is the one file that may be read; empty if all may.
	only string
}

// open permits reading files below a path, or the file at the path.
func (r *reader) open(path string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	a := area{dir: path}
	if !info.IsDir() {
		a.dir, a.only = filepath.Split(path)
		a.dir = filepath.Clean(a.dir)
	}
	if a.root, err = os.OpenRoot(a.dir); err != nil {
		return err
	}
	r.areas = append(r.areas, a)
	return nil
}

func (r *reader) close() {
	for _, a := range r.areas {
		_ = a.root.Close() // read-only
	}
}

// directory reads the files of one directory and the files they include.
func (r *reader) directory(dir string) []File {
	var files []File
	for _, name := range r.o.Names {
		files = append(files, r.read(filepath.Join(dir, name), "", true, 0)...)
	}
	return files
}

// read reads a file and the files it includes. If maybe is true, a missing file, or a word
// that names a directory, is not an error.
func (r *reader) read(path, by string, maybe bool, depth int) []File {
	text, err := r.text(path, by)
	switch {
	case errors.Is(err, errSeen) || maybe && (errors.Is(err, fs.ErrNotExist) || by != "" && errors.Is(err, errPlain)):
		return nil
	case err != nil:
		r.skip(path, by, reason(err))
		return nil
	}
	file := File{Path: r.shown(path), Text: text, By: by}
	files := []File{file}
	for _, inc := range includes(text) {
		target := r.resolve(inc.path, filepath.Dir(path))
		if depth+1 > MaxDepth {
			if _, err := os.Lstat(target); err == nil || !inc.maybe {
				r.skip(target, file.Path, fmt.Sprintf("was not read: more than %d includes follow from one another", MaxDepth))
			}
			continue
		}
		files = append(files, r.read(target, file.Path, inc.maybe, depth+1)...)
	}
	return files
}

var (
	errSeen    = errors.New("read already")
	errOutside = errors.New("it is outside the project; defaults.instructions.outside can allow it")
	errPlain   = errors.New("it is not a text file")
	errFull    = errors.New("the size limit of all instructions is reached")
	errMany    = fmt.Errorf("there are more than %d instruction files", maxFiles)
)

// text reads a file that was not read yet, up to the rest of the size limit.
func (r *reader) text(path, by string) (string, error) {
	f, err := r.file(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // read-only
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case slices.ContainsFunc(r.seen, func(s fs.FileInfo) bool { return os.SameFile(s, info) }):
		return "", errSeen
	case len(r.seen) >= maxFiles:
		return "", errMany
	case r.left <= 0:
		return "", errFull
	}
	r.seen = append(r.seen, info)
	data, err := io.ReadAll(io.LimitReader(f, r.left+1))
	if err != nil {
		return "", err
	}
	if strings.ContainsRune(string(data), 0) {
		return "", errPlain
	}
	if int64(len(data)) > r.left {
		data = []byte(firn.CutText(string(data), int(r.left)))
		r.skip(path, by, fmt.Sprintf("was cut after %d bytes: all instructions together may have %d", len(data), r.o.Bytes))
	}
	r.left -= int64(len(data))
	text, _ := firn.CleanText(string(data))
	return strings.TrimSpace(text), nil
}

// file opens a regular file inside one of the areas. If the path contains a link that
// os.Root does not follow, the resolved path is tried.
func (r *reader) file(path string) (*os.File, error) {
	f, err := r.within(path)
	if err == nil || errors.Is(err, errPlain) {
		return f, err
	}
	real, evalErr := filepath.EvalSymlinks(path)
	switch {
	case evalErr != nil && errors.Is(evalErr, fs.ErrNotExist):
		return nil, evalErr
	case evalErr == nil && real != path:
		return r.within(real)
	}
	return nil, err
}

// within opens a regular file inside one of the areas. The check is part of opening it, so
// changing a link in between cannot lead outside.
func (r *reader) within(path string) (*os.File, error) {
	for _, a := range r.areas {
		rel, err := filepath.Rel(a.dir, path)
		if err != nil || !filepath.IsLocal(rel) || a.only != "" && rel != a.only {
			continue
		}
		info, err := a.root.Stat(rel)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, errPlain
		}
		return a.root.Open(rel)
	}
	return nil, errOutside
}

// resolve makes an included path absolute.
func (r *reader) resolve(path, dir string) string {
	path = r.home(filepath.FromSlash(path))
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// home expands a leading ~ in a path.
func (r *reader) home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"+string(filepath.Separator)); ok && r.o.Home != "" {
		return filepath.Join(r.o.Home, rest)
	}
	return path
}

// shown returns a path for display: relative to the project's root if it is inside.
func (r *reader) shown(path string) string {
	if rel, err := filepath.Rel(r.result.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

func (r *reader) skip(path, by, why string) {
	if !strings.HasPrefix(why, "was ") {
		why = "was not read: " + why
	}
	r.result.Skipped = append(r.result.Skipped, Skipped{Path: r.shown(path), By: by, Why: why})
}

// reason returns an error without its path, which is shown separately.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
