// Package remote reads all sessions of a gateway byte for byte, so that they can be copied.
// The gateway may be in the same process.
package remote

import (
	"context"
	"iter"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/store"
	"firn.dev/wire"
)

// Source is the store of a gateway.
type Source struct{ Client *client.Client }

var _ store.Source = Source{}

// Holdings returns all sessions of the gateway's store.
func (s Source) Holdings(ctx context.Context) ([]store.Holding, error) {
	var all []store.Holding
	for line, err := range s.Client.Stored(ctx) {
		if err != nil {
			return nil, err
		}
		if line.StoredSession != nil {
			all = append(all, holding(line.StoredSession))
		}
	}
	return all, nil
}

func holding(s *wire.StoredSession) store.Holding {
	h := store.Holding{ID: s.ID, Bytes: s.Bytes, Modified: s.Modified, Archived: s.Archived, Removed: s.Removed, Reason: s.Reason}
	if r := s.Receipt; r != nil {
		h.Receipt = &store.Receipt{Session: r.Session, Entries: r.Entries, Reason: r.Reason, Begun: r.Begun, Done: r.Done, Bytes: r.Bytes, Files: r.Files}
	}
	return h
}

// Lines yields the lines of a session.
func (s Source) Lines(ctx context.Context, id firn.ID) iter.Seq2[[]byte, error] {
	return s.Client.StoredLines(ctx, id)
}

// Bindings returns the sessions of all keys.
func (s Source) Bindings(ctx context.Context) (map[string]firn.ID, error) {
	keys := make(map[string]firn.ID)
	for line, err := range s.Client.Stored(ctx) {
		if err != nil {
			return nil, err
		}
		if line.Key != "" {
			keys[line.Key] = line.To
		}
	}
	return keys, nil
}
