package unionstore

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/store"
)

// Files returns the files of a session.
func (u *Store) Files(ctx context.Context, id firn.ID) ([]string, error) {
	s := u.storeOf(ctx, id)
	if files, ok := store.As[interface {
		Files(context.Context, firn.ID) ([]string, error)
	}](s); ok {
		return files.Files(ctx, id)
	}
	return nil, nil
}

// Place returns the part and the byte offset of a position, if the session's store has such
// places.
func (u *Store) Place(ctx context.Context, id firn.ID, pos store.Pos) (part int, offset int64) {
	if placer, ok := store.As[store.Placer](u.storeOf(ctx, id)); ok {
		return placer.Place(ctx, id, pos)
	}
	return 0, 0
}

// checkOwn returns an error if a session is not in the own store.
func (u *Store) checkOwn(ctx context.Context, id firn.ID, doing string) error {
	if _, foreign := u.SourceOf(ctx, id); foreign {
		return fmt.Errorf("%s session %s: %w: it is in another tool's directory, which is read-only", doing, id, firn.ErrUnsupported)
	}
	return nil
}

// Archive marks a session as archived.
func (u *Store) Archive(ctx context.Context, id firn.ID) error {
	if err := u.checkOwn(ctx, id, "archive"); err != nil {
		return err
	}
	return u.own.Archive(ctx, id)
}

// Unarchive removes the mark.
func (u *Store) Unarchive(ctx context.Context, id firn.ID) error {
	if err := u.checkOwn(ctx, id, "unarchive"); err != nil {
		return err
	}
	return u.own.Unarchive(ctx, id)
}

// Remove moves a session to the trash bin. A source's copy does not appear in its place: the ID
// remains in use.
func (u *Store) Remove(ctx context.Context, id firn.ID, reason string) error {
	if err := u.checkOwn(ctx, id, "remove"); err != nil {
		return err
	}
	defer u.forget(id)
	return u.own.Remove(ctx, id, reason)
}

// Restore restores a session from the trash bin.
func (u *Store) Restore(ctx context.Context, id firn.ID) error {
	if _, foreign := u.SourceOf(ctx, id); foreign {
		return nil // it is not in the trash bin
	}
	return u.own.Restore(ctx, id)
}

// Bin lists the trash bin of the own store. Sources are read-only and have none.
func (u *Store) Bin(ctx context.Context) ([]store.Binned, error) {
	binner, ok := store.As[store.Binner](u.own)
	if !ok {
		return nil, fmt.Errorf("list the trash bin: not supported by the store: %w", firn.ErrUnsupported)
	}
	return binner.Bin(ctx)
}

// Purge permanently erases a session, or some of its entries, including the copies in
// sources. A session of a source is taken over first, so that its other entries and its ID
// are kept. That new copy is not counted or listed in the receipt.
func (u *Store) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (store.Receipt, error) {
	unlock, err := u.locks.lock(ctx, id)
	if err != nil {
		return store.Receipt{}, err
	}
	defer unlock()
	source, foreign := u.SourceOf(ctx, id)
	if foreign {
		if u.opts.Erase == nil {
			return store.Receipt{}, u.checkOwn(ctx, id, "purge")
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

// copies calls do for each source's copy of a session, and returns the files and their
// total size.
func (u *Store) copies(ctx context.Context, id firn.ID, do Eraser) (files []string, bytes int64, err error) {
	for _, s := range u.opts.Sources(true) {
		if _, err := s.Status(ctx, id); err != nil {
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

// Weigh returns the files that Purge would delete, as its receipt lists them, and their
// total size. It changes nothing. If whole is false, only entries are to be purged, and
// only files that would be deleted completely are included: those of sources.
func (u *Store) Weigh(ctx context.Context, id firn.ID, whole bool) (files []string, bytes int64, err error) {
	_, foreign := u.SourceOf(ctx, id)
	if foreign && u.opts.Erase == nil {
		return nil, 0, u.checkOwn(ctx, id, "purge")
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
		return nil, 0, fmt.Errorf("find copies of session %s in mirrors: %w", id, err)
	}
	return append(files, names...), bytes + n, nil
}

// weighOwn returns the files and the size of a session in the own store. If that store is
// not a [store.Weigher], it returns no files and the session's size.
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
