package conversation

import (
	"context"
	"errors"
	"net/http"

	"firn.dev/client"
	"firn.dev/wire"
)

// ProblemOf returns an error as a problem, with the HTTP status to answer with.
func ProblemOf(err error) (*wire.Problem, int) {
	var p *wire.Problem
	var u *client.Unreachable
	switch {
	case errors.As(err, &p):
	case errors.As(err, &u):
		p = &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "try again when it is back"}
	case errors.Is(err, context.Canceled):
		p = &wire.Problem{Kind: wire.Closing, Message: "the request was canceled"}
	default:
		p = &wire.Problem{Kind: wire.KindOf(err), Message: err.Error()}
	}
	status := p.Status()
	switch status {
	case http.StatusLocked, http.StatusPreconditionFailed, http.StatusNotImplemented:
		status = http.StatusConflict // a status that clients handle
	}
	return p, status
}
