package view

import (
	"context"
	"iter"

	"firn.dev"
)

type knownKey struct{}

// known is the entries of a session that were just written.
type known struct {
	session firn.ID
	entries map[firn.EntryID]firn.Entry
}

// WithKnown returns a context in which [View.Glimpse] does not decode entries of a session
// that the caller has just written. They must be the entries that are stored.
func WithKnown(ctx context.Context, session firn.ID, entries map[firn.EntryID]firn.Entry) context.Context {
	return context.WithValue(ctx, knownKey{}, known{session, entries})
}

// useKnown returns the records of a session with the entries that are known.
func useKnown(ctx context.Context, session firn.ID, records iter.Seq2[firn.Record, error]) iter.Seq2[firn.Record, error] {
	k, ok := ctx.Value(knownKey{}).(known)
	if !ok || k.session != session {
		return records
	}
	return func(yield func(firn.Record, error) bool) {
		for rec, err := range records {
			if e, ok := k.entries[rec.Glance.ID]; ok && err == nil && rec.Gap == nil {
				glance := rec.Glance
				rec = firn.NewRecord(rec.At, rec.Next, e)
				rec.Glance = glance
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}
