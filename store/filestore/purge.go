package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"firn"
	"firn/internal/journal"
	"firn/internal/rawjson"
	"firn/store"
)

// Purge erases a session, or some of its entries, for good. An erased entry
// leaves a gap of the same length, so that no position changes; its id and
// parent stay, so that the tree holds. The receipt is written before the first
// byte is erased and completed after the last: a purge that was interrupted is
// finished by calling it again.
//
// What other processes still hold in their commit logs, and copies that people
// made, are out of reach.
func (st *Store) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (receipt store.Receipt, err error) {
	err = st.change(ctx, "purge", id, func() error {
		if len(entries) > 0 {
			receipt, err = st.purgeEntries(ctx, id, reason, entries)
		} else {
			receipt, err = st.purgeSession(id, reason)
		}
		return err
	})
	return receipt, err
}

func (st *Store) purgeSession(id firn.ID, reason string) (store.Receipt, error) {
	var receipt store.Receipt
	err := st.readJSON(st.receiptPath(id), &receipt)
	if err == nil && !receipt.Done.IsZero() {
		return receipt, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return receipt, err
	}
	dir, files, err := st.whereIs(id)
	if err != nil && receipt.Begun.IsZero() {
		return receipt, err
	}
	if receipt.Begun.IsZero() {
		receipt = store.Receipt{Session: id, Reason: reason, Begun: st.opts.Now().UTC()}
	}
	if err := st.saveReceipt(st.receiptPath(id), erasure{Receipt: receipt}); err != nil {
		return receipt, err
	}
	if err := errors.Join(st.letGo(id), st.committer.Checkpoint()); err != nil {
		return receipt, err
	}
	slices.Reverse(files) // as long as the first part is there, the others are found
	if err := st.eraseFiles(dir, files, &receipt); err != nil {
		return receipt, err
	}
	n, err := st.discardDir(st.binDir(id))
	receipt.Bytes += n
	if err != nil {
		return receipt, err
	}
	if err := st.forget(id); err != nil {
		return receipt, err
	}
	receipt.Done = st.opts.Now().UTC()
	return receipt, st.saveReceipt(st.receiptPath(id), erasure{Receipt: receipt})
}

// whereIs finds the files of a session that is in its place or in the bin.
func (st *Store) whereIs(id firn.ID) (dir string, files []string, err error) {
	_, path, err := st.locate(id)
	if err == nil {
		files, err = st.filesOf(path)
		return filepath.Dir(path), files, err
	}
	m, manifestErr := st.manifest(id)
	if errors.Is(manifestErr, fs.ErrNotExist) {
		return "", nil, err
	}
	if manifestErr != nil {
		return "", nil, manifestErr
	}
	return st.binDir(id), m.Files, st.finishRemoval(m)
}

// finishRemoval moves what a removal, or a restoring, that was interrupted left
// outside of the bin.
func (st *Store) finishRemoval(m manifest) error {
	dir := st.sessionsDir(m.Agent)
	for _, name := range m.Files {
		left, err := st.exists(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if left {
			return st.move(dir, st.binDir(m.Session), m.Files)
		}
	}
	return nil
}

// eraseFiles removes files and notes them in the receipt.
func (st *Store) eraseFiles(dir string, names []string, receipt *store.Receipt) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		n, err := st.discard(path)
		if err != nil {
			return err
		}
		receipt.Bytes += n
		receipt.Files = append(receipt.Files, st.relative(path))
	}
	return nil
}

