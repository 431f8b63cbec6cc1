package store

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"time"

	"firn.dev"
)

// Source provides exact, byte-for-byte access to all sessions and their state.
type Source interface {
	// Holdings returns all sessions in no particular order, including archived, removed and
	// purged ones.
	Holdings(ctx context.Context) ([]Holding, error)
	// Lines yields the stored lines of a session without their newlines, also for a session
	// in the trash bin. Damaged lines are yielded unchanged. An incomplete last line, which was
	// never acknowledged, is skipped. A line is valid until the next iteration.
	Lines(ctx context.Context, id firn.ID) iter.Seq2[[]byte, error]
	// Bindings returns all keys and their sessions, including keys whose session cannot be
	// read.
	Bindings(ctx context.Context) (map[string]firn.ID, error)
}

// Loader is a store whose sessions can be copied to and from other stores.
type Loader interface {
	Source
	// Load copies a session from another store. If the session exists, its lines must be a
	// prefix of the given lines, and the remaining ones are appended; otherwise Load
	// returns ErrConflict and changes nothing. A new session is created completely or not
	// at all. Load also applies the archived and removed state of h, unless the session is
	// already archived or in the trash bin.
	Load(ctx context.Context, h Holding, lines iter.Seq2[[]byte, error]) (Loaded, error)
}

// Holding describes a session in a store.
type Holding struct {
	ID firn.ID
	// Bytes is the total size of the lines in file form, Modified the time of the last
	// change. If both are the same, the session has not changed.
	Bytes    int64
	Modified time.Time
	Archived bool
	// Removed is set for a session in the trash bin, with the Reason of its removal.
	Removed bool
	Reason  string
	// Receipt is set for a purged session, of which nothing else is left.
	Receipt *Receipt
}

// Loaded is the number of lines a session had before a Load and the number added by it.
type Loaded struct{ Had, Added int }

// NewLines yields the lines of want after those of have. If have is not a prefix of want, it
// yields only an ErrConflict. It stores the number of lines of have in had.
func NewLines(have, want iter.Seq2[[]byte, error], had *int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		next, stop := iter.Pull2(want)
		defer stop()
		for line, err := range have {
			if err != nil {
				yield(nil, err)
				return
			}
			wanted, err, more := next()
			switch {
			case err != nil:
				yield(nil, err)
				return
			case !more:
				yield(nil, fmt.Errorf("%w: the session continues here after line %d", firn.ErrConflict, *had))
				return
			case !bytes.Equal(line, wanted):
				yield(nil, fmt.Errorf("%w: line %d is another one here", firn.ErrConflict, *had+1))
				return
			}
			*had++
		}
		for line, err, more := next(); more; line, err, more = next() {
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}
