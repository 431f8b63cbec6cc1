package grep

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

const (
	compressed = ".zst"
	// maxFiles limits the number of files found below a directory, maxDepth the depth of
	// the search.
	maxFiles = 2_000_000
	maxDepth = 32
)

// transcript reports whether name is the name of a JSON Lines file.
func transcript(name string, expands bool) bool {
	if rest, ok := strings.CutSuffix(name, compressed); ok && expands {
		name = rest
	}
	return strings.HasSuffix(name, ".jsonl")
}

// file is a file found by the search.
type file struct {
	path string
	// session is the path without its extension and part number. modified is the
	// modification time, later replaced by the latest one of any part of the session.
	session  string
	modified time.Time
}

// Files returns the transcripts below directories, most recently modified first. The parts
// of a session are kept together. A directory that does not exist is empty; a subdirectory
// that cannot be read is returned itself, last, so that reading it reports the error.
func Files(fsys vfs.FS, expands bool, dirs ...string) ([]string, error) {
	var found []file
	for _, dir := range dirs {
		var err error
		if found, err = walk(fsys, dir, expands, 0, found); err != nil {
			return nil, err
		}
	}
	latest := make(map[string]time.Time, len(found))
	for _, f := range found {
		if f.modified.After(latest[f.session]) {
			latest[f.session] = f.modified
		}
	}
	for i, f := range found {
		found[i].modified = latest[f.session]
	}
	slices.SortFunc(found, func(a, b file) int {
		return cmp.Or(
			b.modified.Compare(a.modified),
			strings.Compare(a.session, b.session),
			len(a.path)-len(b.path), // _part10 sorts after _part9
			strings.Compare(a.path, b.path))
	})
	paths := make([]string, len(found))
	for i, f := range found {
		paths[i] = f.path
	}
	return paths, nil
}

func walk(fsys vfs.FS, dir string, expands bool, depth int, found []file) ([]file, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil && depth > 0 {
		return append(found, file{path: dir, session: dir}), nil
	}
	if err != nil {
		return nil, fmt.Errorf("find transcripts in %s: %w", dir, err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case notRegular(fsys, path, e, expands): // reading it will report the problem
			found = append(found, file{path: path, session: filepath.Join(dir, sessionOf(path))})
		case e.IsDir():
			if depth < maxDepth {
				if found, err = walk(fsys, path, expands, depth+1, found); err != nil {
					return nil, err
				}
			}
		case !e.IsDir() && transcript(e.Name(), expands):
			info, err := fsys.Stat(path)
			if err != nil {
				continue // it has just been removed
			}
			if len(found) >= maxFiles {
				return nil, fmt.Errorf("find transcripts in %s: %w: more than %d", dir, firn.ErrTooLarge, maxFiles)
			}
			found = append(found, file{path, filepath.Join(dir, sessionOf(path)), info.ModTime})
		}
	}
	return found, nil
}

// notRegular reports whether an entry with the name of a transcript is not a regular file:
// a directory, a pipe, or a link to something that is missing or not a file.
func notRegular(fsys vfs.FS, path string, e fs.DirEntry, expands bool) bool {
	if e.Type().IsRegular() || !transcript(e.Name(), expands) {
		return false
	}
	info, err := fsys.Stat(path)
	return err != nil || !info.Mode.IsRegular()
}

// Choose returns the files that names refer to: a file or directory by its path, or the
// files of a session by its ID or a prefix of it. It fails with ErrNotFound if a name
// matches nothing.
func Choose(fsys vfs.FS, expands bool, all []string, names []string) ([]string, error) {
	var chosen []string
	for _, name := range names {
		before := len(chosen)
		switch info, err := fsys.Stat(name); {
		case err == nil && info.Mode.IsDir():
			more, err := Files(fsys, expands, name)
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, more...)
		case err == nil:
			chosen = append(chosen, name)
		case len(name) >= 4:
			for _, path := range all {
				if strings.HasPrefix(sessionOf(path), name) {
					chosen = append(chosen, path)
				}
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("search %.80q: %w", name, firn.ErrNotFound)
		}
	}
	return chosen, nil
}
