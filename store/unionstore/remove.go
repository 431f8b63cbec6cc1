package unionstore

import (
	"context"
	"fmt"

	"firn"
	"firn/store"
)

// Files names the files that a session is kept in.
func (u *Store) Files(ctx context.Context, id firn.ID) ([]string, error) {
	s := u.in(ctx, id)
	if files, ok := store.As[interface {
		Files(context.Context, firn.ID) ([]string, error)
	}](s); ok {
		return files.Files(ctx, id)
	}
	return nil, nil
}

// mine refuses to change a session that is not ours.
func (u *Store) mine(ctx context.Context, id firn.ID, doing string) error {
	if _, foreign := u.SourceOf(ctx, id); foreign {
		return fmt.Errorf("%s session %s: %w: it belongs to another tool's folder, which is only read", doing, id, firn.ErrUnsupported)
	}
	return nil
}

// Archive marks a session as archived.
func (u *Store) Archive(ctx context.Context, id firn.ID) error {
	if err := u.mine(ctx, id, "archive"); err != nil {
		return err
	}
	return u.own.Archive(ctx, id)
}

// Unarchive takes the mark away.
func (u *Store) Unarchive(ctx context.Context, id firn.ID) error {
	if err := u.mine(ctx, id, "unarchive"); err != nil {
		return err
	}
	return u.own.Unarchive(ctx, id)
}

// Remove moves a session to the bin. If a source has one of the same id, that
// one shows again.
func (u *Store) Remove(ctx context.Context, id firn.ID, reason string) error {
	if err := u.mine(ctx, id, "remove"); err != nil {
		return err
	}
	defer u.forget(id)
	return u.own.Remove(ctx, id, reason)
}

// Restore takes a session out of the bin.
func (u *Store) Restore(ctx context.Context, id firn.ID) error { return u.own.Restore(ctx, id) }

// Purge erases a session, or some of its entries, for good.
func (u *Store) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (store.Receipt, error) {
	if err := u.mine(ctx, id, "purge"); err != nil {
		return store.Receipt{}, err
	}
	defer u.forget(id)
	return u.own.Purge(ctx, id, reason, entries...)
}

func (u *Store) forget(id firn.ID) {
	u.mu.Lock()
	delete(u.ours, id)
	u.mu.Unlock()
}
