package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn"

	"github.com/nats-io/nats.go"
)

// ack is what a server answers to a publish.
type ack struct {
	Seq       uint64    `json:"seq"`
	Duplicate bool      `json:"duplicate"`
	Error     *apiError `json:"error"`
}

// apiError is a refusal of the server.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

// Error tells what the server said.
func (e *apiError) Error() string {
	return fmt.Sprintf("the server says: %s (%d)", e.Description, e.ErrCode)
}

// passes reports whether the refusal is one of a server that is not ready or does not
// know the latest. The streams exist as long as the store does: a server that says
// that one does not has not heard of it yet, as a new leader may not have.
func (e *apiError) passes() bool {
	return e.Code == 503 || e.Code == 500 || e.ErrCode == codeNoStream
}

// The refusals that mean something to us.
const (
	codeNoMessage         = 10037
	codeNoSequence        = 10043
	codeNoStream          = 10059
	codeWrongLast         = 10071 // with the sequence that the server has
	codeDuplicateUnderWay = 10158
	codeWrongLastUnderWay = 10164 // without it: another publish is not yet done with
)

// verdict is what to do after a publish.
type verdict int

const (
	// stored: the message is there, now or since an earlier attempt.
	stored verdict = iota
	// soon: the server has not finished the publish before; the same again.
	soon
	// later: nobody knows whether it is stored, or who answered does not know
	// the latest; the same again, with the same id.
	later
	// look: another message may have come first; see whose it is.
	look
	// refused: it will never be stored.
	refused
)

// judge decides what an answer to a publish means that expected last at the end
// of its subject.
//
// A server that was stopped and goes on may still take itself for the leader
// and tell an old sequence. So only one that is greater than ours proves that
// somebody else has written.
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
		if told(a.Error.Description) > last {
			return look
		}
		return later
	}
	if a.Error.passes() {
		return later
	}
	return refused
}

// told returns the sequence at the end of a refusal; 0 if there is none.
func told(description string) uint64 {
	n, err := strconv.ParseUint(description[strings.LastIndexByte(description, ' ')+1:], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// line is what a publish needs of a connection.
type line interface {
	// publish sends a message once and waits for the answer.
	publish(ctx context.Context, msg *nats.Msg) (ack, error)
	// next returns the first message of a subject from a sequence on, as the
	// leader has it; nil if there is none.
	next(ctx context.Context, stream, subject string, seq uint64) (*message, error)
	// stalled has the leader of a stream looked at that does not take a message
	// which expects last at the end of its subject.
	stalled(stream string, last uint64)
}

// errFenced says that another message came first.
var errFenced = errors.New("another message came first")

// The pauses between attempts.
const (
	soonPause = 2 * time.Millisecond
	minPause  = 10 * time.Millisecond
	maxPause  = 250 * time.Millisecond
)

// cast publishes a message if last is still the sequence at the end of its
// subject, and returns its own; errFenced otherwise. It tries until the context
// is done. Then nobody knows whether the message is stored: an *[Unavailable]. If
// it fails otherwise after an attempt that may have succeeded it is an *unsure.
// The message keeps its id whatever happens, so it is never stored twice.
func cast(ctx context.Context, l line, stream string, msg *nats.Msg, last uint64) (uint64, error) {
	msg.Header.Set(headExpect, strconv.FormatUint(last, 10))
	pause, open := minPause, false
	for {
		a, err := l.publish(ctx, msg)
		if err == nil && a.Error != nil {
			err = a.Error
		}
		wait := pause
		switch judge(a, errOfLine(a, err), last) {
		case stored:
			return a.Seq, nil
		case refused:
			return 0, either(open, fmt.Errorf("%w: %w", firn.ErrNotSaved, err))
		case look:
			seq, lookErr := whose(ctx, l, stream, msg, last)
			if lookErr == nil {
				return seq, nil
			}
			if err = lookErr; errors.Is(err, errFenced) {
				return 0, either(open, err)
			}
		case later:
			open = true
			l.stalled(stream, last)
		case soon:
			wait = soonPause
		}
		if rest(ctx, wait) != nil || errors.Is(err, errConnClosed) {
			return 0, &Unavailable{Write: true, Sent: true, Cause: err}
		}
		if wait != soonPause {
			pause = min(2*pause, maxPause)
		}
	}
}

// either makes a failure one that is unsure.
func either(open bool, err error) error {
	if open {
		return &unsure{err}
	}
	return err
}

// errOfLine returns the error that is not the server's answer.
func errOfLine(a ack, err error) error {
	if a.Error != nil {
		return nil
	}
	return err
}

// whose looks whether the message that follows last is ours.
func whose(ctx context.Context, l line, stream string, msg *nats.Msg, last uint64) (uint64, error) {
	m, err := l.next(ctx, stream, msg.Subject, last+1)
	switch {
	case err != nil:
		return 0, err
	case m == nil: // who answers now does not know it: not the latest leader
		return 0, errStale
	case m.header.Get(headID) == msg.Header.Get(headID):
		return m.seq, nil
	}
	return 0, errFenced
}

// errStale says that a server does not know what another one has told.
var errStale = errors.New("the server does not know the latest")

// rest waits, or returns that the context is done.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Unavailable says that the cluster did not answer in time: no quorum, no
// connection, or an election that took too long. Trying again later makes sense.
// A write that fails so is an ErrNotSaved, and an ErrUnknownOutcome if it was sent: it may
// still be found stored. It is an
// ErrUnavailable. To append the same entries again, with their ids and at the same
// place, makes sure of it: they are stored once.
type Unavailable struct {
	// Write is set if something was to be stored, Sent if it may be stored.
	Write, Sent bool
	// Cause is what was last heard.
	Cause error
}

// Error says what happened.
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
	if !errors.Is(u.Cause, context.DeadlineExceeded) { // it was ours, not the caller's
		kinds = append(kinds, u.Cause)
	}
	return kinds
}

// Retryable reports that trying again makes sense.
func (u *Unavailable) Retryable() bool { return true }

// unsaved makes a cluster that does not answer the reason why nothing was saved.
func unsaved(err error) error {
	var u *Unavailable
	if errors.As(err, &u) {
		return &Unavailable{Write: true, Cause: u.Cause}
	}
	return err
}
