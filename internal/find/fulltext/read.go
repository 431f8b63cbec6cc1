package fulltext

import (
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/store"
)

// change is a unit of work for the writer: an update of one session.
type change struct {
	session int64
	// wipe deletes the existing rows of the session first.
	wipe bool
	docs []doc
	// row is the new row of the session once all of it was read; nil if more changes
	// follow, or if the session is gone.
	row *row
	// read is the approximate number of bytes read for the change.
	read int64
}

func (c *change) size() int {
	n := 256
	for i := range c.docs {
		d := &c.docs[i]
		n += len(d.t) + len(d.x) + len(d.f) + 200
	}
	return n
}

// chunk is the number of bytes of a session that are passed to the writer in one change.
const chunk = 1 << 20

// reader turns sessions into changes.
type reader struct {
	src      Source
	sourceOf func(ctx context.Context, id firn.ID) Origin
	analyzer analyzer
	emit     func(change) error
	// left is the number of bytes of the current session that are not passed on yet.
	left int64
}

// session brings the index up to date with session s. old is its row in the index, or nil.
// A session that is deleted while it is read is left for the next update.
func (r *reader) session(ctx context.Context, s store.Status, old *row) error {
	r.left = s.Bytes
	switch {
	case old.unchanged(s):
		return nil
	case old != nil && old.sameFiles(s): // only archived or unarchived
		next := *old
		next.setStatus(s)
		return r.emit(change{session: old.id, row: &next, read: r.left})
	case old != nil && old.grew(s) && r.resumes(ctx, old):
		return r.more(ctx, s, old)
	}
	return r.whole(ctx, s)
}

// gone removes a session from the index.
func (r *reader) gone(id firn.ID) error {
	return r.emit(change{session: sessionKey(id), wipe: true})
}

// resumes reports whether indexing can continue where it stopped: the last indexed entry is
// still at its position. Sessions of other tools are always read from the beginning, since
// the meaning of a line may depend on earlier ones.
func (r *reader) resumes(ctx context.Context, old *row) bool {
	if old.source != nativeSource || old.end == 0 {
		return false
	}
	for rec, err := range r.src.ReadBack(ctx, old.sid, old.end) {
		if err != nil || rec.Next != old.end {
			return false
		}
		return rec.Gap == nil && rec.Glance.ID == old.last
	}
	return false
}

// whole indexes a session from the beginning.
func (r *reader) whole(ctx context.Context, s store.Status) error {
	next := &row{id: sessionKey(s.ID), sid: s.ID}
	from := r.sourceOf(ctx, s.ID)
	next.source, next.sub = from.Tool, from.Sub
	next.setStatus(s)
	sh := &shaper{session: s.ID, ids: make(map[firn.EntryID]int)}
	return r.run(ctx, next, sh, store.Start, true)
}

// more indexes the entries added to a session.
func (r *reader) more(ctx context.Context, s store.Status, old *row) error {
	next := *old
	next.setStatus(s)
	sh := &shaper{session: s.ID, count: old.count, last: old.last}
	sh.shape = shape{Runs: append([][3]int(nil), old.shape.Runs...), Stones: append([][2]int(nil), old.shape.Stones...), Cuts: append([][2]int(nil), old.shape.Cuts...)}
	return r.run(ctx, &next, sh, old.end, false)
}

// run reads a session from a position and passes on the changes.
func (r *reader) run(ctx context.Context, next *row, sh *shaper, after firn.Pos, wipe bool) error {
	c, places := change{session: next.id, wipe: wipe}, unreadPlaces{}
	size, common, reported := 0, "", after
	for rec, err := range r.src.Read(ctx, next.sid, after) {
		if err != nil {
			return r.failed(ctx, next.sid, err)
		}
		next.end = max(next.end, rec.Next)
		if rec.Gap != nil {
			places.gap(rec.Gap)
			continue
		}
		n, isNode := sh.add(rec.Glance)
		if !isNode && rec.Glance.Kind != firn.KindHeader {
			continue
		}
		e, err := rec.Entry()
		if places.entry(&rec, err); err != nil {
			continue // it occupies a position, but has no readable text
		}
		next.note(e)
		if e.Body.Kind() == firn.KindHeader || common == "" {
			common = next.owner().facets()
		}
		if next.repeats(e) {
			continue
		}
		for _, p := range piecesOf(e) {
			d := r.analyzer.doc(next.owner(), common, n, rec.At, e.ID, timeFor(e, next), p)
			c.docs = append(c.docs, d)
			size += len(d.t) + len(d.x) + len(d.f) + 200
		}
		if size > chunk {
			c.read = min(int64(rec.Next-reported), r.left)
			if err := r.emit(c); err != nil {
				return err
			}
			r.left -= c.read
			c, size, reported = change{session: next.id}, 0, rec.Next
		}
	}
	if sh.lost {
		var err error
		if sh, err = r.shape(ctx, next.sid); err != nil {
			return r.failed(ctx, next.sid, err)
		}
	}
	next.shape, next.count, next.last = sh.shape, sh.count, sh.last
	next.unread += places.count
	c.row, c.read = next, r.left
	return r.emit(c)
}

// shape computes the shape of a session from the beginning, without decoding the contents
// of its entries.
func (r *reader) shape(ctx context.Context, id firn.ID) (*shaper, error) {
	sh := &shaper{session: id, ids: make(map[firn.EntryID]int)}
	for rec, err := range r.src.Read(ctx, id, store.Start) {
		if err != nil {
			return nil, err
		}
		if rec.Gap == nil {
			sh.add(rec.Glance)
		}
	}
	return sh, nil
}

// failed handles a session that cannot be read: it is removed from the index if it is gone,
// otherwise its rows stay.
func (r *reader) failed(ctx context.Context, id firn.ID, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, firn.ErrNotFound) {
		return r.gone(id)
	}
	return &unread{id, err}
}

// unread is the error for a session that cannot be read. It does not affect other sessions.
type unread struct {
	id  firn.ID
	err error
}

// Error returns the session and the reason.
func (u *unread) Error() string { return fmt.Sprintf("index session %s: %v", u.id, u.err) }

// Unwrap returns the reason.
func (u *unread) Unwrap() error { return u.err }
