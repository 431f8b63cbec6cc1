package agent

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/provider"
)

// Terms is how a caller wants one turn to be run. The zero value leaves the
// agent as it is. Nothing of it is kept: the next turn has its own.
type Terms struct {
	// Instructions are sent behind the system prompt.
	Instructions string
	// Bare leaves out all that makes the agent: its system prompt, its tools and
	// what is injected. Then the model is sent what was said, and no more.
	Bare bool
	// Tools are the caller's, and stand instead of the agent's. Nobody here can
	// run them: when the model calls one the turn is over, and
	// [Outcome.Pending] has the calls. What came of them is for the caller to
	// append before the session goes on.
	Tools []provider.Tool
	// NoTools leaves the model without any.
	NoTools bool
	// MaxTokens bounds each answer; zero leaves it to the model.
	MaxTokens int64
}

// check says what is wrong with terms.
func (t *Terms) check() error {
	seen := make(map[string]bool, len(t.Tools))
	for _, spec := range t.Tools {
		if spec.Name == "" || seen[spec.Name] {
			return fmt.Errorf("begin a turn with tools of the caller: the name %q is empty or there twice: %w", spec.Name, firn.ErrInvalid)
		}
		seen[spec.Name] = true
	}
	return nil
}

// system is the system prompt of the turn.
func (t *turn) system() string {
	if t.in.Terms.Bare {
		return t.in.Terms.Instructions
	}
	return strings.TrimSpace(t.a.System + "\n\n" + t.in.Terms.Instructions)
}

// lent reports whether the tools of the turn are the caller's.
func (t *turn) lent() bool { return len(t.in.Terms.Tools) > 0 }

// handOver ends a turn with calls that are for the caller.
func (t *turn) handOver(answer firn.Entry, calls []firn.ToolCall) {
	message := answer.Body.(*firn.Message)
	t.out.Text, t.out.Entry, t.out.Stop = message.Text(), answer.ID, firn.StopToolUse
	t.out.Pending = calls
	t.out.Calls += len(calls)
}
