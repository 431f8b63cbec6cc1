package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"firn"
	"firn/internal/vfs"
)

// manifest tells what is in a bin directory and where it came from. It is
// written before the first file is moved, so that a move that was interrupted
// can be finished or undone.
type manifest struct {
	Session firn.ID   `json:"session"`
	Agent   string    `json:"agent"`
	Reason  string    `json:"reason,omitempty"`
	Removed time.Time `json:"removed"`
	Files   []string  `json:"files"` // the first part is the first
}

const manifestName = "manifest.json"

// Archive marks a session as archived.
func (st *Store) Archive(ctx context.Context, id firn.ID) error {
	return st.change(ctx, "archive", id, func() error {
		if _, _, err := st.locate(id); err != nil {
			return err
		}
		mark := st.archiveMark(id)
		if err := st.fs.MkdirAll(filepath.Dir(mark)); err != nil {
			return err
		}
		return vfs.WriteFile(st.fs, mark, nil)
	})
}

// Unarchive takes the mark away.
func (st *Store) Unarchive(ctx context.Context, id firn.ID) error {
	return st.change(ctx, "unarchive", id, func() error {
		if _, _, err := st.locate(id); err != nil {
			return err
		}
		_, err := st.discard(st.archiveMark(id))
		return err
	})
}

// change runs what changes the place of a session.
func (st *Store) change(ctx context.Context, what string, id firn.ID, do func() error) error {
	if err := st.beginChange(ctx); err != nil {
		return err
	}
	defer st.working.Done()
	if err := id.Check(); err != nil {
		return err
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s session: %w", what, err)
	}
	return nil
}

// Remove moves a session to the bin.
func (st *Store) Remove(ctx context.Context, id firn.ID, reason string) error {
	return st.change(ctx, "remove", id, func() error {
		m, err := st.manifest(id)
		if errors.Is(err, fs.ErrNotExist) {
			m, err = st.writeManifest(id, reason)
		}
		if err != nil {
			return err
		}
		if err := st.letGo(id); err != nil {
			return err
		}
		if err := st.committer.Checkpoint(); err != nil {
			return err
		}
		// The first part goes first: with it the session is gone from the list.
		return st.move(st.sessionsDir(m.Agent), st.binDir(id), m.Files)
	})
}

// writeManifest begins a removal.
func (st *Store) writeManifest(id firn.ID, reason string) (manifest, error) {
	agent, path, err := st.locate(id)
	if err != nil {
		return manifest{}, err
	}
	files, err := st.filesOf(path)
	if err != nil {
		return manifest{}, err
	}
	m := manifest{Session: id, Agent: agent, Reason: reason, Removed: st.opts.Now().UTC(), Files: files}
	if err := st.fs.MkdirAll(st.binDir(id)); err != nil {
		return manifest{}, err
	}
	return m, st.writeJSON(filepath.Join(st.binDir(id), manifestName), m)
}

// filesOf names the files of a transcript: its parts and what was saved beside
// them, the first part first.
func (st *Store) filesOf(path string) ([]string, error) {
	entries, err := st.fs.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	base := filepath.Base(path)
	stem := strings.TrimSuffix(base, transcriptExt)
	names := []string{base}
	for _, e := range entries {
		name := e.Name()
		isPart := strings.HasPrefix(name, stem+"_part")
		isSide := strings.HasPrefix(name, base+".torn-") || strings.HasPrefix(name, base+".rescued-")
		if name != base && (isPart || isSide) {
			names = append(names, name)
		}
	}
	return names, nil
}

// move renames files that are still in one directory to another.
func (st *Store) move(from, to string, names []string) error {
	for _, name := range names {
		err := st.fs.Rename(filepath.Join(from, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it was moved before
			return err
		}
	}
	return errors.Join(st.fs.SyncDir(to), st.fs.SyncDir(from))
}

// Restore takes a session out of the bin.
func (st *Store) Restore(ctx context.Context, id firn.ID) error {
	return st.change(ctx, "restore", id, func() error {
		m, err := st.manifest(id)
		if errors.Is(err, fs.ErrNotExist) {
			_, _, err := st.locate(id) // if it is there, all is well
			return err
		}
		if err != nil {
			return err
		}
		if err := st.checkRoom(m); err != nil {
			return err
		}
		dir := st.sessionsDir(m.Agent)
		if err := st.fs.MkdirAll(dir); err != nil {
			return err
		}
		// The first part goes last: with it the session is whole again.
		if err := st.move(st.binDir(id), dir, append(m.Files[1:len(m.Files):len(m.Files)], m.Files[0])); err != nil {
			return err
		}
		_, err = st.discardDir(st.binDir(id))
		return err
	})
}

// checkRoom refuses to restore over files that have come meanwhile.
func (st *Store) checkRoom(m manifest) error {
	for _, name := range m.Files {
		inBin, err := st.exists(filepath.Join(st.binDir(m.Session), name))
		if err != nil {
			return err
		}
		path := filepath.Join(st.sessionsDir(m.Agent), name)
		there, err := st.exists(path)
		if err != nil {
			return err
		}
		if inBin && there {
			return fmt.Errorf("%w: %s is in the way", firn.ErrConflict, path)
		}
	}
	return nil
}

// manifest reads what is in a session's bin directory.
func (st *Store) manifest(id firn.ID) (manifest, error) {
	var m manifest
	path := filepath.Join(st.binDir(id), manifestName)
	if err := st.readJSON(path, &m); err != nil {
		return m, err
	}
	if m.Session != id || checkAgent(m.Agent) != nil || len(m.Files) == 0 {
		return m, fmt.Errorf("%s: %w: it does not tell what was removed", path, firn.ErrCorrupt)
	}
	for _, name := range m.Files {
		if filepath.Base(name) != name {
			return m, fmt.Errorf("%s: %w: %q is not a file name", path, firn.ErrCorrupt, name)
		}
	}
	return m, nil
}

// discard removes a file and makes that durable. It tells how large it was;
// a file that is not there is fine.
func (st *Store) discard(path string) (int64, error) {
	info, err := st.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := st.fs.Remove(path); err != nil {
		return 0, err
	}
	return info.Size, st.fs.SyncDir(filepath.Dir(path))
}

// discardDir removes a directory of files.
func (st *Store) discardDir(dir string) (int64, error) {
	entries, err := st.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, e := range entries {
		n, err := st.discard(filepath.Join(dir, e.Name()))
		total += n
		if err != nil {
			return total, err
		}
	}
	if err := st.fs.Remove(dir); err != nil {
		return total, err
	}
	return total, st.fs.SyncDir(filepath.Dir(dir))
}

func (st *Store) writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(st.fs, path, append(b, '\n'))
}

func (st *Store) readJSON(path string, v any) error {
	file, err := st.fs.Open(path, vfs.Read)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	b, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w: %w", path, firn.ErrCorrupt, err)
	}
	return nil
}
