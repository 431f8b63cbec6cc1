package compact

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/window"
)

// The types of the custom entries that record the state of the breaker.
const (
	// typeFailed records a failed run: {reason, error, row}.
	typeFailed = "firn.compaction-failed"
	// typeBreaker records a reset of the breaker, as written by earlier versions: {state: "closed"}.
	typeBreaker = "firn.compaction-breaker"
)

// Breaker counts consecutive failed attempts to compact a session, for any reason: runs
// that compacted nothing, and runs whose summarizer failed, so that the summary was made
// without a model. A summary by a model or a hook resets it.
type Breaker struct {
	Failures int
	// Last and Error are the time and the error of the last failure.
	Last  time.Time
	Error string
	// Nothing reports whether the last failed attempt compacted nothing.
	Nothing bool
}

// BreakerOf returns the state of the breaker according to the live part of a session.
func BreakerOf(p window.Path) Breaker {
	for i := len(p.Entries) - 1; i >= 0; i-- {
		e := &p.Entries[i]
		switch body := e.Body.(type) {
		case *firn.Compaction:
			return breakerFrom(body)
		case *firn.Custom:
			switch body.Type {
			case typeFailed:
				var f failure
				_ = json.Unmarshal(body.Data, &f) // an unreadable record counts as one failure
				return Breaker{Failures: max(f.Row, 1), Last: e.Time, Error: f.Error, Nothing: true}
			case typeBreaker:
				return Breaker{}
			}
		}
	}
	return Breaker{}
}

// breakerFrom returns the state of the breaker recorded in a compaction.
func breakerFrom(c *firn.Compaction) Breaker {
	f := DetailsOf(c).Failed
	if f == nil || f.Row <= 0 {
		return Breaker{}
	}
	return Breaker{Failures: f.Row, Last: f.At, Error: f.Error}
}

// IsOpen reports whether the breaker is open: so many attempts failed that no model is
// asked for a summary. Run with Threshold then returns ErrPaused if the last attempt
// compacted nothing, and otherwise summarizes without a model, as it does with Overflow;
// with Manual it tries. The breaker closes by itself after the cooldown of the settings.
// The next run then tries, and opens it again if it fails.
func (b Breaker) IsOpen(s Settings, now time.Time) bool {
	since := now.Sub(b.Last)
	return b.Failures >= s.failures() && since >= 0 && since < s.cooldown()
}

// Until returns the time when the breaker closes by itself.
func (b Breaker) Until(s Settings) time.Time { return b.Last.Add(s.cooldown()) }

// FailureLimit returns the number of consecutive failures that opens the breaker.
func (s Settings) FailureLimit() int { return s.failures() }

// failures returns the number of consecutive failed attempts on this path.
func failures(p window.Path) int { return BreakerOf(p).Failures }

// failure is the record of a failed run.
type failure struct {
	Reason Reason `json:"reason"`
	Error  string `json:"error"`
	// Row is the number of consecutive failures, including this one.
	Row int `json:"row"`
}

// recordFailure appends the record of a failed run.
func recordFailure(ctx context.Context, st store.Store, id firn.ID, f failure) error {
	data, err := marshal(f)
	if err != nil {
		return err
	}
	_, err = st.Append(ctx, id, store.Any, firn.NewEntry(&firn.Custom{Type: typeFailed, Data: data}))
	if err != nil {
		return fmt.Errorf("record that compacting session %s failed: %w", id, err)
	}
	return nil
}

// failedSummary returns the state of the breaker to record in a compaction: its own
// failure, or the earlier ones if no model was asked. It returns nil if a model or a hook
// made the summary.
func (r *run) failedSummary(c choice, s *summarizer) *FailedSummary {
	b := BreakerOf(r.path)
	switch {
	case c.strategy == ByHook:
		return nil
	case s.failure != nil:
		return &FailedSummary{Row: b.Failures + 1, At: r.now(), Error: firn.CutText(s.failure.Error(), maxFailure)}
	case s.asked:
		return nil
	case b.Failures > 0:
		return &FailedSummary{Row: b.Failures, At: b.Last, Error: b.Error}
	}
	return nil
}

// maxFailure is the maximum length of a recorded error, in bytes.
const maxFailure = 1000

// now returns the time of the job's clock.
func (r *run) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}
