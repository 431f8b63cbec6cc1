package wire

import (
	"context"
	"errors"
	"net/http"

	"firn.dev"
)

// Problem is why something was not done: a kind that programs can tell apart, a
// sentence, and what to do about it.
type Problem struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// End is where the session ends, for a conflict.
	End firn.Pos `json:"end,omitempty"`
	// Request names the request in the gateway's log.
	Request string `json:"request,omitempty"`
}

// Failure is the body of an answer that is a problem.
type Failure struct {
	Error Problem `json:"error"`
}

// Error is the sentence.
func (p *Problem) Error() string { return p.Message }

// Unwrap gives the kind of error in the root package that the problem is, so
// that errors.Is works on both sides of the wire.
func (p *Problem) Unwrap() error { return kinds[p.Kind].err }

// Status is the HTTP status of the problem.
func (p *Problem) Status() int {
	if k, ok := kinds[p.Kind]; ok {
		return k.status
	}
	return http.StatusInternalServerError
}

// Kind says what kind of problem it is. The command line has an exit code for
// each.
type Kind string

// The kinds of problems.
const (
	Invalid     Kind = "invalid"
	NotFound    Kind = "not-found"
	Ambiguous   Kind = "ambiguous"
	Conflict    Kind = "conflict"
	Locked      Kind = "locked"
	NotAllowed  Kind = "not-allowed"
	NoToken     Kind = "no-token"
	Corrupt     Kind = "corrupt"
	TooLarge    Kind = "too-large"
	Unsupported Kind = "unsupported"
	NotSaved    Kind = "not-saved"
	Unknown     Kind = "unknown-outcome" // it may or may not be saved
	Unavailable Kind = "unavailable"     // the cluster does not answer; the same again later
	Busy        Kind = "busy"
	Upstream    Kind = "upstream" // the model's provider failed
	TurnStopped Kind = "stopped"  // the turn was stopped, or gave way to a newer message
	Closing     Kind = "closing"
	Internal    Kind = "internal"
)

// kinds is the one table that maps kinds to errors and HTTP status.
var kinds = map[Kind]struct {
	err    error
	status int
}{
	Invalid:     {firn.ErrInvalid, http.StatusBadRequest},
	NotFound:    {firn.ErrNotFound, http.StatusNotFound},
	Ambiguous:   {nil, http.StatusConflict},
	Conflict:    {firn.ErrConflict, http.StatusPreconditionFailed},
	Locked:      {firn.ErrLocked, http.StatusLocked},
	NotAllowed:  {nil, http.StatusForbidden},
	NoToken:     {nil, http.StatusUnauthorized},
	Corrupt:     {firn.ErrCorrupt, http.StatusInternalServerError},
	TooLarge:    {firn.ErrTooLarge, http.StatusRequestEntityTooLarge},
	Unsupported: {firn.ErrUnsupported, http.StatusNotImplemented},
	NotSaved:    {firn.ErrNotSaved, http.StatusInsufficientStorage},
	Unknown:     {firn.ErrUnknownOutcome, http.StatusServiceUnavailable},
	Unavailable: {firn.ErrUnavailable, http.StatusServiceUnavailable},
	Busy:        {nil, http.StatusTooManyRequests},
	Upstream:    {nil, http.StatusBadGateway},
	TurnStopped: {nil, http.StatusConflict},
	Closing:     {firn.ErrClosed, http.StatusServiceUnavailable},
	Internal:    {nil, http.StatusInternalServerError},
}

// order is the order in which KindOf asks, since an error may be several.
var order = []Kind{Unknown, Unavailable, NotSaved, Conflict, Locked, Corrupt, TooLarge, Unsupported, NotFound, Closing, Invalid}

// KindOf is the kind of problem that an error is.
func KindOf(err error) Kind {
	var p *Problem
	if errors.As(err, &p) {
		return p.Kind
	}
	if errors.Is(err, firn.ErrReplaced) {
		return NotSaved
	}
	for _, k := range order {
		if errors.Is(err, kinds[k].err) {
			return k
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Unavailable // it took longer than we wait; trying again makes sense
	}
	return Internal
}
