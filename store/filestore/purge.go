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
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// Purge permanently erases a session or some of its entries. An erased entry leaves a gap
// of the same length, so positions do not change; its ID and parent are kept, so the tree
// stays intact. The receipt is written before the first byte is erased and completed after
// the last: an interrupted purge is completed by repeating the call.
//
// Purge does not reach commit logs of other processes and copies made by users.
func (st *Store) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (receipt store.Receipt, err error) {
	err = st.change(ctx, "purge", id, func() error {
		if len(entries) > 0 {
			receipt, err = st.purgeEntries(ctx, id, reason, entries)
		} else {
			receipt, err = st.purgeSession(id, reason)
		}
		return errors.Join(err, st.rows.Forget(id)) // the cached row may contain erased text
	})
	return receipt, err
}

// purgeSession erases all files of a session. Repeated calls erase files created since,
// such as those saved by another process that had the session open.
func (st *eraser) purgeSession(id firn.ID, reason string) (store.Receipt, error) {
	var receipt store.Receipt
	if err := st.readJSON(st.receiptPath(id), &receipt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return receipt, err
	}
	places, err := st.fileSetsOf(id)
	if err != nil || len(places) == 0 && !receipt.Done.IsZero() {
		return receipt, err
	}
	if receipt.Begun.IsZero() {
		if err := st.checkExists(id); err != nil {
			return receipt, err
		}
		receipt = store.Receipt{Session: id, Reason: reason, Begun: st.opts.Now().UTC()}
	}
	if err := errors.Join(st.open.closeForMove(id), st.committer.Checkpoint()); err != nil {
		return receipt, err
	}
	receipt.Done = time.Time{}
	if err := st.saveReceipt(st.receiptPath(id), erasure{Receipt: receipt}); err != nil {
		return receipt, err
	}
	for _, p := range places {
		if err := st.eraseFileSet(p, &receipt); err != nil {
			return receipt, err
		}
	}
	n, err := st.removeDir(st.binDir(id))
	receipt.Bytes += n
	if err != nil {
		return receipt, err
	}
	st.open.dropSession(id) // in case it was opened meanwhile
	if err := st.deleteReferences(id); err != nil {
		return receipt, err
	}
	receipt.Done = st.opts.Now().UTC()
	return receipt, st.saveReceipt(st.receiptPath(id), erasure{Receipt: receipt})
}

// checkExists returns ErrNotFound if a session is neither in its directory nor in the trash bin.
func (st *eraser) checkExists(id firn.ID) error {
	_, _, err := st.locate(id)
	if errors.Is(err, firn.ErrNotFound) {
		if binned, binErr := st.exists(st.binDir(id)); binned || binErr != nil {
			return binErr
		}
	}
	return err
}

// fileSet is the files of a session in one directory. If it includes the first part, that
// is the last element.
type fileSet struct {
	dir   string
	files []string
	first bool
}

