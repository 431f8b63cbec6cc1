package unionstore

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/store"
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

// Place returns the part and the byte in it that a position of a session stands
// for, if its store has such places.
func (u *Store) Place(ctx context.Context, id firn.ID, pos store.Pos) (part int, offset int64) {
	if placer, ok := store.As[store.Placer](u.in(ctx, id)); ok {
		return placer.Place(ctx, id, pos)
	}
	return 0, 0
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

// Bin lists the bin of our own store: sources are only read and have none.
func (u *Store) Bin(ctx context.Context) ([]store.Binned, error) {
	binner, ok := store.As[store.Binner](u.own)
	if !ok {
		return nil, fmt.Errorf("list the bin: the store cannot: %w", firn.ErrUnsupported)
	}
	return binner.Bin(ctx)
}

// Purge erases a session, or some of its entries, for good, and also what
// sources have of it. One of a source is taken over first, so that what is not
// to be erased stays, and so that its id does. That copy is not counted, nor named
// in the receipt: it was not there before.
func (u *Store) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (store.Receipt, error) {
	unlock, err := u.locks.lock(ctx, id)
	if err != nil {
		return store.Receipt{}, err
	}
	defer unlock()
	source, foreign := u.SourceOf(ctx, id)
	if foreign {
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
	if foreign {
		receipt.Files, receipt.Bytes = []string{}, 0
	}
	if err != nil || u.opts.Erase == nil {
		return receipt, err
	}
	files, bytes, err := u.copies(ctx, id, u.opts.Erase)
	receipt.Files, receipt.Bytes = append(receipt.Files, files...), receipt.Bytes+bytes
	if err != nil {
		err = fmt.Errorf("purge session %s: it is still in a mirror; purge it again: %w", id, err)
	}
	return receipt, err
}

// copies does something with what each source has of a session, and tells the files
// and how many bytes they are.
func (u *Store) copies(ctx context.Context, id firn.ID, do Eraser) (files []string, bytes int64, err error) {
	for _, s := range u.opts.Sources(true) {
		if _, err := s.Stand(ctx, id); err != nil {
			continue
		}
		names, n, err := do(ctx, id, s)
		files, bytes = append(files, names...), bytes+n
		if err != nil {
			return files, bytes, err
		}
	}
	return files, bytes, nil
}

// Weigh tells which files Purge would take, as its receipt names them, and how many
// bytes they are; it changes nothing. If not the whole session is meant but entries
// of it, they are those files alone that go wholly: the ones of sources.
func (u *Store) Weigh(ctx context.Context, id firn.ID, whole bool) (files []string, bytes int64, err error) {
	_, foreign := u.SourceOf(ctx, id)
	if foreign && u.opts.Erase == nil {
		return nil, 0, u.mine(ctx, id, "purge")
	}
	if !foreign {
		if files, bytes, err = u.weighOwn(ctx, id, whole); err != nil {
			return nil, 0, err
		}
	}
	if u.opts.Weigh == nil {
		return files, bytes, nil
	}
	names, n, err := u.copies(ctx, id, u.opts.Weigh)
	if err != nil {
		return nil, 0, fmt.Errorf("look what a mirror has of session %s: %w", id, err)
	}
	return append(files, names...), bytes + n, nil
}

// weighOwn tells what our own store has of a session; where that does not know, how
// long it is.
func (u *Store) weighOwn(ctx context.Context, id firn.ID, whole bool) ([]string, int64, error) {
	if own, ok := store.As[store.Weigher](u.own); ok {
		return own.Weigh(ctx, id, whole)
	}
	if !whole {
		return nil, 0, nil
	}
	info, err := u.own.Inspect(ctx, id)
	return nil, info.Bytes, err
}
