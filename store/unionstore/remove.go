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

// Remove moves a session to the bin. What a source has of it does not show in
// its place: the id stays taken.
func (u *Store) Remove(ctx context.Context, id firn.ID, reason string) error {
	if err := u.mine(ctx, id, "remove"); err != nil {
		return err
	}
	defer u.forget(id)
	return u.own.Remove(ctx, id, reason)
}

// Restore takes a session out of the bin.
func (u *Store) Restore(ctx context.Context, id firn.ID) error {
	if _, foreign := u.SourceOf(ctx, id); foreign {
		return nil // it is not in the bin
	}
	return u.own.Restore(ctx, id)
}

// Purge erases a session, or some of its entries, for good, and also what
// sources have of it. One of a source is taken over first, so that what is not
// to be erased stays, and so that its id does.
func (u *Store) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (store.Receipt, error) {
	unlock, err := u.locks.lock(ctx, id)
	if err != nil {
		return store.Receipt{}, err
	}
	defer unlock()
	if source, foreign := u.SourceOf(ctx, id); foreign {
		if u.opts.Erase == nil {
			return store.Receipt{}, u.mine(ctx, id, "purge")
		}
		info, err := source.Inspect(ctx, id)
		if err == nil {
			err = u.takeOver(ctx, id, source, info.End)
		}
		if err != nil {
			return store.Receipt{}, err
		}
	}
	receipt, err := u.own.Purge(ctx, id, reason, entries...)
	u.forget(id)
	if err != nil || u.opts.Erase == nil {
		return receipt, err
	}
	for _, s := range u.opts.Sources(true) {
		if _, err := s.Stand(ctx, id); err != nil {
			continue
		}
		files, bytes, err := u.opts.Erase(ctx, id, s)
		receipt.Files, receipt.Bytes = append(receipt.Files, files...), receipt.Bytes+bytes
		if err != nil {
			return receipt, fmt.Errorf("purge session %s: it is still in a mirror; purge it again: %w", id, err)
		}
	}
	return receipt, nil
}
