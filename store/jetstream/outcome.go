package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev"

	"github.com/nats-io/nats.go"
)

// ack is a server's response to a publish.
type ack struct {
	Seq       uint64    `json:"seq"`
	Duplicate bool      `json:"duplicate"`
	Error     *apiError `json:"error"`
}

// apiError is an error response of the server.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

// Error returns the server's description.
func (e *apiError) Error() string {
	return fmt.Sprintf("server error: %s (%d)", e.Description, e.ErrCode)
}

// isTemporary reports whether the error is temporary: the server is not ready or is out of
// date. The streams exist as long as the store does, so a "stream not found" comes from a
// server that does not know the stream yet, such as a new leader.
func (e *apiError) isTemporary() bool {
	return e.Code == 503 || e.Code == 500 || e.ErrCode == codeNoStream
}

// Error codes that are handled specially.
const (
	codeNoMessage         = 10037
	codeNoSequence        = 10043
	codeNoStream          = 10059
	codeWrongLast         = 10071 // with the sequence that the server has
	codeDuplicateUnderWay = 10158
	codeWrongLastUnderWay = 10164 // without it: another publish is still in progress
)

// verdict is the action to take after a publish.
type verdict int

const (
	// stored: the message is stored, now or by an earlier attempt.
	stored verdict = iota
	// soon: the server has not finished the previous publish; retry soon.
	soon
	// later: the outcome is unknown, or the server is out of date; retry with the same ID.
	later
	// conflict: another message may have come first; check which one it is.
	conflict
	// refused: the message will never be stored.
	refused
)

// judge interprets the response to a publish that expected last at the end of its subject.
//
// A server that was paused and resumes may still consider itself the leader and return an
// old sequence. So only a sequence greater than last proves that another writer was first.
func judge(a ack, err error, last uint64) verdict {
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return refused
	case err != nil:
		return later
	case a.Error == nil:
		return stored
	}
	switch a.Error.ErrCode {
	case codeWrongLastUnderWay, codeDuplicateUnderWay:
		return soon
	case codeWrongLast:
		if parseLastSequence(a.Error.Description) > last {
			return conflict
		}
		return later
	}
	if a.Error.isTemporary() {
		return later
	}
	return refused
}

// parseLastSequence returns the sequence at the end of an error description; 0 if there is
// none.
func parseLastSequence(description string) uint64 {
	n, err := strconv.ParseUint(description[strings.LastIndexByte(description, ' ')+1:], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// publisher is the part of a connection that a publish needs.
type publisher interface {
	// publish sends a message once and waits for the response.
	publish(ctx context.Context, msg *nats.Msg) (ack, error)
	// next returns the first message of a subject from a sequence on, as the leader has it;
	// nil if there is none.
	next(ctx context.Context, stream, subject string, seq uint64) (*message, error)
	// stalled starts a check of a stream's leader that does not accept a message which
	// expects last at the end of its subject.
	stalled(stream string, last uint64)
}

// errFenced is returned if another message came first.
var errFenced = errors.New("another message came first")

// Delays between attempts.
const (
	soonPause = 2 * time.Millisecond
	minPause  = 10 * time.Millisecond
	maxPause  = 250 * time.Millisecond
)

// publishFenced publishes a message if last is still the sequence at the end of its
// subject, and returns its sequence, or errFenced. It retries until the context is done and
// then returns an *[Unavailable], because the outcome is unknown. If it fails otherwise
// after an attempt that may have succeeded, the error is an *unsure. The message keeps its
// ID, so it is never stored twice.
func publishFenced(ctx context.Context, l publisher, stream string, msg *nats.Msg, last uint64) (uint64, error) {
	msg.Header.Set(headExpect, strconv.FormatUint(last, 10))
	pause, open := minPause, false
	for {
		a, err := l.publish(ctx, msg)
		if err == nil && a.Error != nil {
			err = a.Error
		}
		wait := pause
		switch judge(a, connectionError(a, err), last) {
		case stored:
			return a.Seq, nil
		case refused:
			return 0, markUnsure(open, fmt.Errorf("%w: %w", firn.ErrNotSaved, err))
		case conflict:
			seq, lookErr := resolveConflict(ctx, l, stream, msg, last)
			if lookErr == nil {
				return seq, nil
			}
			if err = lookErr; errors.Is(err, errFenced) {
				return 0, markUnsure(open, err)
			}
		case later:
			open = true
			l.stalled(stream, last)
		case soon:
			wait = soonPause
		}
		if sleepContext(ctx, wait) != nil || errors.Is(err, errConnClosed) {
			return 0, &Unavailable{Write: true, Sent: true, Cause: err}
		}
		if wait != soonPause {
			pause = min(2*pause, maxPause)
		}
	}
}

// markUnsure wraps an error as unsure if the outcome of an earlier attempt is open.
func markUnsure(open bool, err error) error {
	if open {
		return &unsure{err}
	}
	return err
}

// connectionError returns the error of the connection, if it is not the server's response.
func connectionError(a ack, err error) error {
	if a.Error != nil {
		return nil
	}
	return err
}

// resolveConflict returns the sequence of the message after last if it is ours, or else
// errFenced.
func resolveConflict(ctx context.Context, l publisher, stream string, msg *nats.Msg, last uint64) (uint64, error) {
	m, err := l.next(ctx, stream, msg.Subject, last+1)
	switch {
	case err != nil:
		return 0, err
	case m == nil: // the responding server does not have it, so it is not the latest leader
		return 0, errStale
	case m.header.Get(headID) == msg.Header.Get(headID):
		return m.seq, nil
	}
	return 0, errFenced
}

// errStale is returned if a server does not have what another one has reported.
var errStale = errors.New("the server does not know the latest")

// sleepContext waits for d, or fails if the context is done.
func sleepContext(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Unavailable reports that the cluster did not respond in time: there is no quorum, no
// connection, or an election took too long. Retrying later makes sense. It is an
// ErrUnavailable. A failed write is also an ErrNotSaved, and an ErrUnknownOutcome if it was
// sent and may be stored. Appending the same entries again, with their IDs and at the same
// position, is safe: they are stored once.
type Unavailable struct {
	// Write is set for a write, Sent if it may be stored.
	Write, Sent bool
	// Cause is the last error.
	Cause error
}

// Error describes the failure.
func (u *Unavailable) Error() string {
	if u.Write {
		kind := firn.ErrNotSaved
		if u.Sent {
			kind = firn.ErrUnknownOutcome
		}
		return fmt.Sprintf("%v: the cluster did not confirm it: %v", kind, u.Cause)
	}
	return fmt.Sprintf("the cluster does not answer: %v", u.Cause)
}

// Unwrap makes it an ErrUnavailable with the cause, and a write an ErrNotSaved.
func (u *Unavailable) Unwrap() []error {
	kinds := []error{firn.ErrUnavailable}
	if u.Sent {
		kinds = append(kinds, firn.ErrUnknownOutcome)
	} else if u.Write {
		kinds = append(kinds, firn.ErrNotSaved)
	}
	if !errors.Is(u.Cause, context.DeadlineExceeded) { // the deadline was ours, not the caller's
		kinds = append(kinds, u.Cause)
	}
	return kinds
}

// Retryable returns true.
func (u *Unavailable) Retryable() bool { return true }

// unsaved marks an error of an unreachable cluster as a write that was not saved.
func unsaved(err error) error {
	var u *Unavailable
	if errors.As(err, &u) {
		return &Unavailable{Write: true, Cause: u.Cause}
	}
	return err
}
