package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"firn"
	"firn/agent"
	"firn/compact"
	"firn/provider"
)

// ErrNotLetIn says that a provider does not let us in: no key, or a wrong one.
var ErrNotLetIn = errors.New("not let in")

// errStopped is why a turn ends that the user stopped.
var errStopped = errors.New("stopped by the user")

// Problem is an error and what can be done about it.
type Problem struct {
	Err  error
	Hint string
	// Kind is a sentinel that Err does not wrap by itself; it may be nil.
	Kind error
}

// Error is the sentence without the hint.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns the error and its kind.
func (p *Problem) Unwrap() []error {
	if p.Kind == nil {
		return []error{p.Err}
	}
	return []error{p.Err, p.Kind}
}

// Ambiguous says that what was given for a session means several.
type Ambiguous struct {
	Name     string
	Sessions []firn.ID
}

// Error names the first few of them.
func (a *Ambiguous) Error() string {
	var names []string
	for _, id := range a.Sessions[:min(3, len(a.Sessions))] {
		names = append(names, string(id))
	}
	more := ""
	if n := len(a.Sessions) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s means %d sessions: %s%s", clean(a.Name), len(a.Sessions), strings.Join(names, ", "), more)
}

// advise adds a hint to an error, unless it has one or there is none to give.
func advise(err error, o Options) error {
	var p *Problem
	if err == nil || errors.As(err, &p) {
		return err
	}
	hint, kind := advice(err, newModels(o))
	if kind == nil && hint == "" {
		return err
	}
	return &Problem{Err: err, Hint: hint, Kind: kind}
}

// advice says what can be done about an error, and of what kind it is if it
// does not say so itself.
func advice(err error, m models) (hint string, kind error) {
	var failure *provider.Error
	errors.As(err, &failure)
	switch {
	case errors.Is(err, errStopped), errors.Is(err, context.Canceled):
		return "what was answered so far is kept; in the chat, /retry asks again", nil
	case errors.Is(err, firn.ErrNotSaved):
		return "is the disk full? firn doctor looks; what was said before is safe", nil
	case errors.Is(err, agent.ErrMoved), errors.Is(err, compact.ErrMoved):
		return "somebody else moved the session meanwhile; /history shows where it is now", nil
	case errors.Is(err, compact.ErrNothing):
		return "/window shows what the model is sent", nil
	case errors.Is(err, compact.ErrOpen):
		return "/compact tries again all the same; /window shows what takes up the room", nil
	case failure != nil && failure.Kind == provider.Auth:
		return authHint(m.keyOf(failure.Provider)), ErrNotLetIn
	case failure != nil && failure.Kind == provider.Overflow, errors.Is(err, firn.ErrTooLarge):
		return "/compact or /rewind make room, /new begins anew", nil
	case failure != nil && failure.Kind == provider.Temporary:
		return "the question is kept; in the chat, /retry asks it again", nil
	}
	return "", nil
}

func authHint(variable string) string {
	if variable == "" {
		return "another model can be chosen with -m, or in the chat with /model; " + offlineModel + " needs no key"
	}
	return "put a key that works into " + variable + ", or choose another model with -m, in the chat with /model; " + offlineModel + " needs no key"
}
