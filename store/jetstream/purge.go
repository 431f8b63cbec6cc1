package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/base/rawjson"
	"firn.dev/store"
)

// Purge permanently erases a session, or some of its entries; see [store.Remover]. The
// receipt lists streams and objects where other stores list files.
//
// The messages and objects are overwritten on all servers. Some copies cannot be
// overwritten: the replication logs of the servers, which contain a message until the next
// snapshot; messages that were replaced by a seal earlier; old values of buckets, which are
// the session's key and list rows with its title and first text (a server rewrites its
// files when much of one is deleted); and copies of the servers' files.
func (st *Store) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (store.Receipt, error) {
	if err := st.beginOperation(ctx); err != nil {
		return store.Receipt{}, err
	}
	defer st.working.Done()
	s, err := st.acquire(ctx, id)
	if err != nil {
		return store.Receipt{}, err
	}
	defer st.release(s)
	receipt := store.Receipt{Session: id, Entries: slices.Clone(entries), Reason: reason, Begun: st.opts.Now().UTC(), Files: []string{}}
	for {
		done, err := st.purge(ctx, s, receipt)
		if errors.Is(err, errFenced) {
			continue // appended to in the meantime
		}
		if err != nil {
			return done, st.failed(ctx, fmt.Errorf("purge session %.128s: %w", id, err))
		}
		return done, nil
	}
}

func (st *eraser) purge(ctx context.Context, s *session, receipt store.Receipt) (store.Receipt, error) {
	if s.id.Check() != nil {
		return store.Receipt{}, firn.ErrNotFound
	}
	if err := st.opened.refreshTail(ctx, s); err != nil {
		return store.Receipt{}, err
	}
	switch old := s.tail.receipt; {
	case s.tail.seq == 0:
		return store.Receipt{}, firn.ErrNotFound
	case old != nil && !old.Done.IsZero():
		return *old, nil
	case old != nil:
		return st.purgeSession(ctx, s, *old)
	case len(receipt.Entries) == 0:
		return st.purgeSession(ctx, s, receipt)
	}
	return st.purgeEntries(ctx, s, receipt)
}

// purgeSession erases a whole session. It first appends a message that records the purge,
// which stops appends and lets an interrupted purge be completed. The same message,
// completed, is all that is left.
func (st *eraser) purgeSession(ctx context.Context, s *session, r store.Receipt) (store.Receipt, error) {
	t := tail{seq: s.tail.seq, receipt: &r}
	if s.tail.receipt == nil {
		if err := st.directory.putMark(ctx, s, t, "", false); err != nil {
			return store.Receipt{}, err
		}
	}
	if err := st.eraseBefore(ctx, s, s.tail.seq, nil, r.Begun.Add(day), &r); err != nil {
		return r, err
	}
	if err := st.unbind(ctx, s.id); err != nil {
		return r, err
	}
	r.Done = st.opts.Now().UTC()
	t.seq, t.receipt = s.tail.seq, &r
	if err := st.directory.putMark(ctx, s, t, "", true); err != nil {
		return r, err
	}
	s.named = store.Start
	return r, st.index.refresh(ctx, st.names.shard(s.id))
}

// purgeEntries replaces the session with a seal that has gaps for the entries, and then
// erases the previous messages.
func (st *eraser) purgeEntries(ctx context.Context, s *session, r store.Receipt) (store.Receipt, error) {
	lines, err := st.readAllLines(ctx, s)
	if err != nil {
		return store.Receipt{}, err
	}
	changed, err := st.eraseLines(lines, r.Entries)
	if err != nil {
		return store.Receipt{}, err
	}
	name := "r." + token(s.id) + "." + string(firn.NewEntryID())
	if err := st.saveReceipt(ctx, name, r); err != nil {
		return r, err
	}
	if changed {
		f, err := st.sealer.sealFrame(ctx, s, nil, lines)
		if err != nil {
			return r, err
		}
		f.modified = s.tail.nextModified(st.opts.Now())
		if err := st.opened.put(ctx, s, f, false); err != nil {
			return r, err
		}
	}
	if s.tail.seal > 0 {
		keep, err := st.objectsInUse(ctx, s)
		if err != nil {
			return r, err
		}
		if err := st.eraseBefore(ctx, s, s.tail.seal, keep, r.Begun.Add(-strayAge), &r); err != nil {
			return r, err
		}
	}
	if err := st.index.refresh(ctx, st.names.shard(s.id)); err != nil {
		return r, err
	}
	r.Done = st.opts.Now().UTC()
	return r, st.saveReceipt(ctx, name, r)
}

const (
	// strayAge is the age from which on an object without a message is considered orphaned.
	// An append creates the object before its message.
	strayAge = time.Hour
	// day is longer than clocks can differ.
	day = 24 * time.Hour
)

// readAllLines returns all lines of a session.
func (st *eraser) readAllLines(ctx context.Context, s *session) ([][]byte, error) {
	var lines [][]byte
	var failed error
	st.reader.readForward(ctx, s.id, s.tail, store.Start, func(r store.Record, err error) bool {
		if failed = err; err == nil {
			lines = append(lines, slices.Clone(r.Line()))
		}
		return err == nil
	})
	return lines, failed
}

