package openaiapi

import (
	"context"
	"errors"
	"net/http"

	"firn/client"
	"firn/wire"
)

// fail answers with a problem, unless an answer is on its way.
func (v *visit) fail(err error) {
	if v.begun || v.r.Context().Err() != nil {
		return
	}
	failure, status := failureOf(err)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		v.w.Header().Set("Retry-After", "1")
	}
	_ = v.reply(status, failure) // it has a spelling
}

// failureOf tells an error as OpenAI's API does, with its status.
func failureOf(err error) (wire.OpenAIFailure, int) {
	var w *wrong
	var p *wire.Problem
	var u *client.Unreachable
	switch {
	case errors.As(err, &w):
		p = w.Problem
	case errors.As(err, &p):
	case errors.As(err, &u):
		p = &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "ask again when it is back"}
	case errors.Is(err, context.Canceled):
		p = &wire.Problem{Kind: wire.Closing, Message: "the request was given up"}
	default:
		p = &wire.Problem{Kind: wire.KindOf(err), Message: err.Error()}
	}
	f := wire.InOpenAI(*p)
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
		status = http.StatusConflict // which clients know
	}
	return f, status
}
