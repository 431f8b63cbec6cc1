package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"firn.dev"
)

// The limits of glob.
const (
	maxGlobbed   = 500
	maxGlobFiles = 200_000
)

type globArguments struct {
	Pattern string `json:"pattern" desc:"Such as *.go, src/**/*.{ts,tsx} or **/test_?.py. Without a slash it is matched against names in all directories."`
	Path    string `json:"path,omitempty" desc:"The directory to search, relative to the workspace; empty is all of it."`
}

// globDetails is the machine-readable result of glob.
type globDetails struct {
	Files int  `json:"files"`
	More  bool `json:"more,omitempty"`
}

// globFiles returns the tool glob, which finds files by name.
func (w *Workspace) globFiles() Tool {
	return New("glob", "Finds files of the workspace by a pattern of their names, the last changed first. "+
		"At most 500 are shown. The contents of .git and targets of symbolic links are left out.", anywhere(w, (*Workspace).find))
}

// globSearch collects the files that match a pattern.
type globSearch struct {
	w       *Workspace
	pattern glob
	base    string
	found   []globbed
	seen    int
	more    bool
}

// globbed is a file that matches.
type globbed struct {
	path    string
	changed time.Time
}

func (w *Workspace) find(ctx context.Context, a globArguments) (Result, error) {
	if a.Pattern == "" {
		return Result{}, fmt.Errorf("%w arguments for glob: a pattern is needed", firn.ErrInvalid)
	}
	pattern, err := compileGlob(a.Pattern)
	if err != nil {
		return Result{}, err
	}
	name, err := w.local(a.Path)
	if err != nil {
		return Result{}, err
	}
	if info, err := w.stat(name); err != nil {
		return Result{}, err
	} else if !info.IsDir() {
		return Result{}, fmt.Errorf("%s is a file, not a directory (%w path)", w.shown(name), firn.ErrInvalid)
	}
	s := &globSearch{w: w, pattern: pattern, base: name}
	if err := s.walk(ctx, name); err != nil && !errors.Is(err, errDone) {
		return Result{}, w.explain("search", name, err)
	}
	text := s.text(a.Pattern)
	return Result{Parts: TextResult(text).Parts, Details: quote(globDetails{Files: len(s.found), More: s.more})}, nil
}

// walk searches a directory recursively. Directories that cannot be read are left out.
func (s *globSearch) walk(ctx context.Context, dir string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	entries, more, err := s.w.readDir(dir)
	if err != nil && dir == s.base {
		return err
	}
	s.more = s.more || more
	for _, entry := range entries {
		if s.seen++; s.seen > maxGlobFiles {
			s.more = true
			return errDone
		}
		path := filepath.Join(dir, entry.Name())
		if entry.IsDir() {
			if strings.EqualFold(entry.Name(), ".git") {
				continue
			}
			if err := s.walk(ctx, path); err != nil {
				return err
			}
			continue
		}
		below, _ := filepath.Rel(s.base, path)
		if !s.pattern.match(filepath.ToSlash(below)) && !s.pattern.match(filepath.ToSlash(path)) {
			continue
		}
		f := globbed{path: path}
		if info, err := entry.Info(); err == nil {
			f.changed = info.ModTime()
		}
		s.found = append(s.found, f)
	}
	return nil
}

// text formats the files, the last changed first.
func (s *globSearch) text(pattern string) string {
	slices.SortFunc(s.found, func(a, b globbed) int {
		return cmp.Or(b.changed.Compare(a.changed), strings.Compare(a.path, b.path))
	})
	var b strings.Builder
	for _, f := range s.found[:min(len(s.found), maxGlobbed)] {
		b.WriteString(s.w.shown(f.path) + "\n")
	}
	switch {
	case len(s.found) > maxGlobbed || s.more:
		s.more = true
		fmt.Fprintf(&b, "[there are more: name a path or a narrower pattern]")
	case len(s.found) == 0:
		fmt.Fprintf(&b, "[no file matches %s]", ellipsis(pattern, 100))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
