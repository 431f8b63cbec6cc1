package compact

import (
	"context"
	"encoding/json"
	"fmt"

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
func Failures(p window.Path) int {
	n := 0
	for i := len(p.Entries) - 1; i >= 0; i-- {
		switch b := p.Entries[i].Body.(type) {
		case *firn.Compaction:
			return n
		case *firn.Custom:
			switch b.Type {
			case TypeFailed:
				n++
			case TypeBreaker:
				return n
			}
		}
	}
	return n
}

// Open reports whether so many runs failed that none is tried without being
// asked for: Run with Threshold then returns ErrOpen at once, with Overflow it
// asks no model, with Manual it tries.
func Open(p window.Path, s Settings) bool { return Failures(p) >= s.failures() }

// Close lets compaction be tried again, by a record in the log.
func Close(ctx context.Context, st store.Store, id firn.ID) error {
	entry := firn.NewEntry(&firn.Custom{Type: TypeBreaker, Data: json.RawMessage(`{"state":"closed"}`)})
	if _, err := st.Append(ctx, id, store.Any, entry); err != nil {
		return fmt.Errorf("close the compaction breaker of session %s: %w", id, err)
	}
	return nil
}

// failure is what is recorded of a run that failed.
type failure struct {
	Reason Reason `json:"reason"`
	Error  string `json:"error"`
	// Row counts the failures in a row, with this one.
	Row int `json:"row"`
}

// recordFailure appends the record of a failed run.
func recordFailure(ctx context.Context, st store.Store, id firn.ID, f failure) error {
	data, err := marshal(f)
	if err != nil {
		return err
	}
	_, err = st.Append(ctx, id, store.Any, firn.NewEntry(&firn.Custom{Type: TypeFailed, Data: data}))
	if err != nil {
		return fmt.Errorf("record that compacting session %s failed: %w", id, err)
	}
	return nil
}
