package openaiapi

import (
	"context"
	"errors"
	"net/http"

	"firn.dev/client"
	"firn.dev/wire"
)

// fail answers with an error, unless the response has started.
func (v *exchange) fail(err error) {
	if v.started || v.r.Context().Err() != nil {
		return
	}
	failure, status := failureOf(err)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		v.w.Header().Set("Retry-After", "1")
	}
	_ = v.reply(status, failure) // cannot happen: it always marshals
}

// failureOf converts an error to OpenAI's format and returns its HTTP status.
func failureOf(err error) (wire.OpenAIFailure, int) {
	var w *requestError
	var p *wire.Problem
	var u *client.Unreachable
	switch {
	case errors.As(err, &w):
		p = w.Problem
	case errors.As(err, &p):
	case errors.As(err, &u):
		p = &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "try again when it is back"}
	case errors.Is(err, context.Canceled):
		p = &wire.Problem{Kind: wire.Closing, Message: "the request was canceled"}
	default:
		p = &wire.Problem{Kind: wire.KindOf(err), Message: err.Error()}
	}
	f := wire.ToOpenAI(*p)
	if w != nil {
		if w.code != "" {
			f.Error.Code = &w.code
		}
		if w.param != "" {
			f.Error.Param = &w.param
		}
	}
	status := p.Status()
	switch status {
	case http.StatusLocked, http.StatusPreconditionFailed, http.StatusNotImplemented:
		status = http.StatusConflict // a status that clients handle
	}
	return f, status
}
