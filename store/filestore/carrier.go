package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/store"
)

var _ store.Loader = (*Store)(nil)

// Holdings returns all sessions; see [store.Loader].
func (st *Store) Holdings(ctx context.Context) ([]store.Holding, error) {
	statuses, err := st.Census(ctx)
	if err != nil {
		return nil, err
	}
	away, err := st.ReservedIDs(ctx)
	if err != nil {
		return nil, err
	}
	var all []store.Holding
	for _, s := range statuses {
		if !away[s.ID] { // else a move was interrupted; it is included below
			all = append(all, store.Holding{ID: s.ID, Bytes: s.Bytes, Modified: s.Modified, Archived: s.Archived})
		}
	}
	for id := range away {
		h, err := st.awayHolding(id)
		if err != nil {
			return nil, fmt.Errorf("check session %s: %w", id, err)
		}
		if h.Receipt == nil || h.Receipt.Session == id { // else only entries were purged, and the session exists
			all = append(all, h)
		}
	}
	return all, nil
}

// awayHolding describes a session that was removed or purged.
func (st *loader) awayHolding(id firn.ID) (store.Holding, error) {
	h := store.Holding{ID: id}
	var receipt store.Receipt
	switch err := st.readJSON(st.receiptPath(id), &receipt); {
	case err == nil:
		h.Receipt = &receipt
		return h, nil
	case !errors.Is(err, fs.ErrNotExist):
		return h, err
	}
	m, err := st.mover.manifest(id)
	if err != nil {
		return h, err
	}
	h.Removed, h.Reason = true, m.Reason
	parts, err := journal.Parts(st.fs, filepath.Join(st.binDir(id), m.Files[0]))
	for _, p := range parts {
		h.Bytes += p.Size
		if p.ModTime.After(h.Modified) {
			h.Modified = p.ModTime
		}
	}
	if err == nil {
		h.Archived, err = st.exists(st.archiveMark(id))
	}
	return h, err
}

// Lines yields the stored lines of a session; see [store.Loader]. If any line is longer
// than MaxLine, it yields only ErrTooLarge: such a line is never loaded into memory.
func (st *Store) Lines(ctx context.Context, id firn.ID) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := st.startCall(ctx); err != nil {
			yield(nil, err)
			return
		}
		defer st.finishCall()
		path, err := st.findTranscript(id)
		if err != nil {
			yield(nil, err)
			return
		}
		source := st.limited(path)
		if long, ok, err := source.FirstTooLong(); err != nil || ok {
			yield(nil, cmp.Or(err, st.tooLong(long)))
			return
		}
		for line, err := range source.Lines(store.Start) {
			if err == nil && line.Gap != "" { // it was written meanwhile
				err = st.tooLong(line)
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if line.Unfinished && journal.CompleteEnd(line.Data) < len(line.Data) {
				st.reportLater("%s: the incomplete line at %d is not copied", path, line.At)
				continue
			}
			if !yield(line.Data, nil) {
				return
			}
		}
	}
}

// tooLong returns the error for a line that is too long to be copied.
func (st *loader) tooLong(line journal.Line) error {
	part, offset := journal.Split(line.Start)
	_, end := journal.Split(line.Next)
	return fmt.Errorf("%w: the line at byte %d of part %d has %d bytes, and %d are allowed; raise store.max_line to copy the session", firn.ErrTooLarge, offset, part+1, end-offset, st.opts.MaxLine)
}

// findTranscript returns the first file of a session, also of one in the trash bin.
func (st *loader) findTranscript(id firn.ID) (string, error) {
	_, path, err := st.locate(id)
	if !errors.Is(err, firn.ErrNotFound) {
		return path, err
	}
	m, binErr := st.mover.manifest(id)
	if errors.Is(binErr, fs.ErrNotExist) {
		return "", err
	}
	if binErr != nil {
		return "", binErr
	}
	return filepath.Join(st.binDir(id), m.Files[0]), nil
}

// Bindings returns the sessions of all keys; see [store.Loader].
func (st *Store) Bindings(ctx context.Context) (map[string]firn.ID, error) {
	if err := st.startCall(ctx); err != nil {
		return nil, err
	}
	defer st.finishCall()
	agents, err := st.agents()
	if err != nil {
		return nil, err
	}
	all := make(map[string]firn.ID)
	for _, agent := range agents {
		t, err := st.table("agent:" + agent + ":x")
		if errors.Is(err, firn.ErrInvalid) {
			continue // not a valid agent name, so the directory is not ours
		}
		if err != nil {
			return nil, err
		}
		rows, err := t.keys()
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if store.CheckKey(r.key) == nil && !strings.HasPrefix(string(r.row.id()), ".") {
				all[r.key] = r.row.id()
			}
		}
	}
	return all, nil
}

