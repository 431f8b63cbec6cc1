package sessionsync

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// conflictDir holds entries that have the ID of another entry.
const conflictDir = "conflicts"

// keepConflict saves an entry that has the ID of another one. It is not imported.
func (r *run) keepConflict(from listed, id firn.ID, it item) error {
	name := filepath.Join(r.Dir, r.Name, conflictDir, string(id), hex.EncodeToString(it.sum[:])+".json")
	r.problem("session %s: entry %s of machine %s differs from the entry with the same ID here; both are kept, the other in %s", id, it.id, from.Name, name)
	if _, err := r.FS.Stat(name); err == nil {
		return nil
	}
	if err := r.FS.MkdirAll(filepath.Dir(name)); err != nil {
		return err
	}
	return vfs.WriteFile(r.FS, name, append(bytes.TrimSpace(it.line), '\n'))
}

// EraseConflicts removes the entries of a session that were kept aside because of conflicts, of
// all targets of the sync directory dir. With IDs, it removes only the entries with these IDs.
func EraseConflicts(fsys vfs.FS, dir string, id firn.ID, entries ...firn.EntryID) error {
	targets, err := readDir(fsys, dir)
	for _, t := range targets {
		if t.IsDir() {
			err = errors.Join(err, eraseKept(fsys, filepath.Join(dir, t.Name(), conflictDir, string(id)), entries))
		}
	}
	return err
}

// eraseKept removes the files of entries, or all files, and the directory if none is left.
func eraseKept(fsys vfs.FS, dir string, entries []firn.EntryID) error {
	files, err := readDir(fsys, dir)
	if err != nil || len(files) == 0 {
		return err
	}
	left := 0
	for _, f := range files {
		name := filepath.Join(dir, f.Name())
		if len(entries) > 0 {
			concerned, err := holdsOne(fsys, name, entries)
			if err != nil {
				return err
			}
			if !concerned {
				left++
				continue
			}
		}
		if err := fsys.Remove(name); err != nil {
			return err
		}
	}
	if left > 0 {
		return fsys.SyncDir(dir)
	}
	if err := fsys.Remove(dir); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(dir))
}

// holdsOne reports whether a file holds one of the entries. A file that cannot be decoded, as
// one that a crash cut, may hold any of them.
func holdsOne(fsys vfs.FS, name string, entries []firn.EntryID) (bool, error) {
	file, err := fsys.Open(name, vfs.Read)
	if err != nil {
		return false, err
	}
	data, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return false, err
	}
	it, _, _, err := decodeLine(bytes.TrimSpace(data))
	return err != nil || slices.Contains(entries, it.id), nil
}

// readDir lists a directory; it is empty if it does not exist.
func readDir(fsys vfs.FS, dir string) ([]fs.DirEntry, error) {
	all, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// eraseConflicts removes entries kept aside that were purged, here or on another machine.
func (r *run) eraseConflicts() error {
	sessions, err := readDir(r.FS, filepath.Join(r.Dir, r.Name, conflictDir))
	for _, s := range sessions {
		id := firn.ID(s.Name())
		switch m := r.marks.Applied[id]; {
		case m.Purged:
			err = errors.Join(err, EraseConflicts(r.FS, r.Dir, id))
		case len(m.Erased) > 0:
			err = errors.Join(err, EraseConflicts(r.FS, r.Dir, id, m.Erased...))
		}
	}
	return err
}
