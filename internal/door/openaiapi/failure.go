package openaiapi

import (
	"errors"

	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// failureOf converts an error to OpenAI's format and returns its HTTP status.
func failureOf(err error) (wire.OpenAIFailure, int) {
	p, status := conversation.ProblemOf(err)
	f := wire.ToOpenAI(*p)
	var e *conversation.RequestError
	if errors.As(err, &e) {
		if e.Code != "" {
			f.Error.Code = &e.Code
		}
		if e.Param != "" {
			f.Error.Param = &e.Param
		}
	}
	return f, status
}
