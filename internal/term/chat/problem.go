package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// ErrKeyRejected means that a provider rejected the API key, or that there is none.
var ErrKeyRejected = errors.New("API key rejected")

// errStopped is the cancellation cause of a turn that the user stopped.
var errStopped = errors.New("stopped by the user")

// offlineModel needs no API key.
const offlineModel = "firn/offline"

// Problem is an error with a hint.
type Problem struct {
	Err  error
	Hint string
	// Kind is a sentinel that Err does not wrap. It may be nil.
	Kind error
}

// Error returns the message without the hint.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns the error and its kind.
func (p *Problem) Unwrap() []error {
	if p.Kind == nil {
		return []error{p.Err}
	}
	return []error{p.Err, p.Kind}
}

// advise adds a hint to an error, unless it already has one or there is none.
func advise(err error, o Options) error {
	var p *Problem
	if err == nil || errors.As(err, &p) {
		return err
	}
	hint, kind := advice(err, o)
	if kind == nil && hint == "" {
		return err
	}
	return &Problem{Err: err, Hint: hint, Kind: kind}
}

// authFailure matches the gateway's message about a rejected API key. The group is the
// provider.
var authFailure = pattern.New(`(?:^|: )([^/: ]+)/[^ ]*: (?:API key rejected|no API key|access denied)`)

// advice returns the hint for an error, and its kind if the error does not wrap it.
func advice(err error, o Options) (hint string, kind error) {
	switch {
	case errors.Is(err, errStopped), errors.Is(err, context.Canceled):
		return "the partial answer is saved; in the chat, /retry continues", nil
	case errors.Is(err, firn.ErrUnknownOutcome):
		return "it may or may not be saved; check the end of the session before sending it again", nil
	case errors.Is(err, firn.ErrUnavailable):
		return "the cluster does not respond; try again later; saved messages are safe", nil
	case errors.Is(err, firn.ErrReplaced):
		return "another program replaced the session's file; run firn doctor, then try again", nil
	case errors.Is(err, firn.ErrNotSaved):
		var p *wire.Problem
		if errors.As(err, &p) && p.Hint != "" {
			return p.Hint, nil // the gateway's hint is more specific
		}
		return "the disk may be full; run firn doctor; saved messages are safe", nil
	case errors.Is(err, firn.ErrTooLarge):
		var p *wire.Problem
		if errors.As(err, &p) && p.Hint != "" {
			return p.Hint, nil
		}
		return "/new starts another session", nil
	}
	var p *wire.Problem
	if !errors.As(err, &p) {
		return "", nil
	}
	if p.Kind == wire.Upstream {
		if who := authFailure().FindStringSubmatch(p.Message); who != nil {
			return authHint(who[1], o), ErrKeyRejected
		}
		if p.Hint == "" {
			return "your message is saved; /retry sends it again, /model or -m changes the model", nil
		}
	}
	return p.Hint, nil
}

// withGatewayHint adds a hint to the error of an unreachable gateway. With a local socket
// the home is on this machine, so the chat can continue without a gateway.
func withGatewayHint(err error) error {
	var lost *client.Unreachable
	if !errors.As(err, &lost) {
		return err
	}
	hint := "messages the gateway accepted are saved and answered when it runs again; "
	if strings.HasPrefix(lost.Address, "unix:") {
		hint += "run firn serve to start it, or firn chat to continue without one"
	} else {
		hint += "send the others again"
	}
	return &Problem{Err: err, Hint: hint}
}

func authHint(provider string, o Options) string {
	variable := ""
	if o.KeyOf != nil {
		variable = o.KeyOf(provider)
	}
	if variable == "" {
		return "choose another model with -m or /model; " + offlineModel + " needs no key"
	}
	return "set " + variable + " to a valid API key, or choose another model with -m or /model; " + offlineModel + " needs no key"
}

// levels are the thinking levels.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh"}

// CheckThinking rejects unknown thinking levels. Empty is valid.
func CheckThinking(level string) error {
	if level == "" || slices.Contains(levels, level) {
		return nil
	}
	return &Problem{
		Err:  fmt.Errorf("%w thinking level %q", firn.ErrInvalid, prose.Clean(level)),
		Hint: "levels: " + strings.Join(levels, " "),
	}
}
