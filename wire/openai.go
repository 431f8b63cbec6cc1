package wire

import "strings"

// ModelList lists models in two shapes at once: as a page of ours, and as
// OpenAI does. For clients of OpenAI's an agent is a model too.
type ModelList struct {
	Page[Model]
	// Object is "list".
	Object string        `json:"object"`
	Data   []OpenAIModel `json:"data"`
}

// OpenAIModel is a model, or an agent, as OpenAI tells of it.
type OpenAIModel struct {
	ID string `json:"id"`
	// Object is "model".
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// OpenAIFailure is the body of an answer that is a problem, as OpenAI's API has
// it.
type OpenAIFailure struct {
	Error OpenAIProblem `json:"error"`
}

// OpenAIProblem is a problem as OpenAI's API tells it, with what we have to say
// beside.
type OpenAIProblem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
	Kind    Kind    `json:"kind,omitempty"`
	Hint    string  `json:"hint,omitempty"`
	Request string  `json:"request,omitempty"`
}

// InOpenAI tells a problem as OpenAI's API does.
func InOpenAI(p Problem) OpenAIFailure {
	code := strings.ReplaceAll(string(p.Kind), "-", "_")
	kind := "server_error"
	switch p.Kind {
	case NoToken:
		kind, code = "authentication_error", "invalid_api_key"
	case NotAllowed:
		kind = "permission_error"
	case Busy:
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	case Invalid, NotFound, Ambiguous, Conflict, Locked, TooLarge, Unsupported:
		kind = "invalid_request_error"
	}
	message := p.Message
	if p.Hint != "" {
		message += ": " + p.Hint // clients show no more than the message
	}
	return OpenAIFailure{Error: OpenAIProblem{Message: message, Type: kind, Code: &code, Kind: p.Kind, Hint: p.Hint, Request: p.Request}}
}
