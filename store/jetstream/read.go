package jetstream

import (
	"context"
	"fmt"
	"iter"

	"firn.dev"
	"firn.dev/store"
)

// Read yields the records after a position, oldest first; see [store.Store].
// Records that are missing or not what was written are an ErrCorrupt of type
// *[Damage], unless the stream's leader has them.
func (st *Store) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		t, err := st.end(ctx, id)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		st.forth(ctx, id, t, after, yield)
	}
}

// forth yields the records after a position up to the end that t is. It reports
// whether it got there.
func (st *Store) forth(ctx context.Context, id firn.ID, t tail, after store.Pos, yield func(store.Record, error) bool) bool {
	if after >= t.end {
		return true
	}
	w, err := st.walkFrom(ctx, id, t, after)
	if err != nil {
		yield(store.Record{}, st.failed(ctx, err))
		return false
	}
	for piece, err := range w.pieces(ctx) {
		if err != nil {
			yield(store.Record{}, st.failed(ctx, err))
			return false
		}
		for r := range st.records(piece.at, piece.lines) {
			if r.At < after || r.Next > t.end {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(store.Record{}, err)
				return false
			}
			if !yield(r, nil) {
				return false
			}
		}
	}
	return true
}

// piece is some lines of a session and the position before them.
type piece struct {
	at    store.Pos
	lines [][]byte
}

// load returns the lines of a frame that is not a seal, and holds them against
// its sum.
func (st *Store) load(ctx context.Context, f *frame) (piece, error) {
	data := f.data
	if f.kind == kindBlob {
		var err error
		if data, err = st.blobs.get(ctx, string(f.data)); err != nil {
			return piece{}, err
		}
	}
	lines, err := split(data, f.count)
	if err == nil && f.prev.over(lines) != f.sum {
		err = errWrongSum
	}
	if err != nil {
		return piece{}, fmt.Errorf("message %d: %w: %w", f.seq, firn.ErrCorrupt, err)
	}
	return piece{f.at(), lines}, nil
}

// farRecords is how many records are rather read than searched over.
const farRecords = 512

// find returns the frame that holds the record at a position, or nil if a
// replica does not have it. It looks at few messages, however many there are.
func (st *Store) find(ctx context.Context, id firn.ID, t tail, at store.Pos) (*frame, error) {
	stream, subject := st.names.stream(st.names.shard(id)), st.names.subject(id)
	low, high := max(t.seal, 1), t.seq
	for low <= high {
		middle := low + (high-low)/2
		m, err := st.engine.nextAny(ctx, stream, subject, middle)
		if err != nil {
			return nil, err
		}
		if m == nil || m.seq > high {
			high = middle - 1
			continue
		}
		f, err := parseFrame(m)
		switch {
		case err != nil:
			return nil, nil // whoever reads will tell the damage
		case f.end <= at:
			low = m.seq + 1
		case f.at() <= at:
			return f, nil
		default:
			high = middle - 1
		}
	}
	return nil, nil
}
