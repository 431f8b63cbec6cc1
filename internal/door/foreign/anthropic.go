package foreign

import "firn.dev/wire"

// AnthropicFailure is the body of an error response in Anthropic's format.
type AnthropicFailure struct {
	// Type is always "error".
	Type    string           `json:"type"`
	Error   AnthropicProblem `json:"error"`
	Request string           `json:"request_id,omitempty"`
}

// AnthropicProblem is a problem in Anthropic's format with additional members.
type AnthropicProblem struct {
	Type    string    `json:"type"`
	Message string    `json:"message"`
	Kind    wire.Kind `json:"kind,omitempty"`
	Hint    string    `json:"hint,omitempty"`
	Request string    `json:"request,omitempty"`
}

// ToAnthropic converts a problem to Anthropic's format.
func ToAnthropic(p wire.Problem) AnthropicFailure {
	kind := "api_error"
	switch p.Kind {
	case wire.NoToken:
		kind = "authentication_error"
	case wire.NotAllowed:
		kind = "permission_error"
	case wire.NotFound:
		kind = "not_found_error"
	case wire.TooLarge:
		kind = "request_too_large"
	case wire.Busy:
		kind = "rate_limit_error"
	case wire.Closing, wire.Unavailable:
		kind = "overloaded_error"
	case wire.Invalid, wire.Ambiguous, wire.Conflict, wire.Locked, wire.Unsupported:
		kind = "invalid_request_error"
	}
	message := p.Message
	if p.Hint != "" {
		message += ": " + p.Hint // clients show only the message
	}
	return AnthropicFailure{Type: "error", Error: AnthropicProblem{Type: kind, Message: message, Kind: p.Kind, Hint: p.Hint, Request: p.Request}, Request: p.Request}
}
