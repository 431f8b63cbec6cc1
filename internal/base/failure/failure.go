// Package failure makes errors that have a kind, but whose message does not repeat it.
package failure

import "fmt"

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
