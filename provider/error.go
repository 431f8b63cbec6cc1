package provider

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what can be done about a failure.
type Kind string

// The kinds of failure.
const (
	// Temporary failures may be gone after a while: too many requests, an
	// overloaded or broken server, a network that failed, an answer that was cut off
	// or made no sense.
	Temporary Kind = "temporary"
	// Overflow says that the request is too long for the model.
	Overflow Kind = "overflow"
	// Auth says that the provider does not let us in: a key that is missing,
	// wrong or not allowed to do this, or an account without credit.
	Auth Kind = "auth"
	// BadRequest says that the provider understood us and refuses. Asking the
	// same again is in vain.
	BadRequest Kind = "bad-request"
)

// Error is why a model did not answer.
type Error struct {
	Kind            Kind
	Provider, Model string
	// Status is that of HTTP, zero if it did not come to that.
	Status int
	// Code is the provider's own name for it, if it told one.
	Code string
	// Message is what the provider said, in its words.
	Message string
	// After is how long the provider asks to be left alone.
	After time.Duration
	// Began says that part of the answer had come.
	Began bool
	// Err is the cause, if it was not the provider that spoke.
	Err error
}

// Error says who failed, how, and what it said.
func (e *Error) Error() string {
	text := "ask " + e.Provider
	if e.Model != "" {
		text += "/" + e.Model
	}
	text += ": " + e.what()
	switch {
	case e.Status != 0 && e.Code != "":
		text += fmt.Sprintf(" (status %d, %s)", e.Status, e.Code)
	case e.Status != 0:
		text += fmt.Sprintf(" (status %d)", e.Status)
	case e.Code != "":
		text += " (" + e.Code + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) what() string {
	switch {
	case e.Kind == Overflow:
		return "the request is too long for the model"
	case e.Kind == Auth:
		return "not let in"
	case e.Kind == BadRequest:
		return "refused"
	case e.Began:
		return "the answer was cut off"
	case e.Status != 0 || e.Code != "" || e.Message != "":
		return "failed for now"
	}
	return "not reached"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of a failure, empty if it is not a provider's.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
