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

// The types of the custom entries in which the breaker is kept.
const (
	// TypeFailed records a run that failed: {reason, error, row}.
	TypeFailed = "firn.compaction-failed"
	// TypeBreaker records that the breaker was closed: {state: "closed"}.
	TypeBreaker = "firn.compaction-breaker"
)

// Breaker counts the tries to compact a session that failed in a row, whatever they
// were run for: runs that compacted nothing, and runs whose summariser failed, so that
// the summary was made without a model. A summary of a model, or of a hook, resets it.
type Breaker struct {
	Failures int
	// Last is when the last one failed, Error why.
	Last  time.Time
	Error string
	// Nothing says that the last one compacted nothing.
	Nothing bool
}

// BreakerOf reads the breaker from the live part of a session.
func BreakerOf(p window.Path) Breaker {
	for i := len(p.Entries) - 1; i >= 0; i-- {
		e := &p.Entries[i]
		switch body := e.Body.(type) {
		case *firn.Compaction:
			return breakerIn(body)
		case *firn.Custom:
			switch body.Type {
			case TypeFailed:
				var f failure
				_ = json.Unmarshal(body.Data, &f) // one that cannot be read is one failure
				return Breaker{Failures: max(f.Row, 1), Last: e.Time, Error: f.Error, Nothing: true}
			case TypeBreaker:
				return Breaker{}
			}
		}
	}
	return Breaker{}
}

// breakerIn is the breaker that a compaction carries on.
func breakerIn(c *firn.Compaction) Breaker {
	f := DetailsOf(c).Failed
	if f == nil || f.Row <= 0 {
		return Breaker{}
	}
	return Breaker{Failures: f.Row, Last: f.At, Error: f.Error}
}

// Open reports whether so many tries failed that no model is asked for a summary: Run
// with Threshold then returns ErrOpen if the last try compacted nothing, and otherwise
// summarises without a model, as it does with Overflow; with Manual it tries. The
// breaker closes by itself when the cooldown of the settings is over: then the next run
// tries, and opens it again if it fails.
func (b Breaker) Open(s Settings, now time.Time) bool {
	since := now.Sub(b.Last)
	return b.Failures >= s.failures() && since >= 0 && since < s.cooldown()
}

// Until is when the breaker closes by itself.
func (b Breaker) Until(s Settings) time.Time { return b.Last.Add(s.cooldown()) }

// FailureLimit is how many failures in a row open the breaker.
func (s Settings) FailureLimit() int { return s.failures() }

// Failures is how many tries failed in a row on this path.
func Failures(p window.Path) int { return BreakerOf(p).Failures }

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

// failedSummary is what a compaction keeps of the breaker: of its own failure, or of
// those before it if no model was asked. None if a model or a hook made the summary.
func (r *run) failedSummary(c choice, s *summariser) *FailedSummary {
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

// maxFailure bounds what is recorded of an error, in bytes.
const maxFailure = 1000

// now is the time by the clock of the job.
func (r *run) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}
