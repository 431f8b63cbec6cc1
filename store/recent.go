package store

import (
	"context"
	"iter"
	"time"

	"firn.dev"
)

// Remembered is how long it is known that a message was heard if its name does not
// tell when it was made. Programs that call again give up within days.
const Remembered = 7 * 24 * time.Hour

// skew is how far the clock may be ahead that made a name.
const skew = 5 * time.Minute

// Heard is from when on a log is searched for a message of that name. Names of ours
// tell when they were made; of others we look for those that came of late.
func Heard(name firn.EntryID, now time.Time) time.Time {
	if made, ours := name.Made(); ours {
		return made.Add(-skew)
	}
	return now.Add(-Remembered)
}

// olderInARow is how many records that are older than what is sought must follow each
// other until nothing further back is read. One is not enough: a message that was sent
// again and again until it was kept has an old name, behind newer ones, and clocks jump.
const olderInARow = 128

// Recent yields the records before a position, newest first, as [Store.ReadBack] does,
// but no further than to a time: it ends where as many records in a row as clocks and
// late messages can explain were made before it, by their names. Records whose names
// do not tell count as such. So to look for what came of late takes as long in a session
// of years as in one of days.
func Recent(ctx context.Context, s Store, id firn.ID, before Pos, since time.Time) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		older := 0
		for rec, err := range s.ReadBack(ctx, id, before) {
			if !yield(rec, err) {
				return
			}
			if made, ours := rec.Glance.ID.Made(); ours && !made.Before(since) {
				older = 0
			} else if older++; older == olderInARow {
				return
			}
		}
	}
}
