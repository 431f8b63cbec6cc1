package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"firn/provider"
)

// errUnfinished says that the server never said that the answer is whole.
var errUnfinished = errors.New("the stream ended before the answer did")

// errNameless says that a call cannot be told from any other.
var errNameless = errors.New("the answer calls a tool without a name")

// cutOff is the failure of an answer that began and will not be finished.
func cutOff(info *provider.Info, err error) *provider.Error {
	return &provider.Error{Kind: provider.Temporary, Provider: info.Provider, Model: info.Name, Began: true, Err: err}
}

// filtered is the failure of an answer of which a filter let nothing through.
func filtered(info *provider.Info) *provider.Error {
	return &provider.Error{
		Kind: provider.BadRequest, Provider: info.Provider, Model: info.Name,
		Code: "content_filter", Message: "a content filter let nothing of the answer through",
	}
}

// isFault reports whether a member that tells of an error tells of one.
func isFault(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}

// complaint makes a failure of what a server said in its answer.
func complaint(info *provider.Info, raw json.RawMessage, began bool) *provider.Error {
	e := provider.StreamComplaint(info.Provider, info.Name, raw)
	if strings.HasPrefix(e.Code, "content_filter") {
		e.Kind = provider.BadRequest
	}
	e.Began = began
	return e
}
