package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"firn.dev"
)

// fenceType is the type of a fence entry. A session is served by one gateway at a time. A
// gateway that takes a session over from another that may still be running a turn appends a
// fence. A writer that finds a fence after the start of its write right has lost that
// right.
const fenceType = "firn.fence"

// ErrFenced means that another gateway took the session over during a turn. The turn ends
// without writing anything more; the new owner continues.
var ErrFenced = fmt.Errorf("another gateway has taken over the session: %w", firn.ErrConflict)

// Fence returns the entry with which the gateway called by takes a session over.
func Fence(by string) firn.Entry {
	data, err := json.Marshal(map[string]string{"by": by})
	if err != nil { // strings can always be encoded
		data = nil
	}
	return firn.NewEntry(&firn.Custom{Type: fenceType, Data: data})
}

// isFence reports whether a record is a fence.
func isFence(rec *firn.Record) bool {
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

// writeRight is the position from which a turn may write. The zero value cannot be revoked.
type writeRight struct {
	bounded bool
	since   firn.Pos
}

// endedBy reports whether a record revokes the right.
func (r writeRight) endedBy(rec *firn.Record) bool {
	return r.bounded && rec.At >= r.since && isFence(rec)
}

// fenced returns the error of a turn whose write right was revoked.
func (l *ledger) fenced() error {
	return fmt.Errorf("continue session %s: %w", l.id, ErrFenced)
}

// checkFence fails if there is a fence between the start of the write right and the known
// end.
func (l *ledger) checkFence(ctx context.Context) error {
	if !l.right.bounded || l.end <= l.right.since {
		return nil
	}
	for rec, err := range l.st.Read(ctx, l.id, l.right.since) {
		if err != nil {
			return fmt.Errorf("read concurrent entries of session %s: %w", l.id, err)
		}
		if rec.At >= l.end {
			break
		}
		if l.right.endedBy(&rec) {
			return l.fenced()
		}
	}
	return nil
}
