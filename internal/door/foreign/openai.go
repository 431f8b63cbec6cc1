package foreign

import (
	"strings"

	"firn.dev/wire"
)

// ModelList lists models in two forms: as a page of the gateway's API and as a list of
// OpenAI's. For OpenAI clients an agent is also a model.
type ModelList struct {
	wire.Page[wire.Model]
	// Object is "list".
	Object string        `json:"object"`
	Data   []OpenAIModel `json:"data"`
}

// OpenAIModel is a model or an agent in OpenAI's format.
type OpenAIModel struct {
	ID string `json:"id"`
	// Object is "model".
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// OpenAIFailure is the body of an error response in OpenAI's format.
type OpenAIFailure struct {
	Error OpenAIProblem `json:"error"`
}

// OpenAIProblem is a problem in OpenAI's format with additional members.
type OpenAIProblem struct {
	Message string    `json:"message"`
	Type    string    `json:"type"`
	Param   *string   `json:"param"`
	Code    *string   `json:"code"`
	Kind    wire.Kind `json:"kind,omitempty"`
	Hint    string    `json:"hint,omitempty"`
	Request string    `json:"request,omitempty"`
}

// ToOpenAI converts a problem to OpenAI's format.
func ToOpenAI(p wire.Problem) OpenAIFailure {
	code := strings.ReplaceAll(string(p.Kind), "-", "_")
	kind := "server_error"
	switch p.Kind {
	case wire.NoToken:
		kind, code = "authentication_error", "invalid_api_key"
	case wire.NotAllowed:
		kind = "permission_error"
	case wire.Busy:
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	case wire.Invalid, wire.NotFound, wire.Ambiguous, wire.Conflict, wire.Locked, wire.TooLarge, wire.Unsupported:
		kind = "invalid_request_error"
	}
	message := p.Message
	if p.Hint != "" {
		message += ": " + p.Hint // clients show only the message
	}
	return OpenAIFailure{Error: OpenAIProblem{Message: message, Type: kind, Code: &code, Kind: p.Kind, Hint: p.Hint, Request: p.Request}}
}
