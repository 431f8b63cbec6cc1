package openaiapi

import (
	"errors"

	"firn.dev/internal/door/conversation"
	"firn.dev/internal/door/foreign"
)

// failureOf converts an error to OpenAI's format and returns its HTTP status.
func failureOf(err error) (foreign.OpenAIFailure, int) {
	p, status := conversation.ProblemOf(err)
	f := foreign.ToOpenAI(*p)
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