// Load copies a session from another store; see [store.Loader].
func (st *Store) Load(ctx context.Context, h store.Holding, lines iter.Seq2[[]byte, error]) (store.Loaded, error) {
	if err := st.startWrite(ctx); err != nil {
		return store.Loaded{}, err
	}
	defer st.finishCall()
	if err := h.ID.Check(); err != nil {
		return store.Loaded{}, err
	}
	done, err := st.load(ctx, h, lines)
	if err != nil {
		return done, fmt.Errorf("load session %s: %w", h.ID, err)
	}
	return done, nil
}

func (st *loader) load(ctx context.Context, h store.Holding, lines iter.Seq2[[]byte, error]) (done store.Loaded, err error) {
	purged, err := st.exists(st.receiptPath(h.ID))
	switch {
	case err != nil:
		return done, err
	case h.Receipt != nil:
		return done, st.loadReceipt(*h.Receipt, purged)
	case purged:
		return done, fmt.Errorf("%w: it was purged here", firn.ErrConflict)
	}
	binned, err := st.exists(st.binDir(h.ID))
	if err != nil {
		return done, err
	}
	archived, err := st.exists(st.archiveMark(h.ID))
	if err != nil {
		return done, err
	}
	if err := st.loadLines(ctx, h.ID, binned, lines, &done); err != nil || archived || binned {
		return done, err
	}
	if h.Archived {
		if err := st.store.Archive(ctx, h.ID); err != nil {
			return done, err
		}
	}
	if h.Removed {
		return done, st.store.Remove(ctx, h.ID, h.Reason)
	}
	return done, nil
}

// loadReceipt stores the receipt of a session that was purged in another store.
func (st *loader) loadReceipt(r store.Receipt, purged bool) error {
	if purged {
		return nil
	}
	if _, err := st.findTranscript(r.Session); err == nil {
		return fmt.Errorf("%w: it was purged there but exists here", firn.ErrConflict)
	} else if !errors.Is(err, firn.ErrNotFound) {
		return err
	}
	return st.eraser.saveReceipt(st.receiptPath(r.Session), erasure{Receipt: r})
}

// loadLines adds the missing lines of a session to its files, or creates it.
func (st *loader) loadLines(ctx context.Context, id firn.ID, binned bool, lines iter.Seq2[[]byte, error], done *store.Loaded) error {
	path, err := st.findTranscript(id)
	if errors.Is(err, firn.ErrNotFound) {
		return st.loadNew(ctx, id, lines, &done.Added)
	}
	if err != nil {
		return err
	}
	have := func(yield func([]byte, error) bool) {
		for line, err := range st.limited(path).Lines(store.Start) {
			if err == nil && line.Gap != "" {
				err = fmt.Errorf("%w: line %d is longer here than store.max_line allows", firn.ErrConflict, done.Had+1)
			}
			if err == nil && line.Unfinished && journal.CompleteEnd(line.Data) < len(line.Data) {
				continue // the next append truncates it
			}
			if !yield(line.Data, err) {
				return
			}
		}
	}
	return st.loadMore(ctx, id, binned, store.NewLines(have, lines, &done.Had), &done.Added)
}

// loadBytes is the approximate size of a write.
const loadBytes = 1 << 20

// loadMore appends lines to a session. If it is interrupted, the appended lines are
// complete, and a later Load continues after them.
func (st *loader) loadMore(ctx context.Context, id firn.ID, binned bool, lines iter.Seq2[[]byte, error], added *int) error {
	var batch []byte
	n := 0
	flush := func() error {
		if n == 0 {
			return nil
		}
		if err := st.appendLines(id, batch); err != nil {
			return err
		}
		*added, batch, n = *added+n, batch[:0], 0
		return nil
	}
	for line, err := range lines {
		if err == nil && binned {
			err = fmt.Errorf("%w: it is in the trash bin here and has more lines there", firn.ErrConflict)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := st.checkLine(line); err != nil {
			return err
		}
		batch, n = append(append(batch, line...), '\n'), n+1
		if len(batch) >= loadBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// checkLine rejects a line longer than MaxLine.
func (st *loader) checkLine(line []byte) error {
	if n := int64(len(line)); n > st.opts.MaxLine {
		return fmt.Errorf("%w: a line has %d bytes, and %d are allowed; raise store.max_line to copy the session", firn.ErrTooLarge, n, st.opts.MaxLine)
	}
	return nil
}

// appendLines appends complete lines to an existing session.
func (st *loader) appendLines(id firn.ID, data []byte) error {
	s, err := st.open.acquire(id, nil)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.fresh = false // forces a search for the head
	_, err = s.journal.Append(false, func(firn.Pos) ([]byte, error) { return data, nil })
	s.mu.Unlock()
	st.open.release(s, err)
	return err
}
