package sourcestore

import (
	"context"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// backSize limits the bytes of lines held for reading backwards. A longer transcript is
// read again for each piece, which is not needed for the model's context.
const backSize = 64 << 20

// ReadBack yields the records before a position, newest first. The meaning of a line may
// depend on earlier ones, so the transcript is read forwards, piece by piece.
func (st *Store) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		t, err := st.find(ctx, id)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		for {
			piece, whole, err := st.lastPiece(ctx, t, before)
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			for _, record := range slices.Backward(piece) {
				if !yield(st.withoutLine(record), nil) {
					return
				}
			}
			if whole || len(piece) == 0 {
				return
			}
			before = piece[0].At
		}
	}
}

// lastPiece reads the last records before a position, and reports whether they are all
// records.
func (st *Store) lastPiece(ctx context.Context, t dialect.Transcript, before store.Pos) (piece []store.Record, whole bool, err error) {
	var size int
	whole = true
	for record, err := range st.read(t).all(ctx) {
		if err != nil {
			return nil, false, err
		}
		if record.Next > before || record.At >= before && before != store.End {
			break
		}
		kept, bytes := keep(record)
		piece = append(piece, kept)
		if size += bytes; size > backSize {
			// Drop half, so that this happens rarely.
			drop := len(piece) / 2
			piece = slices.Delete(piece, 0, drop)
			size, whole = size/2, false
		}
	}
	return piece, whole, nil
}

// keep returns a copy of a record that remains valid, and its approximate size.
func keep(r store.Record) (store.Record, int) {
	if r.Gap != nil {
		return r, 64
	}
	line := slices.Clone(r.Line())
	e, err := r.Entry()
	if err != nil || line == nil {
		return r, 512
	}
	return firn.LazyRecord(r.At, r.Next, r.Glance, line, func([]byte) (firn.Entry, error) { return e, nil }), 2*len(line) + 256
}
