package compact

import (
	"context"

	"firn"
	"firn/store"
	"firn/window"
)

// The types of the custom entries in which the breaker is kept.
const (
	// TypeFailed records a run that failed: {reason, error, row}.
	TypeFailed = "firn.compaction-failed"
	// TypeBreaker records that the breaker was closed: {state: "closed"}.
	TypeBreaker = "firn.compaction-breaker"
)

// Failures is how many runs failed in a row on this path: since the latest
// compaction, or since the breaker was closed.
func Failures(p window.Path) int { return 0 }

// Open reports whether so many runs failed that none is tried without being
// asked for: Run with Threshold then returns ErrOpen at once, with Overflow it
// asks no model, with Manual it tries.
func Open(p window.Path, s Settings) bool { return Failures(p) >= s.failures() }

// Close lets compaction be tried again, by a record in the log.
func Close(ctx context.Context, st store.Store, id firn.ID) error { return nil }
