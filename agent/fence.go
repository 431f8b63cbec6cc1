package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"firn.dev"
)

// A session is served by one gateway at a time. One that takes it over from
// another that may still be running a turn puts an entry of this type behind all
// that is there. Whoever finds such an entry behind the place where its right to
// write began has lost that right.
const fenceType = "firn.fence"

// ErrFenced says that somebody else has taken the session over while a turn ran.
// The turn ends without another word; who has the session now goes on.
var ErrFenced = fmt.Errorf("another gateway has taken the session over: %w", firn.ErrConflict)

// Fence makes the entry that takes a session over, in the name of somebody.
func Fence(by string) firn.Entry {
	data, err := json.Marshal(map[string]string{"by": by})
	if err != nil { // strings always can be
		data = nil
	}
	return firn.NewEntry(&firn.Custom{Type: fenceType, Data: data})
}

// fences reports whether a record is such an entry.
func fences(rec *firn.Record) bool {
	if rec.Gap != nil || rec.Glance.Kind != firn.KindCustom {
		return false
	}
	entry, err := rec.Entry()
	if err != nil {
		return false
	}
	c, ok := entry.Body.(*firn.Custom)
	return ok && c.Type == fenceType
}

// right is where the right of a turn to write begins; the zero value is a right
// that nobody else can take.
type right struct {
	bounded bool
	since   firn.Pos
}

// ends reports whether a record takes the right away.
func (r right) ends(rec *firn.Record) bool {
	return r.bounded && rec.At >= r.since && fences(rec)
}

// fenced is the error of a turn whose right has ended.
func (l *ledger) fenced() error {
	return fmt.Errorf("go on with session %s: %w", l.id, ErrFenced)
}

// entitled refuses to go on if somebody took the session over between the
// beginning of the right to write and the end that is known.
func (l *ledger) entitled(ctx context.Context) error {
	if !l.right.bounded || l.end <= l.right.since {
		return nil
	}
	for rec, err := range l.st.Read(ctx, l.id, l.right.since) {
		if err != nil {
			return fmt.Errorf("read what others wrote to session %s: %w", l.id, err)
		}
		if rec.At >= l.end {
			break
		}
		if l.right.ends(&rec) {
			return l.fenced()
		}
	}
	return nil
}
