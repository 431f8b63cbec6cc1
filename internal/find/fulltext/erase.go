package fulltext

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// A session is marked before a purge. The mark is removed when the index no longer contains
// the purged text. If a process crashes in between, the next process that uses the index
// erases the text.

// mark records that a session is about to be purged. It does nothing if there is no index.
func (x *Index) mark(id firn.ID) error {
	if !x.Exists() {
		return nil
	}
	dir := filepath.Join(x.dir, marksName)
	if err := x.fs.MkdirAll(dir); err != nil {
		return fmt.Errorf("mark session %s as purged: %w", id, err)
	}
	file, err := x.fs.Open(filepath.Join(dir, string(id)), vfs.Update)
	if err != nil {
		return fmt.Errorf("mark session %s as purged: %w", id, err)
	}
	return errors.Join(file.Sync(), file.Close(), x.fs.SyncDir(dir))
}

// marks returns the marked sessions.
func (x *Index) marks() ([]firn.ID, error) {
	found, err := x.fs.ReadDir(filepath.Join(x.dir, marksName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find purged sessions: %w", err)
	}
	var ids []firn.ID
	for _, entry := range found {
		ids = append(ids, firn.ID(entry.Name()))
	}
	return ids, nil
}

// erase removes all rows of the given sessions, down to the bytes in the files, and indexes
// the sessions again.
func (x *Index) erase(ctx context.Context, db *database, ids []firn.ID) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	db.signs.forget()
	for _, id := range ids {
		w := &writer{db: db}
		if err := errors.Join(w.add(ctx, change{session: sessionKey(id), wipe: true}), w.flush(ctx)); err != nil {
			return err
		}
	}
	if err := x.refresh(ctx, db, ids); err != nil {
		return err
	}
	db.signs.forget()
	if err := db.forget(ctx); err != nil {
		return err
	}
	if err := db.scrub(ctx); err != nil {
		return err
	}
	if x.building() {
		return nil // A new index that is being built may contain the text; its builder erases it again.
	}
	for _, id := range ids {
		if err := x.fs.Remove(filepath.Join(x.dir, marksName, string(id))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the purge mark of session %s: %w", id, err)
		}
	}
	return nil
}

// Erase removes the purged text of a session and indexes the rest of the session again.
// When it returns, no byte of the purged text is left in the index.
func (x *Index) Erase(ctx context.Context, id firn.ID) error {
	if !x.Exists() {
		return nil
	}
	number := x.request(func(d *due) { d.erased[id] = true }, true)
	_, err := x.await(ctx, number, 0)
	return err
}
