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
	"firn.dev/internal/base/rawjson"
	"firn.dev/store"
)

// Purge erases a session, or some of its entries, for good; see [store.Remover].
// The receipt names streams and objects where others name files.
//
// The messages are overwritten in the streams of all servers, and so are objects.
// What is not ours to overwrite are the logs with which servers agree with each
// other: they hold a message until the server makes its next snapshot; messages
// that a seal took the place of before, and what buckets had, where a server lets
// nobody overwrite: the key of the session, and rows of the list with its title and
// the beginning of what was said (a server writes its files anew when much of one is
// gone); and copies that somebody has made of its files.
func (st *Store) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (store.Receipt, error) {
	if err := st.begin(ctx); err != nil {
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
			continue // somebody has added to it meanwhile
		}
		if err != nil {
			return done, st.failed(ctx, fmt.Errorf("purge session %.128s: %w", id, err))
		}
		return done, nil
	}
}

func (st *Store) purge(ctx context.Context, s *session, receipt store.Receipt) (store.Receipt, error) {
	if s.id.Check() != nil {
		return store.Receipt{}, firn.ErrNotFound
	}
	if err := st.look(ctx, s); err != nil {
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

// purgeSession erases all of a session. A message that says so comes first, so
// that nobody adds to it and one that is interrupted can be finished; the same
// message, completed, is all that is left.
func (st *Store) purgeSession(ctx context.Context, s *session, r store.Receipt) (store.Receipt, error) {
	t := tail{seq: s.tail.seq, receipt: &r}
	if s.tail.receipt == nil {
		if err := st.putMark(ctx, s, t, "", false); err != nil {
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
	if err := st.putMark(ctx, s, t, "", true); err != nil {
		return r, err
	}
	s.named = store.Start
	return r, st.index.refresh(ctx, st.names.shard(s.id))
}

// purgeEntries writes the session anew with gaps, as a seal, and then erases
// what was there before.
func (st *Store) purgeEntries(ctx context.Context, s *session, r store.Receipt) (store.Receipt, error) {
	lines, err := st.wholly(ctx, s)
	if err != nil {
		return store.Receipt{}, err
	}
	changed, err := st.cutOut(lines, r.Entries)
	if err != nil {
		return store.Receipt{}, err
	}
	name := "r." + token(s.id) + "." + string(firn.NewEntryID())
	if err := st.saveReceipt(ctx, name, r); err != nil {
		return r, err
	}
	if changed {
		f, err := st.sealFrame(ctx, s, nil, lines)
		if err != nil {
			return r, err
		}
		f.modified = s.tail.later(st.opts.Now())
		if err := st.put(ctx, s, f, false); err != nil {
			return r, err
		}
	}
	if s.tail.seal > 0 {
		keep, err := st.namesIn(ctx, s)
		if err != nil {
			return r, err
		}
		if err := st.eraseBefore(ctx, s, s.tail.seal, keep, r.Begun.Add(-stray), &r); err != nil {
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
	// stray is how old an object must be that no message names to be nobody's: an
	// append makes it before its message.
	stray = time.Hour
	// day is more than clocks are apart.
	day = 24 * time.Hour
)

// wholly returns all lines of a session.
func (st *Store) wholly(ctx context.Context, s *session) ([][]byte, error) {
	var lines [][]byte
	var failed error
	st.forth(ctx, s.id, s.tail, store.Start, func(r store.Record, err error) bool {
		if failed = err; err == nil {
			lines = append(lines, slices.Clone(r.Line()))
		}
		return err == nil
	})
	return lines, failed
}

// cutOut puts what an erased entry leaves in the place of entries. It reports
// whether anything has changed; if an entry is missing nothing has.
func (st *Store) cutOut(lines [][]byte, entries []firn.EntryID) (bool, error) {
	found := make(map[firn.EntryID]bool)
	gaps := make(map[int][]byte)
	for i, line := range lines {
		g, err := st.dialect.Glance(line)
		if err != nil || g.Kind == firn.KindHeader || g.ID == "" || !slices.Contains(entries, g.ID) {
			continue
		}
		found[g.ID] = true
		if g.Kind != firn.KindErased {
			gaps[i] = st.remains(g, line)
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

// remains is the line that an erased entry leaves: its place in the tree.
func (st *Store) remains(g firn.Glance, line []byte) []byte {
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
	return append(b, '}')
}

// saveReceipt keeps the receipt of entries, of which the session itself tells
// nothing.
func (st *Store) saveReceipt(ctx context.Context, name string, r store.Receipt) error {
	_, _, err := st.keys().change(ctx, name, func([]byte) ([]byte, error) { return json.Marshal(r) })
	return err
}

// eraseBefore overwrites the messages of a session before a sequence, and deletes
// the objects that they name unless they are kept, and those that nobody names
// and that were made before a time: a crash may have left them.
func (st *Store) eraseBefore(ctx context.Context, s *session, seq uint64, keep map[string]bool, before time.Time, r *store.Receipt) error {
	stream := st.names.stream(st.names.shard(s.id))
	drop := make(map[string]bool)
	var sequences []uint64
	_, err := st.engine.scan(ctx, stream, st.names.subject(s.id), 1, seq-1, func(m *message) error {
		if f, err := parseFrame(m); err == nil { // what cannot be read is erased as well
			note(drop, f.objects())
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
	note(drop, strays)
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
	for _, seq := range sequences { // last, since they name the objects
		if err := st.engine.erase(ctx, stream, seq); err != nil {
			return fmt.Errorf("erase message %d of %s: %w", seq, stream, err)
		}
	}
	r.Files = append(r.Files, stream)
	return nil
}

func note(set map[string]bool, names []string) {
	for _, name := range names {
		set[name] = true
	}
}

// objects lists the objects that a frame names.
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

// namesIn returns the objects that the messages of a session name, from its
// latest seal on.
func (st *Store) namesIn(ctx context.Context, s *session) (map[string]bool, error) {
	keep := make(map[string]bool)
	_, err := st.engine.scan(ctx, st.names.stream(st.names.shard(s.id)), st.names.subject(s.id), max(s.tail.seal, 1), s.tail.seq, func(m *message) error {
		f, err := parseFrame(m)
		if err != nil {
			return err
		}
		note(keep, f.objects())
		return nil
	})
	return keep, err
}

// unbind takes the keys away that point at a session.
func (st *Store) unbind(ctx context.Context, id firn.ID) error {
	_, err := st.keys().all(ctx, 1, func(name string, value []byte, revision uint64) error {
		var b binding
		if value == nil || json.Unmarshal(value, &b) != nil || b.Session != id || name != keyName(b.Key) {
			return nil
		}
		_, err := st.keys().remove(ctx, name, revision)
		if errors.Is(err, errFenced) {
			return nil // it points elsewhere now
		}
		return err
	})
	return err
}
