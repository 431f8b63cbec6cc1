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

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
)

// manifest lists the files in a trash bin directory and their origin. It is written before the
// first file is moved, so that an interrupted move can be completed or undone.
type manifest struct {
	Session firn.ID   `json:"session"`
	Agent   string    `json:"agent"`
	Reason  string    `json:"reason,omitempty"`
	Removed time.Time `json:"removed"`
	Files   []string  `json:"files"` // the first part comes first
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

// Unarchive removes the archive mark.
func (st *Store) Unarchive(ctx context.Context, id firn.ID) error {
	return st.change(ctx, "unarchive", id, func() error {
		if _, _, err := st.locate(id); err != nil {
			return err
		}
		_, err := st.removeFile(st.archiveMark(id))
		return err
	})
}

// change runs do, which archives, moves or erases a session, under the move lock.
func (st *mover) change(ctx context.Context, what string, id firn.ID, do func() error) error {
	if err := st.startWrite(ctx); err != nil {
		return err
	}
	defer st.finishCall()
	if err := id.Check(); err != nil {
		return err
	}
	if err := st.withMoveLock(ctx, do); err != nil {
		return fmt.Errorf("%s session: %w", what, err)
	}
	return nil
}

// Remove moves a session to the trash bin.
func (st *Store) Remove(ctx context.Context, id firn.ID, reason string) error {
	return st.change(ctx, "remove", id, func() error {
		if err := st.closeForMove(id); err != nil {
			return err
		}
		if err := st.committer.Checkpoint(); err != nil {
			return err
		}
		m, err := st.moveFirstPart(id, reason)
		if err != nil {
			return err
		}
		st.dropSession(id) // in case it was opened meanwhile
		return st.move(st.sessionsDir(m.Agent), st.binDir(id), m.Files)
	})
}

// moveFirstPart starts a removal. The first part is moved first, durably: this removes the
// session from the list. If other parts were moved first, a power failure could leave a
// session with missing parts.
//
// It holds the lock of the transcript. Other processes may have acknowledged appends that
// are only in their commit logs, which are not replayed into the trash bin, so all files are
// synced here.
func (st *mover) moveFirstPart(id firn.ID, reason string) (m manifest, err error) {
	agent, path, err := st.locate(id)
	if errors.Is(err, firn.ErrNotFound) { // perhaps a removal was interrupted
		m, manifestErr := st.manifest(id)
		if errors.Is(manifestErr, fs.ErrNotExist) {
			return m, err
		}
		return m, manifestErr
	}
	if err != nil {
		return m, err
	}
	lock, err := st.lockFile(path, vfs.Read)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if m, err = st.writeManifest(id, agent, path, reason); err != nil {
		return m, err
	}
	return m, st.move(filepath.Dir(path), st.binDir(id), m.Files[:1])
}

// writeManifest records the files to be moved and the reason, after syncing them and
// checking that their destinations are free.
func (st *mover) writeManifest(id firn.ID, agent, path, reason string) (manifest, error) {
	files, err := st.filesOf(path)
	if err != nil {
		return manifest{}, err
	}
	if err := st.checkDestinations(filepath.Dir(path), st.binDir(id), files); err != nil {
		return manifest{}, err
	}
	if err := st.syncFiles(filepath.Dir(path), files); err != nil {
		return manifest{}, err
	}
	m := manifest{Session: id, Agent: agent, Reason: reason, Removed: st.opts.Now().UTC(), Files: files}
	if err := st.fs.MkdirAll(st.binDir(id)); err != nil {
		return manifest{}, err
	}
	return m, st.writeJSON(filepath.Join(st.binDir(id), manifestName), m)
}

// syncFiles syncs files to disk.
func (st *mover) syncFiles(dir string, names []string) error {
	for _, name := range names {
		file, err := st.fs.Open(filepath.Join(dir, name), vfs.Change)
		if err != nil {
			return err
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// filesOf returns the files of a transcript: its parts and its side files, the first part
// first.
func (st *mover) filesOf(path string) ([]string, error) {
	entries, err := st.fs.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	base := filepath.Base(path)
	names := []string{base}
	for _, e := range entries {
		if name := e.Name(); name != base && belongsTo(name, base) {
			names = append(names, name)
		}
	}
	return names, nil
}

// sideFile matches files that a journal saves next to a part.
var sideFile = pattern.New(`^(.+)\.(torn|rescued)-[0-9]+(-[0-9]+)?$`)

// belongsTo reports whether a file is a part or side file of the transcript whose first
// part is base. Names of other sessions can be similar.
func belongsTo(name, base string) bool {
	if side := sideFile().FindStringSubmatch(name); side != nil {
		name = side[1]
	}
	return filepath.Ext(name) == transcriptExt && journal.BasePath(name) == base
}

// Restore moves a session out of the trash bin.
func (st *Store) Restore(ctx context.Context, id firn.ID) error {
	return st.change(ctx, "restore", id, func() error {
		m, err := st.manifest(id)
		if errors.Is(err, fs.ErrNotExist) {
			_, _, err := st.locate(id) // nothing to do if it exists
			return err
		}
		if err != nil {
			return err
		}
		dir := st.sessionsDir(m.Agent)
		if err := st.checkDestinations(st.binDir(id), dir, m.Files); err != nil {
			return err
		}
		if err := st.fs.MkdirAll(dir); err != nil {
			return err
		}
		// The first part is moved last, after the others are durable: this completes the
		// session.
		if err := st.move(st.binDir(id), dir, m.Files[1:]); err != nil {
			return err
		}
		if err := st.move(st.binDir(id), dir, m.Files[:1]); err != nil {
			return err
		}
		return st.clearBin(st.binDir(id))
	})
}

// clearBin removes the trash bin directory of a restored session. Files not listed in the
// manifest are kept, since they may be the only copy of their data.
func (st *mover) clearBin(dir string) error {
	entries, err := st.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	var unknown []string
	for _, e := range entries {
		if name := e.Name(); name != manifestName && !strings.HasPrefix(name, "."+manifestName+".tmp-") {
			unknown = append(unknown, name)
			continue
		}
		if _, err := st.removeFile(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if len(unknown) > 0 {
		st.reportLater("%s: a session was restored from here, and files are left that its manifest does not name: %s", dir, strings.Join(unknown, ", "))
		return nil
	}
	return st.removeEmptyDir(dir)
}

// manifest reads the manifest of a session in the trash bin.
func (st *mover) manifest(id firn.ID) (manifest, error) {
	var m manifest
	path := filepath.Join(st.binDir(id), manifestName)
	if err := st.readJSON(path, &m); err != nil {
		return m, err
	}
	if m.Session != id || checkAgent(m.Agent) != nil || len(m.Files) == 0 {
		return m, fmt.Errorf("%s: %w: it does not list what was removed", path, firn.ErrCorrupt)
	}
	for _, name := range m.Files {
		if filepath.Base(name) != name {
			return m, fmt.Errorf("%s: %w: %q is not a file name", path, firn.ErrCorrupt, name)
		}
	}
	return m, nil
}

// removeFile removes a file durably and returns its size. A missing file is not an error.
func (st *homeDir) removeFile(path string) (int64, error) {
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
	return info.Size, vfs.SyncNames(st.fs, filepath.Dir(path))
}

// removeDir removes a directory and the files in it.
func (st *homeDir) removeDir(dir string) (int64, error) {
	entries, err := st.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, e := range entries {
		n, err := st.removeFile(filepath.Join(dir, e.Name()))
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, st.removeEmptyDir(dir)
}

func (st *homeDir) removeEmptyDir(dir string) error {
	if err := st.fs.Remove(dir); err != nil {
		return err
	}
	return vfs.SyncNames(st.fs, filepath.Dir(dir))
}

func (st *homeDir) writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(st.fs, path, append(b, '\n'))
}

func (st *homeDir) readJSON(path string, v any) error {
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
