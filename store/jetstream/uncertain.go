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

// uncertainAppend is an append with an unknown outcome: it was sent but not acknowledged.
// If the same append is requested again, it gets the outcome of this one, so that a
// successful append neither conflicts with itself nor is stored twice.
type uncertainAppend struct {
	frame *frame
	// last is the sequence that it expects at the end of its subject.
	last uint64
	// expect and encoded identify the request. encoded is nil if it cannot be distinguished
	// from other requests.
	expect  store.Pos
	encoded []byte
	since   time.Time
}

// unsure is a failed publish after an attempt that may have succeeded.
type unsure struct{ error }

// Unwrap returns the cause and ErrUnknownOutcome.
func (u *unsure) Unwrap() []error { return []error{u.error, firn.ErrUnknownOutcome} }

// mayBeStored reports whether a failed publish may be stored.
func mayBeStored(err error) bool {
	var a *Unavailable
	var u *unsure
	return errors.As(err, &a) || errors.As(err, &u)
}

// encodeEntries returns the encoded entries, to recognize a repeated request. It returns
// nil if an entry has no ID, since each request then creates a new entry.
func (st *openSessions) encodeEntries(entries []firn.Entry) []byte {
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

// matches reports whether a request is the same.
func (d *uncertainAppend) matches(expect store.Pos, spelled []byte) bool {
	return spelled != nil && bytes.Equal(spelled, d.encoded) && (expect == d.expect || expect == store.Any)
}

// resolve determines the outcome of the session's uncertain append and reports whether it
// is stored. If it still can be stored, it is sent again unchanged.
func (st *openSessions) resolve(ctx, waitCtx context.Context, s *session) (bool, error) {
	d := s.uncertain
	if err := st.refreshTail(waitCtx, s); err != nil {
		return false, fmt.Errorf("append to session %s: find its end: %w", s.id, unsaved(err))
	}
	if s.tail.gone() {
		s.uncertain = nil
		return false, nil
	}
	if s.tail.end >= d.frame.end {
		there, err := st.holds(ctx, s, d.frame)
		if err != nil {
			return false, fmt.Errorf("append to session %s: see whether it was done before: %w", s.id, err)
		}
		s.uncertain = nil
		return there, nil
	}
	if s.tail.seq != d.last || d.frame.kind == kindBlob && time.Since(d.since) > strayAge/2 { // its object may have been deleted
		s.uncertain = nil
		return false, nil
	}
	if err := st.put(waitCtx, s, d.frame, false); err != nil {
		return false, fmt.Errorf("append to session %s: %w", s.id, err)
	}
	s.uncertain = nil
	return true, nil
}

// holds reports whether the session has the records of a frame at their positions. They may
// be in another message by now: a seal.
func (st *openSessions) holds(ctx context.Context, s *session, f *frame) (bool, error) {
	var lines [][]byte
	var failed error
	st.reader.readForward(ctx, s.id, s.tail, f.at(), func(r store.Record, err error) bool {
		if failed = err; err != nil {
			return false
		}
		lines = append(lines, slices.Clone(r.Line()))
		return r.Next < f.end
	})
	return failed == nil && len(lines) == f.count && f.prev.over(lines) == f.sum, failed
}

// outages records the streams for which a write timed out. Later writes do not wait long
// until one succeeds.
type outages struct {
	mu   sync.Mutex
	last map[string]time.Time
}

const (
	// shortWait is how long a write is tried after a previous one timed out.
	shortWait = time.Second
	// outageMemory is the time after which an outage is forgotten if there are no writes.
	outageMemory = time.Minute
)

// waitTime returns how long to wait for a stream.
func (o *outages) waitTime(stream string, wait time.Duration, now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last, out := o.last[stream]; out && now.Sub(last) < outageMemory {
		return min(wait, shortWait)
	}
	return wait
}

// record records the outcome of a write. A write that was canceled early does not count.
func (o *outages) record(ctx context.Context, stream string, err error, now time.Time) {
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

// startWrite returns a context that limits how long a write to a stream is tried. done must
// be called with the outcome.
func (e *engine) startWrite(ctx context.Context, stream string) (waitCtx context.Context, done func(error)) {
	waitCtx, cancel := context.WithTimeout(ctx, e.outages.waitTime(stream, e.wait, time.Now()))
	return waitCtx, func(err error) {
		cancel()
		e.outages.record(ctx, stream, err, time.Now())
	}
}
