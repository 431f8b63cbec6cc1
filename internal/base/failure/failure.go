// Package failure makes errors that have a kind, but whose message does not repeat it.
package failure

import (
	"errors"
	"fmt"
)

// Of returns an error with the formatted message. errors.Is finds the kind, which is one of
// the sentinels of package firn, but the message does not end with the sentinel's text.
func Of(kind error, format string, args ...any) error {
	return &failure{kind, fmt.Sprintf(format, args...)}
}

type failure struct {
	kind    error
	message string
}

func (f *failure) Error() string { return f.message }

func (f *failure) Unwrap() error { return f.kind }

// WithHint adds a hint for the user to an error. Hint returns it.
func WithHint(err error, hint string) error { return &hinted{err, hint} }

type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint returns the outermost hint of an error; empty if it has none.
func Hint(err error) string {
	var h *hinted
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}
