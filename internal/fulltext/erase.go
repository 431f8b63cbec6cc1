package fulltext

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"firn"
	"firn/internal/vfs"
)

// A session that something is purged from is marked before, and the mark goes
// when the index does not tell any longer what it said. So whoever dies in
// between, the next one to use the index wipes it.

// mark notes that a session is about to be purged. Without an index there is
// nothing to note.
func (x *Index) mark(id firn.ID) error {
	if !x.Exists() {
		return nil
	}
	dir := filepath.Join(x.dir, marksName)
	if err := x.fs.MkdirAll(dir); err != nil {
		return fmt.Errorf("note that session %s is purged: %w", id, err)
	}
	file, err := x.fs.Open(filepath.Join(dir, string(id)), vfs.Update)
	if err != nil {
		return fmt.Errorf("note that session %s is purged: %w", id, err)
	}
	return errors.Join(file.Sync(), file.Close(), x.fs.SyncDir(dir))
}

// marks are the sessions that are marked.
func (x *Index) marks() ([]firn.ID, error) {
	found, err := x.fs.ReadDir(filepath.Join(x.dir, marksName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for what was purged: %w", err)
	}
	var ids []firn.ID
	for _, entry := range found {
		ids = append(ids, firn.ID(entry.Name()))
	}
	return ids, nil
}

// erase wipes out what sessions said, down to the bytes of the files, and reads
// them anew.
func (x *Index) erase(ctx context.Context, db *database, ids []firn.ID) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	for _, id := range ids {
		w := &writer{db: db}
		if err := errors.Join(w.add(ctx, change{session: sessionKey(id), wipe: true}), w.flush(ctx)); err != nil {
			return err
		}
	}
	if err := x.refresh(ctx, db, ids); err != nil {
		return err
	}
	if err := db.forget(ctx); err != nil {
		return err
	}
	if err := db.scrub(ctx); err != nil {
		return err
	}
	if x.building() {
		return nil // the new index may tell it: who builds it erases it again
	}
	for _, id := range ids {
		if err := x.fs.Remove(filepath.Join(x.dir, marksName, string(id))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget that session %s was purged: %w", id, err)
		}
	}
	return nil
}

// Erase wipes out what a session said before it was purged, and reads anew what
// is left of it. It returns when no byte of the index tells it any longer.
func (x *Index) Erase(ctx context.Context, id firn.ID) error {
	if !x.Exists() {
		return nil
	}
	number := x.request(func(d *due) { d.erased[id] = true }, true)
	_, err := x.await(ctx, number, 0)
	return err
}
