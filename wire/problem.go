package wire

import (
	"context"
	"errors"
	"net/http"

	"firn.dev"
)

// Problem is an error of the API: a kind for programs, a sentence and a hint.
type Problem struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// End is the end of the session, for a conflict.
	End firn.Pos `json:"end,omitempty"`
	// Request identifies the request in the gateway's log.
	Request string `json:"request,omitempty"`
}

// Failure is the body of an error response.
type Failure struct {
	Error Problem `json:"error"`
}

// Error returns the message.
func (p *Problem) Error() string { return p.Message }

// Unwrap returns the corresponding error of the root package, so that errors.Is works on
// both sides of the API.
func (p *Problem) Unwrap() error { return kinds[p.Kind].err }

// Status returns the HTTP status of the problem.
func (p *Problem) Status() int {
	if k, ok := kinds[p.Kind]; ok {
		return k.status
	}
	return http.StatusInternalServerError
}

// Kind is the kind of a problem. The command line has an exit code for each.
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
	Unavailable Kind = "unavailable"     // the cluster does not respond; retry later
	Busy        Kind = "busy"
	Upstream    Kind = "upstream" // the model's provider failed
	TurnStopped Kind = "stopped"  // the turn was stopped, or interrupted by a newer message
	Closing     Kind = "closing"
	Internal    Kind = "internal"
)

// kinds maps kinds to errors and HTTP statuses.
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

// order is the order in which KindOf checks, since an error may match several kinds.
var order = []Kind{Unknown, Unavailable, NotSaved, Conflict, Locked, Corrupt, TooLarge, Unsupported, NotFound, Closing, Invalid}

// KindOf returns the kind of an error.
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
		return Unavailable // a timeout; retrying makes sense
	}
	return Internal
}
