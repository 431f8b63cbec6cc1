package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"firn.dev"
)

// item is a file to mirror.
type item struct {
	name string
	// side is set for a file that is not a transcript but describes some.
	side bool
}

// items lists the files to mirror: transcripts and the tool's metadata about them. No other
// file of the folder is read, because it may contain secrets. Files that cannot be listed
// are recorded as failed.
func (m *Mirror) items(ctx context.Context, done *Result) ([]item, error) {
	tree := m.tree
	var all []item
	seen := make(map[string]bool)
	for t, err := range m.Tool.Layout().Transcripts(tree) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			if m.view != nil || isFailure(err) {
				done.fail(placeOf(err, t.Parts), err)
			}
			continue
		}
		for _, part := range t.Parts {
			if !seen[part] {
				seen[part] = true
				all = append(all, item{name: part})
			}
		}
	}
	b := patternFinder{tree: tree, listed: make(map[string][]fs.DirEntry), done: done}
	for _, pattern := range m.Tool.Layout().SideFiles() {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("find files next to the sessions of %s: the pattern %s: %w", m.Tool.Name(), pattern, err)
		}
		b.find(".", strings.Split(pattern, "/"), func(name string) {
			if !seen[name] {
				seen[name] = true
				all = append(all, item{name, true})
			}
		})
	}
	slices.SortFunc(all, func(a, b item) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// isFailure reports whether a listing error may hide a file that should be mirrored. Files
// that are not the tool's, are invalid or are gone are no failures.
func isFailure(err error) bool {
	return !errors.Is(err, firn.ErrUnsupported) && !errors.Is(err, firn.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist)
}

// placeOf returns the path that a listing error concerns.
func placeOf(err error, parts []string) string {
	var at *fs.PathError
	switch {
	case errors.As(err, &at):
		return at.Path
	case len(parts) > 0:
		return parts[0]
	}
	return "."
}

// patternFinder finds files by patterns. Unlike [fs.Glob] it opens no files, supports **
// and reports folders that it cannot list.
type patternFinder struct {
	tree   fs.FS
	listed map[string][]fs.DirEntry
	done   *Result
}

// find yields the files in a directory that match the rest of a pattern.
func (b *patternFinder) find(dir string, pattern []string, yield func(name string)) {
	first, rest := pattern[0], pattern[1:]
	if first == "**" {
		b.find(dir, rest, yield)
	}
	for _, e := range b.list(dir) {
		name := path.Join(dir, e.Name())
		matches, _ := path.Match(first, e.Name()) // the pattern was validated
		switch {
		case first == "**" && e.IsDir():
			b.find(name, pattern, yield)
		case first == "**" || !matches:
		case len(rest) == 0 && !e.IsDir():
			yield(name)
		case len(rest) > 0 && b.isDir(name, e):
			b.find(name, rest, yield)
		}
	}
}

// isDir reports whether an entry is a directory or a link to one.
func (b *patternFinder) isDir(name string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := fs.Stat(b.tree, name)
	return err == nil && info.IsDir()
}

// list reads a directory and caches the result.
func (b *patternFinder) list(dir string) []fs.DirEntry {
	if entries, ok := b.listed[dir]; ok {
		return entries
	}
	entries, err := fs.ReadDir(b.tree, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.done.fail(dir, err)
	}
	b.listed[dir] = entries
	return entries
}
