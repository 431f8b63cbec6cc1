package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// doubt is an append of which nobody knows whether it is stored: it was sent and
// not answered. Whoever asks for the same again gets an answer to this one, so
// that an append that did succeed is not refused because of itself, nor made
// twice.
type doubt struct {
	frame *frame
	// last is the message that it expects before it.
	last uint64
	// expect and spelled are what was asked for; spelled is nil if that cannot be
	// told apart from what others ask.
	expect  store.Pos
	spelled []byte
	since   time.Time
}

// unsure is a failure of a publish after an attempt that may have succeeded.
type unsure struct{ error }

// Unwrap makes it an ErrUnknownOutcome with the cause.
func (u *unsure) Unwrap() []error { return []error{u.error, firn.ErrUnknownOutcome} }

// inDoubt reports whether what failed so may be stored.
func inDoubt(err error) bool {
	var a *Unavailable
	var u *unsure
	return errors.As(err, &a) || errors.As(err, &u)
}

// spell tells entries apart: the same ones are asked for if they are spelled the
// same. Nil if one has no id, since that asks for another entry each time.
func (st *Store) spell(entries []firn.Entry) []byte {
	var all []byte
	for _, e := range entries {
		if e.ID == "" {
			return nil
		}
		line, err := st.dialect.Append(nil, e)
		if err != nil {
			return nil
		}
		all = append(append(all, line...), '\n')
	}
	return all
}

// isAsked reports whether the same is asked for again.
func (d *doubt) isAsked(expect store.Pos, spelled []byte) bool {
	return spelled != nil && bytes.Equal(spelled, d.spelled) && (expect == d.expect || expect == store.Any)
}

// resolve finds out what has become of the session's doubt and reports whether
// it is stored. If it can still be, it is sent again, as it was.
func (st *Store) resolve(ctx, patient context.Context, s *session) (bool, error) {
	d := s.doubt
	if err := st.look(patient, s); err != nil {
		return false, fmt.Errorf("append to session %s: look for its end: %w", s.id, unsaved(err))
	}
	if s.tail.gone() {
		s.doubt = nil
		return false, nil
	}
	if s.tail.end >= d.frame.end {
		there, err := st.holds(ctx, s, d.frame)
		if err != nil {
			return false, fmt.Errorf("append to session %s: see whether it was done before: %w", s.id, err)
		}
		s.doubt = nil
		return there, nil
	}
	if s.tail.seq != d.last || d.frame.kind == kindBlob && time.Since(d.since) > stray/2 { // its object may be gone
		s.doubt = nil
		return false, nil
	}
	if err := st.put(patient, s, d.frame, false); err != nil {
		return false, fmt.Errorf("append to session %s: %w", s.id, err)
	}
	s.doubt = nil
	return true, nil
}

// holds reports whether the records of a frame are where it would have put them.
// They may be in another message by now: a seal.
func (st *Store) holds(ctx context.Context, s *session, f *frame) (bool, error) {
	var lines [][]byte
	var failed error
	st.forth(ctx, s.id, s.tail, f.at(), func(r store.Record, err error) bool {
		if failed = err; err != nil {
			return false
		}
		lines = append(lines, slices.Clone(r.Line()))
		return r.Next < f.end
	})
	return failed == nil && len(lines) == f.count && f.prev.over(lines) == f.sum, failed
}

// outages knows which streams have let somebody wait in vain. Who comes next
// does not wait for long, until one gets through.
type outages struct {
	mu   sync.Mutex
	last map[string]time.Time
}

const (
	// brief is how long a write tries to get through when one before it did not.
	brief = time.Second
	// forgetful is after what time without a try nothing is known any more.
	forgetful = time.Minute
)

// patience is how long to wait for a stream.
func (o *outages) patience(stream string, wait time.Duration, now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last, out := o.last[stream]; out && now.Sub(last) < forgetful {
		return min(wait, brief)
	}
	return wait
}

// note takes notice of how a write ended. One that was given up before its time
// says nothing.
func (o *outages) note(ctx context.Context, stream string, err error, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var away *Unavailable
	switch {
	case !errors.As(err, &away):
		delete(o.last, stream)
	case ctx.Err() == nil:
		o.last[stream] = now
	}
}

// writing bounds how long a write to a stream tries to get through. Done must be
// told how it ended.
func (e *engine) writing(ctx context.Context, stream string) (patient context.Context, done func(error)) {
	patient, cancel := context.WithTimeout(ctx, e.outages.patience(stream, e.wait, time.Now()))
	return patient, func(err error) {
		cancel()
		e.outages.note(ctx, stream, err, time.Now())
	}
}
