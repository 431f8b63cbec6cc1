package sessionsync

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// Remote is a place for files where each request takes long, so that one listing of all files
// is better than one of each directory.
type Remote interface {
	// All returns the names of all files.
	All(ctx context.Context) ([]string, error)
	// Get and Put are those of [Target].
	Get(ctx context.Context, name string) ([]byte, error)
	Put(ctx context.Context, name string, data []byte) error
}

// Listing makes a [Target] of a Remote, for one sync: it lists all files once, and then shows
// those and the ones that it put there. Files that others add meanwhile are seen by the next
// sync. It is not safe for concurrent use.
type Listing struct {
	Remote
	// dirs are the names in each directory; nil until they are listed.
	dirs  map[string]map[string]bool
	files map[string]bool
}

// List implements [Target].
func (l *Listing) List(ctx context.Context, dir string) ([]string, error) {
	if l.dirs == nil {
		all, err := l.All(ctx)
		if err != nil {
			return nil, err
		}
		l.dirs, l.files = make(map[string]map[string]bool), make(map[string]bool)
		for _, name := range all {
			l.add(name)
		}
	}
	if l.files[dir] && l.dirs[dir] == nil {
		return nil, failure.Of(firn.ErrCorrupt, "%s on the target is not a directory", dir)
	}
	var names []string
	for name := range l.dirs[dir] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// add records a file and its directories.
func (l *Listing) add(name string) {
	if !fs.ValidPath(name) {
		return // another program's: firn writes no such name
	}
	l.files[name] = true
	for name != "." && !strings.HasPrefix(path.Base(name), ".") {
		dir := path.Dir(name)
		if l.dirs[dir] == nil {
			l.dirs[dir] = make(map[string]bool)
		}
		l.dirs[dir][path.Base(name)] = true
		name = dir
	}
}

// Put implements [Target].
func (l *Listing) Put(ctx context.Context, name string, data []byte) error {
	if err := l.Remote.Put(ctx, name, data); err != nil {
		return err
	}
	if l.dirs != nil {
		l.add(name)
	}
	return nil
}
