// Package lookback reads the latest records of a session at a cost that does not depend on its
// length, to find a message that was sent before.
package lookback

import (
	"context"
	"iter"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// DedupPeriod is how long messages with foreign IDs are deduplicated. Clients stop retrying
// within days.
const DedupPeriod = 7 * 24 * time.Hour

// skew is how far the clock that created an ID may be ahead.
const skew = 5 * time.Minute

// EarliestAppend returns the earliest time at which a message with this ID can have been appended.
// Native IDs contain their creation time; for other IDs it is [DedupPeriod] before now.
func EarliestAppend(name firn.EntryID, now time.Time) time.Time {
	if made, ours := name.Time(); ours {
		return made.Add(-skew)
	}
	return now.Add(-DedupPeriod)
}

// maxOlderInARow is the number of consecutive older records after which [Records] stops. One
// is not enough: a message that was retried for a long time has an old ID and follows newer
// ones, and clocks jump.
const maxOlderInARow = 128

// Records yields the records before a position, newest first, like [store.Store.ReadBack], but
// stops near a time: after a long enough run of consecutive records whose IDs were created
// before since. Records without a creation time count as older. So the cost of searching
// recent records does not depend on the length of the session.
func Records(ctx context.Context, s store.Store, id firn.ID, before firn.Pos, since time.Time) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		older := 0
		for rec, err := range s.ReadBack(ctx, id, before) {
			if !yield(rec, err) {
				return
			}
			if made, ours := rec.Glance.ID.Time(); ours && !made.Before(since) {
				older = 0
			} else if older++; older == maxOlderInARow {
				return
			}
		}
	}
}
