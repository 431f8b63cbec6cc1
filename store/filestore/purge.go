package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
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
		return errors.Join(err, st.rows.Forget(id)) // it may have what was erased
	})
	return receipt, err
}

// purgeSession erases all files of a session. Asked again it erases what has
// come since: what another process saved that had the session open.
func (st *Store) purgeSession(id firn.ID, reason string) (store.Receipt, error) {
	var receipt store.Receipt
	if err := st.readJSON(st.receiptPath(id), &receipt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return receipt, err
	}
	places, err := st.placesOf(id)
	if err != nil || len(places) == 0 && !receipt.Done.IsZero() {
		return receipt, err
	}
	if receipt.Begun.IsZero() {
		if err := st.checkThere(id); err != nil {
			return receipt, err
		}
		receipt = store.Receipt{Session: id, Reason: reason, Begun: st.opts.Now().UTC()}
	}
	if err := errors.Join(st.letGo(id), st.committer.Checkpoint()); err != nil {
		return receipt, err
	}
	receipt.Done = time.Time{}
	if err := st.saveReceipt(st.receiptPath(id), erasure{Receipt: receipt}); err != nil {
		return receipt, err
	}
	for _, p := range places {
		if err := st.erasePlace(p, &receipt); err != nil {
			return receipt, err
		}
	}
	n, err := st.discardDir(st.binDir(id))
	receipt.Bytes += n
	if err != nil {
		return receipt, err
	}
	st.renew(id) // if somebody has opened it meanwhile
	if err := st.forget(id); err != nil {
		return receipt, err
	}
	receipt.Done = st.opts.Now().UTC()
	return receipt, st.saveReceipt(st.receiptPath(id), erasure{Receipt: receipt})
}

// checkThere is ErrNotFound if a session is neither in its place nor in the bin.
func (st *Store) checkThere(id firn.ID) error {
	_, _, err := st.locate(id)
	if errors.Is(err, firn.ErrNotFound) {
		if binned, binErr := st.exists(st.binDir(id)); binned || binErr != nil {
			return binErr
		}
	}
	return err
}

// place is a directory and the files of a session in it. If the first part is
// there, it is the last.
type place struct {
	dir   string
	files []string
	first bool
}

// placesOf finds all files of a session, whatever an interrupted move or purge
// has left where.
func (st *Store) placesOf(id firn.ID) ([]place, error) {
	agents, err := st.agents()
	if err != nil {
		return nil, err
	}
	dirs := []string{st.binDir(id)}
	for _, agent := range agents {
		dirs = append(dirs, st.sessionsDir(agent))
	}
	var places []place
	for _, dir := range dirs {
		entries, err := st.fs.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p := place{dir: dir}
		base := string(id) + transcriptExt
		for _, e := range entries {
			if name := e.Name(); name == base {
				p.first = true
			} else if belongs(name, base) {
				p.files = append(p.files, name)
			}
		}
		if p.first {
			p.files = append(p.files, base)
		}
		if len(p.files) > 0 || dir == st.binDir(id) {
			places = append(places, p)
		}
	}
	return places, nil
}

// erasePlace erases the files of a session in one place, under the lock of the
// first part, so that nobody sees half of it and saves what he can.
func (st *Store) erasePlace(p place, receipt *store.Receipt) (err error) {
	if p.first {
		lock, err := st.lockFile(filepath.Join(p.dir, p.files[len(p.files)-1]), vfs.Read)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	return st.eraseFiles(p.dir, p.files, receipt)
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

// eraseFiles erases files and notes them in the receipt.
func (st *Store) eraseFiles(dir string, names []string, receipt *store.Receipt) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		n, err := st.eraseFile(path)
		if err != nil {
			return err
		}
		st.note(receipt, path, n)
	}
	if len(names) == 0 {
		return nil
	}
	return st.fs.SyncDir(dir)
}

// eraseFile empties a file before it removes it: another process that has it
// open would save what is in it. A file that is not there is fine.
func (st *Store) eraseFile(path string) (int64, error) {
	file, err := st.fs.Open(path, vfs.Change)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return 0, err
	}
	return info.Size, st.fs.Remove(path)
}

// note adds to a receipt what was erased in a file.
func (st *Store) note(receipt *store.Receipt, path string, bytes int64) {
	receipt.Bytes += bytes
	if name := st.relative(path); !slices.Contains(receipt.Files, name) {
		receipt.Files = append(receipt.Files, name)
	}
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
	base := filepath.Join(dir, files[0])
	if err := st.finishErasures(ctx, id, dir, files); err != nil {
		return receipt, err
	}
	spans, err := st.spansOf(ctx, dir, files, entries)
	if err != nil {
		return receipt, err
	}
	st.renew(id) // an open journal remembers its latest bytes
	if err := st.committer.Checkpoint(); err != nil {
		return receipt, err
	}
	e := erasure{Receipt: receipt, Spans: spellSpans(spans)}
	path := filepath.Join(st.receiptsDir(), fmt.Sprintf("%s-%s.json", id, firn.NewEntryID()))
	if err := st.saveReceipt(path, e); err != nil {
		return receipt, err
	}
	if err := st.eraseBeside(ctx, dir, files, &e.Receipt); err != nil {
		return e.Receipt, err
	}
	return st.erase(path, base, e)
}

// spansOf finds the bytes of entries in a transcript and what shall stand in
// their place. An id that several entries have means all of them. One that is
// neither there nor in what was rescued beside it is ErrNotFound.
func (st *Store) spansOf(ctx context.Context, dir string, files []string, entries []firn.EntryID) ([]journal.Span, error) {
	wanted := quarry{entries: entries, found: make(map[firn.EntryID]bool)}
	var spans []journal.Span
	source := st.unlimited(filepath.Join(dir, files[0]))
	var failed error
	st.yield(ctx, source.Lines(0), func(r store.Record, err error) bool {
		if failed = err; err != nil {
			return false
		}
		if wanted.has(r) && r.Glance.Kind != firn.KindErased {
			spans = append(spans, journal.Span{At: start(r), Data: remains(r)})
		}
		return true
	})
	for _, name := range files {
		if failed == nil && isRescued(name) {
			_, failed = st.spansBeside(ctx, filepath.Join(dir, name), wanted)
		}
	}
	if failed != nil {
		return nil, failed
	}
	return spans, wanted.check()
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
