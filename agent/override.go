package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/store"
)

// How much the user is told of what happens beside the answers: tool calls and
// compactions.
const (
	VerboseOn  = "on"
	VerboseOff = "off"
)

// Override is what a session does otherwise than its agent. What is left empty
// stays as it is.
type Override struct {
	// Provider and Model choose who answers; both or none.
	Provider, Model string
	Thinking        provider.Thinking
	// Verbose is "on" or "off": whether the user is told of compactions.
	Verbose string
	// Auth is a profile of credentials, as PROVIDER/PROFILE: models of that provider are
	// asked with them, see [provider.WithProfile].
	Auth string
	// Back names what is taken back, of model, thinking, verbose and auth: the agent's own
	// settings hold again.
	Back []string
}

// levels are the levels of thinking there are.
var levels = []provider.Thinking{provider.ThinkOff, provider.ThinkMinimal, provider.ThinkLow, provider.ThinkMedium, provider.ThinkHigh, provider.ThinkMax}

// Override changes what a session does from its next turn on. It is recorded
// in the log, and durable when it returns.
func (a *Agent) Override(ctx context.Context, id firn.ID, o Override) error {
	entries, err := a.overrides(o)
	if err == nil && len(entries) == 0 {
		err = fmt.Errorf("nothing is to be changed: %w", firn.ErrInvalid)
	}
	if err == nil {
		_, err = a.header(ctx, id) // it must be there
	}
	if err != nil {
		return fmt.Errorf("change how session %s is run: %w", id, err)
	}
	_, err = a.Store.Append(ctx, id, store.Any, entries...)
	return err
}

// overrides makes the entries of an override.
func (a *Agent) overrides(o Override) ([]firn.Entry, error) {
	var entries []firn.Entry
	if (o.Provider == "") != (o.Model == "") {
		return nil, fmt.Errorf("a model is named by its provider and its name: %w", firn.ErrInvalid)
	}
	if o.Model != "" {
		if a.Models == nil {
			return nil, fmt.Errorf("there is no other model to choose: %w", firn.ErrUnsupported)
		}
		if _, err := a.Models(o.Provider, o.Model); err != nil {
			return nil, err
		}
		entries = append(entries, firn.Entry{Body: &firn.ModelChange{Provider: o.Provider, Model: o.Model}})
	}
	if o.Thinking != "" {
		if !slices.Contains(levels, o.Thinking) {
			return nil, fmt.Errorf("there is no level of thinking %q; they are %v: %w", o.Thinking, levels, firn.ErrInvalid)
		}
		entries = append(entries, firn.Entry{Body: &firn.ThinkingChange{Level: string(o.Thinking)}})
	}
	if o.Verbose != "" {
		if o.Verbose != VerboseOn && o.Verbose != VerboseOff {
			return nil, fmt.Errorf("verbose is on or off, not %q: %w", o.Verbose, firn.ErrInvalid)
		}
		entries = append(entries, custom(firn.VerboseType, map[string]string{"level": o.Verbose}))
	}
	if o.Auth != "" {
		if p, name, ok := strings.Cut(o.Auth, "/"); !ok || p == "" || name == "" {
			return nil, fmt.Errorf("a profile is named PROVIDER/PROFILE, not %q: %w", o.Auth, firn.ErrInvalid)
		}
		entries = append(entries, custom(firn.AuthType, map[string]string{"profile": o.Auth}))
	}
	for _, what := range o.Back {
		if !slices.Contains([]string{"model", "thinking", "verbose", "auth"}, what) {
			return nil, fmt.Errorf("%q cannot be taken back: %w", what, firn.ErrInvalid)
		}
	}
	if len(o.Back) > 0 {
		entries = append(entries, custom(firn.DefaultType, map[string][]string{"what": o.Back}))
	}
	return entries, nil
}
