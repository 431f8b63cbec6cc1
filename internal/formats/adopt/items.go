package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"firn.dev"
)

// item is a file to mirror.
type item struct {
	name string
	// side is set if it is no transcript but tells about some.
	side bool
}

// items lists the files to mirror: transcripts, and what the tool notes about
// them. Nothing else of a tool's folder is touched: there may be secrets in it.
// What cannot be listed is noted as failed.
func (m *Mirror) items(ctx context.Context, done *Done) ([]item, error) {
	tree := os.DirFS(m.Home)
	var all []item
	seen := make(map[string]bool)
	for t, err := range m.Tool.Layout().Transcripts(tree) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			if isFailure(err) {
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
	b := besides{tree: tree, listed: make(map[string][]fs.DirEntry), done: done}
	for _, pattern := range m.Tool.Layout().Beside() {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("find what lies beside the sessions of %s: the pattern %s: %w", m.Tool.Name(), pattern, err)
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

// isFailure reports whether an error of a listing hides something that could
// have been mirrored: not what is none of the tool's, makes no sense, or is gone.
func isFailure(err error) bool {
	return !errors.Is(err, firn.ErrUnsupported) && !errors.Is(err, firn.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist)
}

// placeOf is what an error of a listing is about.
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

// besides finds files by patterns. Unlike [fs.Glob] it opens no file, knows any
// number of folders, and tells of folders that it cannot list.
type besides struct {
	tree   fs.FS
	listed map[string][]fs.DirEntry
	done   *Done
}

// find yields what is in a directory and matches the rest of a pattern.
func (b *besides) find(dir string, pattern []string, yield func(name string)) {
	first, rest := pattern[0], pattern[1:]
	if first == "**" {
		b.find(dir, rest, yield)
	}
	for _, e := range b.list(dir) {
		name := path.Join(dir, e.Name())
		matches, _ := path.Match(first, e.Name()) // it was tried
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

// isDir reports whether an entry is a directory, or a link to one.
func (b *besides) isDir(name string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := fs.Stat(b.tree, name)
	return err == nil && info.IsDir()
}

// list reads a directory once.
func (b *besides) list(dir string) []fs.DirEntry {
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
