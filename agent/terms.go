package agent

import (
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/provider"
)

// TurnOptions are the caller's options for one turn. The zero value uses the agent's settings.
// They are not stored.
type TurnOptions struct {
	// Instructions are sent after the system prompt.
	Instructions string
	// Bare leaves out the agent's system prompt, tools and injections, so that only the
	// conversation is sent.
	Bare bool
	// Tools are the caller's tools and replace the agent's. The agent cannot run them: when
	// the model calls one, the turn ends and [Outcome.Pending] has the calls. The caller
	// appends their results before it continues the session.
	Tools []provider.Tool
	// NoTools disables tools.
	NoTools bool
	// MaxTokens limits each answer; zero leaves it to the model.
	MaxTokens int64
	// Stop are sequences before which each answer ends. Format is the form of the answers; nil
	// means text.
	Stop   []string
	Format *provider.Format
	// Provider and Model replace the model of the session for this turn; set both or neither.
	// Thinking replaces its thinking level; empty keeps it.
	Provider, Model string
	Thinking        provider.Thinking
}

// Check returns an error if the agent cannot run a turn with the options.
func (a *Agent) Check(t TurnOptions) error {
	_, err := a.overrides(Override{Provider: t.Provider, Model: t.Model, Thinking: t.Thinking})
	return err
}

// check returns an error if the terms are invalid.
func (t *TurnOptions) check() error {
	seen := make(map[string]bool, len(t.Tools))
	for _, spec := range t.Tools {
		if spec.Name == "" || seen[spec.Name] {
			return failure.Of(firn.ErrInvalid, "start a turn with the caller's tools: the name %q is empty or used twice", spec.Name)
		}
		seen[spec.Name] = true
	}
	return nil
}

// system returns the system prompt of the turn.
func (t *turn) system() string {
	if t.in.Terms.Bare {
		return t.in.Terms.Instructions
	}
	return strings.TrimSpace(t.a.System + "\n\n" + t.in.Terms.Instructions)
}

// hasCallerTools reports whether the tools of the turn are the caller's.
func (t *turn) hasCallerTools() bool { return len(t.in.Terms.Tools) > 0 }

// handOver ends a turn with calls for the caller.
func (t *turn) handOver(answer firn.Entry, calls []firn.ToolCall) {
	message := answer.Body.(*firn.Message)
	t.out.Text, t.out.Entry, t.out.Stop = message.Text(), answer.ID, firn.StopToolUse
	t.out.Pending = calls
	t.out.Calls += len(calls)
}
