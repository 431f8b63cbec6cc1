package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/internal/base/failure"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/wire"
)

// ProblemOf converts an error to a problem of the protocol, with its kind and a hint.
func ProblemOf(err error) *wire.Problem {
	var p *wire.Problem
	if errors.As(err, &p) {
		return p
	}
	if errors.Is(err, agent.ErrToolsGone) {
		errors.As(errClientGone, &p)
		return p
	}
	kind := wire.KindOf(err)
	hint := cmp.Or(failure.Hint(err), savingHint(err))
	switch provider.KindOf(err) {
	case provider.Auth, provider.Temporary, provider.BadRequest, provider.Overflow:
		kind = wire.Upstream
	}
	var big *compact.TooBig
	if errors.As(err, &big) {
		kind = wire.TooLarge
	}
	var hinting interface {
		error
		Hint() string
	}
	if errors.As(err, &hinting) {
		hint = hinting.Hint()
	}
	if errors.Is(err, ErrStopped) {
		kind, hint = wire.TurnStopped, "the partial answer is saved; to continue it, send a turn without text"
	}
	if errors.Is(err, agent.ErrMoved) {
		kind, hint = wire.Conflict, "the message is saved on the previous branch"
	}
	var conflict *store.Conflict
	p = &wire.Problem{Kind: kind, Message: err.Error(), Hint: hint}
	if errors.As(err, &conflict) {
		p.End = conflict.End
	}
	return p
}

// savingHint returns the hint for a failed write. Acknowledged data is safe, and no restart
// is needed.
func savingHint(err error) string {
	switch {
	case errors.Is(err, firn.ErrUnknownOutcome):
		return "check the session, or retry with the same Idempotency-Key"
	case errors.Is(err, firn.ErrReplaced):
		return "another program replaced the file of the session; run firn doctor, then try again"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some disk space, then try again; saved messages are not affected"
	}
	return ""
}

// Invalid returns an error for an invalid request.
func Invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", firn.ErrInvalid, fmt.Sprintf(format, args...))
}
