package jetstream

import (
	"context"
	"fmt"
	"iter"

	"firn.dev"
	"firn.dev/store"
)

// Read yields the records after a position, oldest first; see [store.Store]. Missing or
// changed records are an ErrCorrupt of type *[Damage], unless the stream's leader has them.
func (st *Store) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		t, err := st.readTail(ctx, id)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		st.readForward(ctx, id, t, after, yield)
	}
}

// readForward yields the records after a position up to the tail t. It reports whether it
// reached the tail.
func (st *reader) readForward(ctx context.Context, id firn.ID, t tail, after store.Pos, yield func(store.Record, error) bool) bool {
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

// piece is a range of lines with the position before them.
type piece struct {
	at    store.Pos
	lines [][]byte
}

// load returns the lines of a frame that is not a seal, and verifies them against its sum.
func (st *reader) load(ctx context.Context, f *frame) (piece, error) {
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

// farRecords is the number of records up to which reading is preferred to searching.
const farRecords = 512

// find returns the frame with the record at a position, or nil if a replica does not have
// it. It reads few messages regardless of their number.
func (st *reader) find(ctx context.Context, id firn.ID, t tail, at store.Pos) (*frame, error) {
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
			return nil, nil // reading reports the damage
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
