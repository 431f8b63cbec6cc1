package wire

// AnthropicFailure is the body of an error response in Anthropic's format.
type AnthropicFailure struct {
	// Type is always "error".
	Type    string           `json:"type"`
	Error   AnthropicProblem `json:"error"`
	Request string           `json:"request_id,omitempty"`
}

// AnthropicProblem is a problem in Anthropic's format with additional members.
type AnthropicProblem struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Kind    Kind   `json:"kind,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Request string `json:"request,omitempty"`
}

// ToAnthropic converts a problem to Anthropic's format.
func ToAnthropic(p Problem) AnthropicFailure {
	kind := "api_error"
	switch p.Kind {
	case NoToken:
		kind = "authentication_error"
	case NotAllowed:
		kind = "permission_error"
	case NotFound:
		kind = "not_found_error"
	case TooLarge:
		kind = "request_too_large"
	case Busy:
		kind = "rate_limit_error"
	case Closing, Unavailable:
		kind = "overloaded_error"
	case Invalid, Ambiguous, Conflict, Locked, Unsupported:
		kind = "invalid_request_error"
	}
	message := p.Message
	if p.Hint != "" {
		message += ": " + p.Hint // clients show only the message
	}
	return AnthropicFailure{Type: "error", Error: AnthropicProblem{Type: kind, Message: message, Kind: p.Kind, Hint: p.Hint, Request: p.Request}, Request: p.Request}
}
