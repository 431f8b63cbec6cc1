package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"firn.dev/provider"
)

// errUnfinished means that the server never signaled the end of the answer.
var errUnfinished = errors.New("the stream ended before the answer did")

// errNameless means that a call has no name.
var errNameless = errors.New("the answer calls a tool without a name")

// cutOff returns the error for an answer that was truncated.
func cutOff(info *provider.Info, err error) *provider.Error {
	return &provider.Error{Kind: provider.Temporary, Provider: info.Provider, Model: info.Name, Partial: true, Err: err}
}

// filtered returns the error for an answer that a content filter removed entirely.
func filtered(info *provider.Info) *provider.Error {
	return &provider.Error{
		Kind: provider.BadRequest, Provider: info.Provider, Model: info.Name,
		Code: "content_filter", Message: "a content filter blocked the whole answer",
	}
}

// isFault reports whether an error member contains an error.
func isFault(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}

// streamError converts an error that a server sent within an answer.
func streamError(info *provider.Info, raw json.RawMessage, began bool) *provider.Error {
	e := provider.StreamError(info.Provider, info.Name, raw)
	if strings.HasPrefix(e.Code, "content_filter") {
		e.Kind = provider.BadRequest
	}
	e.Partial = began
	return e
}
