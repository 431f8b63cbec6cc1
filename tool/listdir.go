package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev"
)

const (
	// maxListed is the maximum number of entries that list_dir shows.
	maxListed = 500
	// maxInDir is the maximum number of entries read from one directory.
	maxInDir = 100_000
	maxDepth = 20
)

// listArguments are the arguments of list_dir.
type listArguments struct {
	Path  string `json:"path,omitempty" desc:"The directory, relative to the workspace; empty is the workspace itself."`
	Depth int    `json:"depth,omitempty" desc:"How many levels to show, from 1; 1 if not given."`
}

// listDetails is the machine-readable result of list_dir.
type listDetails struct {
	Path    string `json:"path"`
	Entries int    `json:"entries"`
	// More is set if some entries are not shown.
	More bool `json:"more,omitempty"`
}

// listDir returns the tool list_dir, which lists a directory.
func (w *Workspace) listDir() Tool {
	return New("list_dir", "Lists a directory of the workspace, sorted: directories end in a slash, files have their size. "+
		"At most 500 entries are shown, the upper levels first. The contents of .git are only shown if requested by path.", anywhere(w, (*Workspace).list))
}

// listed is an entry of the output. Its path is relative to the requested directory.
type listed struct {
	path, note string
}

// listing is a breadth-first walk through a directory.
type listing struct {
	w       *Workspace
	base    string
	entries []listed
	more    bool
	failed  []string
}

func (w *Workspace) list(ctx context.Context, a listArguments) (Result, error) {
	if a.Depth < 0 || a.Depth > maxDepth {
		return Result{}, fmt.Errorf("%w depth %d: it is from 1 to %d", firn.ErrInvalid, a.Depth, maxDepth)
	}
	name, err := w.local(a.Path)
	if err != nil {
		return Result{}, err
	}
	info, err := w.stat(name)
	if err != nil {
		return Result{}, err
	}
	if !info.IsDir() {
		return Result{}, fmt.Errorf("%s is a file of %s, not a directory: read_file shows it (%w path)", w.shown(name), size(info.Size()), firn.ErrInvalid)
	}
	l := listing{w: w, base: name}
	if err := l.walk(ctx, max(a.Depth, 1)); err != nil {
		return Result{}, err
	}
	return Result{
		Parts:   TextResult(l.text()).Parts,
		Details: quote(listDetails{Path: w.shown(name), Entries: len(l.entries), More: l.more}),
	}, nil
}

// walk collects entries, upper levels first, so that the limit omits the deepest ones.
func (l *listing) walk(ctx context.Context, depth int) error {
	level := []string{"."}
	for ; depth > 0 && len(level) > 0; depth-- {
		var next []string
		for _, dir := range level {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			below, err := l.dir(dir)
			if err != nil && dir == "." {
				return l.w.explain("list", l.base, err)
			}
			if err != nil {
				l.failed = append(l.failed, shown(dir))
			}
			if l.more {
				return nil
			}
			next = append(next, below...)
		}
		level = next
	}
	return nil
}

// dir adds the entries of one directory and returns its subdirectories that may be walked.
func (l *listing) dir(dir string) (below []string, err error) {
	entries, more, err := l.w.readDir(filepath.Join(l.base, dir))
	l.more = l.more || more
	for _, entry := range entries {
		if len(l.entries) == maxListed {
			l.more = true
			return nil, nil
		}
		path := filepath.Join(dir, entry.Name())
		l.entries = append(l.entries, listed{path, l.note(path, entry)})
		if entry.IsDir() && !strings.EqualFold(entry.Name(), ".git") {
			below = append(below, path)
		}
	}
	return below, err
}

// readDir reads the entries of a directory, sorted by name.
func (w *Workspace) readDir(name string) (entries []fs.DirEntry, more bool, err error) {
	d, err := w.root.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	entries, err = d.ReadDir(maxInDir)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(entries) == maxInDir {
		_, end := d.ReadDir(1)
		more = end == nil
	}
	entries = w.withoutHidden(entries)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, more, err
}

// note returns the annotation shown after a name.
func (l *listing) note(path string, entry fs.DirEntry) string {
	switch mode := entry.Type(); {
	case mode.IsDir():
		return "/"
	case mode&fs.ModeSymlink != 0:
		target, err := l.w.root.Readlink(filepath.Join(l.base, path))
		if err != nil {
			return " -> ?"
		}
		return " -> " + display(target)
	case !mode.IsRegular():
		return " (" + special(mode) + ")"
	}
	info, err := entry.Info()
	if err != nil {
		return " (gone)"
	}
	return "  " + size(info.Size())
}

// text formats the entries below their directories.
func (l *listing) text() string {
	separator := string(filepath.Separator)
	slices.SortFunc(l.entries, func(a, b listed) int {
		return slices.Compare(strings.Split(a.path, separator), strings.Split(b.path, separator))
	})
	var b strings.Builder
	for _, e := range l.entries {
		fmt.Fprintf(&b, "%s%s\n", shown(e.path), e.note)
	}
	switch {
	case l.more:
		fmt.Fprintf(&b, "[%s shown, and there are more: list one of the directories, or search with grep]", count(len(l.entries), "entry"))
	case len(l.entries) == 0 && len(l.failed) == 0:
		fmt.Fprintf(&b, "[%s is empty]", l.w.shown(l.base))
	}
	if len(l.failed) > 0 {
		fmt.Fprintf(&b, "[could not be read: %s]", enumerate(l.failed[:min(len(l.failed), 10)]))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
