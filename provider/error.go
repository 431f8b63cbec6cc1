package provider

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind classifies a failure by how it can be handled.
type Kind string

// The kinds of failure.
const (
	// Temporary failures may succeed on retry: rate limits, an overloaded or failing
	// server, network errors, and truncated or malformed answers.
	Temporary Kind = "temporary"
	// Overflow means that the request is too long for the model.
	Overflow Kind = "overflow"
	// Auth means that the provider rejects the credentials: the key is missing, invalid or
	// lacks permission, or the account has no credit.
	Auth Kind = "auth"
	// BadRequest means that the provider rejects the request. A retry will not help.
	BadRequest Kind = "bad-request"
)

// Error is a failure of a model.
type Error struct {
	Kind            Kind
	Provider, Model string
	// Status is the HTTP status, or zero if there was no HTTP response.
	Status int
	// Code is the provider's own error code, if any.
	Code string
	// Message is the provider's error message.
	Message string
	// RetryAfter is the delay that the provider requests before a retry.
	RetryAfter time.Duration
	// Partial reports whether part of the answer had been received.
	Partial bool
	// Err is the underlying error, if the failure was not reported by the provider.
	Err error
	// Advice is what the user can do, if the program that made the model knows more than
	// [Error.Hint]: the variable of the key, a similar model, how to start a server.
	Advice string
}

// Error returns the provider, what failed in plain words, and the provider's message. If the
// provider requests a delay, or gives the sizes of a request that is too long, they are part
// of the text.
func (e *Error) Error() string {
	text := e.Provider
	if e.Model != "" {
		text += "/" + e.Model
	}
	text += ": " + e.what()
	switch {
	case e.Status != 0 && e.Code != "":
		text += fmt.Sprintf(" (%d, %s)", e.Status, e.Code)
	case e.Status != 0:
		text += fmt.Sprintf(" (%d)", e.Status)
	case e.Code != "":
		text += " (" + e.Code + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if cause := causeText(e.Err); cause != "" {
		text += ": " + cause
	}
	if e.Kind == Temporary && e.RetryAfter > 0 && !strings.Contains(text, "try again in") {
		text += "; try again in " + delayText(e.RetryAfter)
	}
	return text
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of a failure. It is empty if err is not an [*Error].
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