func (st *Store) relative(path string) string {
	rel, err := filepath.Rel(st.home, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// forget takes away what else tells of a session: its archive mark and the
// keys that point at it.
func (st *Store) forget(id firn.ID) error {
	if _, err := st.discard(st.archiveMark(id)); err != nil {
		return err
	}
	agents, err := st.agents()
	if err != nil {
		return err
	}
	for _, agent := range agents {
		if checkAgent(agent) != nil {
			continue
		}
		t, err := st.table("agent:" + agent + ":")
		if err != nil {
			return err
		}
		if err := t.unbindSession(id); err != nil {
			return err
		}
	}
	return nil
}

func (st *Store) purgeEntries(ctx context.Context, id firn.ID, reason string, entries []firn.EntryID) (store.Receipt, error) {
	receipt := store.Receipt{Session: id, Entries: slices.Clone(entries), Reason: reason, Begun: st.opts.Now().UTC()}
	dir, files, err := st.whereIs(id)
	if err != nil {
		return receipt, err
	}
	source := journal.Source{FS: st.fs, Path: filepath.Join(dir, files[0])}
	if err := st.finishErasures(id, source.Path); err != nil {
		return receipt, err
	}
	spans, err := st.spansOf(ctx, source, entries)
	if err != nil {
		return receipt, err
	}
	e := erasure{Receipt: receipt, Spans: spellSpans(spans)}
	path := filepath.Join(st.receiptsDir(), fmt.Sprintf("%s-%s.json", id, firn.NewEntryID()))
	if err := st.saveReceipt(path, e); err != nil {
		return receipt, err
	}
	st.renew(id) // an open journal remembers its latest bytes
	if err := st.committer.Checkpoint(); err != nil {
		return receipt, err
	}
	// What was saved beside the transcript are pieces of unknown entries.
	side := slices.DeleteFunc(files, func(name string) bool { return filepath.Ext(name) == transcriptExt })
	if err := st.eraseFiles(dir, side, &e.Receipt); err != nil {
		return e.Receipt, err
	}
	return st.erase(path, source.Path, e)
}

// spansOf finds the bytes of entries and what shall stand in their place. An
// id that several entries have means all of them.
func (st *Store) spansOf(ctx context.Context, source journal.Source, entries []firn.EntryID) ([]journal.Span, error) {
	missing := make(map[firn.EntryID]bool)
	for _, id := range entries {
		missing[id] = true
	}
	wanted := func(r firn.Record) bool {
		return r.Gap == nil && r.Glance.Kind != firn.KindHeader && slices.Contains(entries, r.Glance.ID)
	}
	var spans []journal.Span
	var failed error
	st.yield(ctx, source.Lines(0), false, func(r store.Record, err error) bool {
		if failed = err; err != nil {
			return false
		}
		if wanted(r) {
			delete(missing, r.Glance.ID)
			if r.Glance.Kind != firn.KindErased {
				spans = append(spans, journal.Span{At: start(r), Data: remains(r)})
			}
		}
		return true
	})
	if failed != nil {
		return nil, failed
	}
	for id := range missing {
		return nil, fmt.Errorf("entry %q: %w", id, firn.ErrNotFound)
	}
	return spans, nil
}

// start is where the first byte of a record is: the first of a part stands, as
// positions go, at the end of the part before.
func start(r firn.Record) firn.Pos {
	if part, _ := journal.Split(r.Next); r.At < journal.Place(part, 0) {
		return journal.Place(part, 0)
	}
	return r.At
}

// remains is what an erased entry leaves: its place in the tree, and spaces.
// Of a line too short even for that only spaces are left.
func remains(r firn.Record) []byte {
	b := append([]byte(nil), `{"type":"erased","id":`...)
	b = rawjson.AppendString(b, string(r.Glance.ID))
	switch {
	case r.Glance.NoParent:
	case r.Glance.Parent == "":
		b = append(b, `,"parentId":null`...)
	default:
		b = rawjson.AppendString(append(b, `,"parentId":`...), string(r.Glance.Parent))
	}
	withTime := b
	if entry, err := r.Entry(); err == nil && !entry.Time.IsZero() {
		withTime = append(bytes.Clone(b), `,"timestamp":"`+entry.Time.UTC().Format("2006-01-02T15:04:05.000Z")+`"`...)
	}
	n := len(r.Line())
	for _, b := range [][]byte{withTime, b} {
		if len(b)+1 <= n {
			return append(append(b, '}'), bytes.Repeat([]byte{' '}, n-len(b)-1)...)
		}
	}
	return bytes.Repeat([]byte{' '}, n)
}
