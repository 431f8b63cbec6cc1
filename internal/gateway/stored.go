package gateway

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// Stored yields the contents of the store: all sessions, including removed ones, ordered by
// ID, and then all keys.
func (g *sessionReader) Stored(ctx context.Context) iter.Seq2[wire.StoreLine, error] {
	return func(yield func(wire.StoreLine, error) bool) {
		if g.Source == nil {
			yield(wire.StoreLine{}, notCopied())
			return
		}
		sessions, err := g.Source.Holdings(ctx)
		if err != nil {
			yield(wire.StoreLine{}, fmt.Errorf("list the store: %w", err))
			return
		}
		slices.SortFunc(sessions, func(a, b store.Holding) int { return cmp.Compare(a.ID, b.ID) })
		for _, h := range sessions {
			if !yield(wire.StoreLine{StoredSession: storedSession(h)}, nil) {
				return
			}
		}
		keys, err := g.Source.Bindings(ctx)
		if err != nil {
			yield(wire.StoreLine{}, fmt.Errorf("list keys: %w", err))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if !yield(wire.StoreLine{Key: key, To: keys[key]}, nil) {
				return
			}
		}
	}
}

func notCopied() error {
	return &wire.Problem{Kind: wire.Unsupported, Message: "the store of this gateway cannot be read as a whole", Hint: "it is another tool's directory: use firn verify or firn grep"}
}

func storedSession(h store.Holding) *wire.StoredSession {
	s := &wire.StoredSession{ID: h.ID, Bytes: h.Bytes, Modified: h.Modified, Archived: h.Archived, Removed: h.Removed, Reason: h.Reason}
	if r := h.Receipt; r != nil {
		s.Receipt = &wire.Receipt{Session: r.Session, Entries: r.Entries, Reason: r.Reason, Begun: r.Begun, Done: r.Done, Bytes: r.Bytes, Files: r.Files}
	}
	return s
}

// WriteLines writes the lines of a session as the store holds them, each with a newline.
func (g *sessionReader) WriteLines(ctx context.Context, id firn.ID, w io.Writer) error {
	if g.Source == nil {
		return notCopied()
	}
	if err := id.Check(); err != nil {
		return err
	}
	for line, err := range g.Source.Lines(ctx, id) {
		if err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		if _, err := w.Write([]byte{'\n'}); err != nil {
			return err
		}
	}
	return nil
}