// eraseLines replaces the lines of entries with those of erased entries. It reports whether
// any line changed. If an entry is missing, it changes nothing.
func (st *eraser) eraseLines(lines [][]byte, entries []firn.EntryID) (bool, error) {
	found := make(map[firn.EntryID]bool)
	gaps := make(map[int][]byte)
	for i, line := range lines {
		g, err := st.dialect.Glance(line)
		if err != nil || g.Kind == firn.KindHeader || g.ID == "" || !slices.Contains(entries, g.ID) {
			continue
		}
		found[g.ID] = true
		if g.Kind != firn.KindErased {
			gaps[i] = st.erasedLine(g, line)
		}
	}
	for _, id := range entries {
		if !found[id] {
			return false, fmt.Errorf("entry %q: %w", id, firn.ErrNotFound)
		}
	}
	for i, gap := range gaps {
		lines[i] = gap
	}
	return len(gaps) > 0, nil
}

// erasedLine returns the line of an erased entry, which only has its place in the tree and
// its hash.
func (st *eraser) erasedLine(g firn.Glance, line []byte) []byte {
	b := rawjson.AppendString([]byte(`{"type":"erased","id":`), string(g.ID))
	switch {
	case g.NoParent:
	case g.Parent == "":
		b = append(b, `,"parentId":null`...)
	default:
		b = rawjson.AppendString(append(b, `,"parentId":`...), string(g.Parent))
	}
	if e, err := st.dialect.Decode(line); err == nil && !e.Time.IsZero() {
		b = append(b, `,"timestamp":"`+e.Time.UTC().Format("2006-01-02T15:04:05.000Z")+`"`...)
	}
	return append(hashchain.AppendSum(b, line), '}')
}

// saveReceipt stores the receipt for purged entries, which is not part of the session.
func (st *eraser) saveReceipt(ctx context.Context, name string, r store.Receipt) error {
	_, _, err := st.keys().change(ctx, name, func([]byte) ([]byte, error) { return json.Marshal(r) })
	return err
}

// eraseBefore overwrites the messages of a session before a sequence. It deletes the
// objects that they reference unless they are kept, and unreferenced objects created before
// the given time, which a crash may have left.
func (st *eraser) eraseBefore(ctx context.Context, s *session, seq uint64, keep map[string]bool, before time.Time, r *store.Receipt) error {
	stream := st.names.stream(st.names.shard(s.id))
	drop := make(map[string]bool)
	var sequences []uint64
	_, err := st.engine.scan(ctx, stream, st.names.subject(s.id), 1, seq-1, func(m *message) error {
		if f, err := parseFrame(m); err == nil { // unreadable messages are erased too
			addAll(drop, f.objects())
		}
		sequences = append(sequences, m.seq)
		r.Bytes += int64(len(m.data))
		return nil
	})
	if err != nil {
		return err
	}
	strays, err := st.blobs.of(ctx, s.id, before)
	if err != nil {
		return fmt.Errorf("list the objects: %w", err)
	}
	addAll(drop, strays)
	for _, name := range slices.Sorted(maps.Keys(drop)) {
		if keep[name] {
			continue
		}
		size, err := st.blobs.drop(ctx, name)
		if err != nil {
			return fmt.Errorf("delete the object %s: %w", name, err)
		}
		r.Bytes += size
		r.Files = append(r.Files, st.names.blobs()+"/"+name)
	}
	for _, seq := range sequences { // last, because they reference the objects
		if err := st.engine.erase(ctx, stream, seq); err != nil {
			return fmt.Errorf("erase message %d of %s: %w", seq, stream, err)
		}
	}
	r.Files = append(r.Files, stream)
	return nil
}

func addAll(set map[string]bool, names []string) {
	for _, name := range names {
		set[name] = true
	}
}

// objects lists the objects that a frame references.
func (f *frame) objects() []string {
	switch f.kind {
	case kindBlob:
		return []string{string(f.data)}
	case kindSeal:
		s, err := parseSealed(f)
		if err != nil {
			return nil
		}
		var names []string
		for _, seg := range s.segments {
			if seg.Blob != "" {
				names = append(names, seg.Blob)
			}
		}
		return names
	}
	return nil
}

// objectsInUse returns the objects that the messages of a session reference, from its
// latest seal on.
func (st *eraser) objectsInUse(ctx context.Context, s *session) (map[string]bool, error) {
	keep := make(map[string]bool)
	_, err := st.engine.scan(ctx, st.names.stream(st.names.shard(s.id)), st.names.subject(s.id), max(s.tail.seal, 1), s.tail.seq, func(m *message) error {
		f, err := parseFrame(m)
		if err != nil {
			return err
		}
		addAll(keep, f.objects())
		return nil
	})
	return keep, err
}

// unbind removes the keys bound to a session.
func (st *eraser) unbind(ctx context.Context, id firn.ID) error {
	_, err := st.keys().all(ctx, 1, func(name string, value []byte, revision uint64) error {
		var b binding
		if value == nil || json.Unmarshal(value, &b) != nil || b.Session != id || name != keyName(b.Key) {
			return nil
		}
		_, err := st.keys().remove(ctx, name, revision)
		if errors.Is(err, errFenced) {
			return nil // it is bound to another session now
		}
		return err
	})
	return err
}
