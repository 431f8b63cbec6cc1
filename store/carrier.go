package store

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"time"

	"firn.dev"
)

// Source is where all sessions can be read as they are: byte for byte, and with
// what became of them.
type Source interface {
	// Holdings tells of all sessions there are, in no order, also of those that
	// were put away.
	Holdings(ctx context.Context) ([]Holding, error)
	// Lines yields the lines of a session as they lie there, without their
	// newlines, also of one in the bin. Damage is passed on as it is; an unfinished
	// last line, which nobody was told is kept, is left out. A line is valid until
	// the next one.
	Lines(ctx context.Context, id firn.ID) iter.Seq2[[]byte, error]
	// Bindings tells where all keys point, also those that point at nothing that
	// can be read.
	Bindings(ctx context.Context) (map[string]firn.ID, error)
}

// Carrier is a store whose sessions can be carried to another one, and which takes
// those of another.
type Carrier interface {
	Source
	// Load makes a session that which another store holds. The lines that it has
	// must be the first of those that are given, else it is an ErrConflict and
	// nothing changes; what comes behind them is added. One that is new is there
	// as a whole or not at all, however it ends. Whether it is archived or in the
	// bin is made so too, unless it is one of both here already.
	Load(ctx context.Context, h Holding, lines iter.Seq2[[]byte, error]) (Loaded, error)
}

// Holding is a session as a store holds it.
type Holding struct {
	ID firn.ID
	// Bytes is the size of its lines, as a file, Modified when they last changed:
	// if both are what they were, nothing has.
	Bytes    int64
	Modified time.Time
	Archived bool
	// Removed says that it is in the bin, Reason why.
	Removed bool
	Reason  string
	// Receipt is that of a session which was purged: all that is left of it.
	Receipt *Receipt
}

// Loaded tells how many lines a session had and how many were added.
type Loaded struct{ Had, Added int }

// Beyond yields the lines of want that come behind those of have. If have is not
// how want begins it yields an ErrConflict and nothing else. The number of lines
// of have is counted in had.
func Beyond(have, want iter.Seq2[[]byte, error], had *int) iter.Seq2[[]byte, error] {
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
				yield(nil, fmt.Errorf("%w: it has gone on here behind line %d", firn.ErrConflict, *had))
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