// fileSetsOf returns all files of a session, including those left in other directories by
// an interrupted move or purge.
func (st *eraser) fileSetsOf(id firn.ID) ([]fileSet, error) {
	agents, err := st.agents()
	if err != nil {
		return nil, err
	}
	dirs := []string{st.binDir(id)}
	for _, agent := range agents {
		dirs = append(dirs, st.sessionsDir(agent))
	}
	var places []fileSet
	for _, dir := range dirs {
		entries, err := st.fs.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p := fileSet{dir: dir}
		base := string(id) + transcriptExt
		for _, e := range entries {
			if name := e.Name(); name == base {
				p.first = true
			} else if belongsTo(name, base) {
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

// eraseFileSet erases files of a session. It holds the lock of the first part, so that no
// other process rescues lines from partially erased files.
func (st *eraser) eraseFileSet(p fileSet, receipt *store.Receipt) (err error) {
	if p.first {
		lock, err := st.mover.lockFile(filepath.Join(p.dir, p.files[len(p.files)-1]), vfs.Read)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	return st.eraseFiles(p.dir, p.files, receipt)
}

// findFiles returns the directory and files of a session, also of one in the trash bin.
func (st *eraser) findFiles(id firn.ID) (dir string, files []string, err error) {
	_, path, err := st.locate(id)
	if err == nil {
		files, err = st.mover.filesOf(path)
		return filepath.Dir(path), files, err
	}
	m, manifestErr := st.mover.manifest(id)
	if errors.Is(manifestErr, fs.ErrNotExist) {
		return "", nil, err
	}
	if manifestErr != nil {
		return "", nil, manifestErr
	}
	return st.binDir(id), m.Files, st.finishRemoval(m)
}

// finishRemoval moves files that an interrupted Remove or Restore left outside the trash bin.
func (st *eraser) finishRemoval(m manifest) error {
	dir := st.sessionsDir(m.Agent)
	for _, name := range m.Files {
		left, err := st.exists(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if left {
			return st.mover.move(dir, st.binDir(m.Session), m.Files)
		}
	}
	return nil
}

// eraseFiles erases files and adds them to the receipt.
func (st *eraser) eraseFiles(dir string, names []string, receipt *store.Receipt) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		n, err := st.eraseFile(path)
		if err != nil {
			return err
		}
		st.addToReceipt(receipt, path, n)
	}
	if len(names) == 0 {
		return nil
	}
	return st.fs.SyncDir(dir)
}

// eraseFile truncates a file before removing it: otherwise another process that has it open
// would rescue its content. A missing file is not an error.
func (st *eraser) eraseFile(path string) (int64, error) {
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

// addToReceipt adds the erased bytes of a file to a receipt.
func (st *eraser) addToReceipt(receipt *store.Receipt, path string, bytes int64) {
	receipt.Bytes += bytes
	if name := st.relative(path); !slices.Contains(receipt.Files, name) {
		receipt.Files = append(receipt.Files, name)
	}
}

func (st *eraser) relative(path string) string {
	rel, err := filepath.Rel(st.home, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// deleteReferences removes the archive mark of a session and the keys that point to it.
func (st *eraser) deleteReferences(id firn.ID) error {
	if _, err := st.removeFile(st.archiveMark(id)); err != nil {
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
		t, err := st.keys.table("agent:" + agent + ":")
		if err != nil {
			return err
		}
		if err := t.unbindSession(id); err != nil {
			return err
		}
		if err := t.eraseCopies(id, st.eraseFile); err != nil {
			return err
		}
	}
	return nil
}

func (st *eraser) purgeEntries(ctx context.Context, id firn.ID, reason string, entries []firn.EntryID) (store.Receipt, error) {
	receipt := store.Receipt{Session: id, Entries: slices.Clone(entries), Reason: reason, Begun: st.opts.Now().UTC()}
	dir, files, err := st.findFiles(id)
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
	st.open.dropSession(id) // an open journal caches its latest bytes
	if err := st.committer.Checkpoint(); err != nil {
		return receipt, err
	}
	e := erasure{Receipt: receipt, Spans: encodeSpans(spans)}
	path := filepath.Join(st.receiptsDir(), fmt.Sprintf("%s-%s.json", id, firn.NewEntryID()))
	if err := st.saveReceipt(path, e); err != nil {
		return receipt, err
	}
	if err := st.eraseSideFiles(ctx, dir, files, &e.Receipt); err != nil {
		return e.Receipt, err
	}
	return st.erase(path, base, e)
}

// spansOf returns the byte ranges of entries in a transcript with their replacements. If
// several entries have the same ID, all are included. It returns ErrNotFound if an ID is
// neither in the transcript nor in its rescued files.
func (st *eraser) spansOf(ctx context.Context, dir string, files []string, entries []firn.EntryID) ([]journal.Span, error) {
	wanted := entrySearch{entries: entries, found: make(map[firn.EntryID]bool)}
	var spans []journal.Span
	source := st.unlimited(filepath.Join(dir, files[0]))
	var failed error
	st.yield(ctx, source.Lines(0), func(r store.Record, err error) bool {
		if failed = err; err != nil {
			return false
		}
		if wanted.match(r) && r.Glance.Kind != firn.KindErased {
			spans = append(spans, journal.Span{At: start(r), Data: erasedEntry(r)})
		}
		return true
	})
	for _, name := range files {
		if failed == nil && isRescued(name) {
			_, failed = st.sideFileSpans(ctx, filepath.Join(dir, name), wanted)
		}
	}
	if failed != nil {
		return nil, failed
	}
	return spans, wanted.check()
}

// start returns the position of the first byte of a record. The first record of a part has
// the end of the preceding part as its position.
func start(r firn.Record) firn.Pos {
	if part, _ := journal.Split(r.Next); r.At < journal.Place(part, 0) {
		return journal.Place(part, 0)
	}
	return r.At
}

// erasedEntry returns the replacement of an erased entry: its ID, parent and time, and its
// hash for the hash chain, padded with spaces. If the line is too short, the time, the hash
// or everything is replaced by spaces.
func erasedEntry(r firn.Record) []byte {
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
	line := r.Line()
	n := len(line)
	for _, b := range [][]byte{hashchain.AppendSum(bytes.Clone(withTime), line), hashchain.AppendSum(bytes.Clone(b), line), withTime, b} {
		if len(b)+1 <= n {
			return append(append(b, '}'), bytes.Repeat([]byte{' '}, n-len(b)-1)...)
		}
	}
	return bytes.Repeat([]byte{' '}, n)
}
