package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/provider"
	"firn.dev/store"
)

// The verbosity levels: whether the user is notified of tool calls and compactions.
const (
	VerboseOn  = "on"
	VerboseOff = "off"
)

// Override holds session settings that differ from the agent's. Empty fields leave a
// setting unchanged.
type Override struct {
	// Provider and Model select the model; set both or neither.
	Provider, Model string
	Thinking        provider.Thinking
	// Verbose is "on" or "off": whether the user is notified of compactions.
	Verbose string
	// Auth is a credential profile, as PROVIDER/PROFILE, for calls of models of that
	// provider. See [provider.WithProfile].
	Auth string
	// Back lists settings to reset to the agent's: model, thinking, verbose and auth.
	Back []string
}

// levels are the valid thinking levels.
var levels = []provider.Thinking{provider.ThinkOff, provider.ThinkMinimal, provider.ThinkLow, provider.ThinkMedium, provider.ThinkHigh, provider.ThinkMax}

// Override changes the settings of a session from its next turn on. The change is recorded
// in the log and durable when Override returns.
func (a *Agent) Override(ctx context.Context, id firn.ID, o Override) error {
	entries, err := a.overrides(o)
	if err == nil && len(entries) == 0 {
		err = failure.Of(firn.ErrInvalid, "no change given")
	}
	if err == nil {
		_, err = a.header(ctx, id) // the session must exist
	}
	if err != nil {
		return fmt.Errorf("change the settings of session %s: %w", id, err)
	}
	_, err = a.Store.Append(ctx, id, store.Any, entries...)
	return err
}

// overrides returns the entries of an override.
func (a *Agent) overrides(o Override) ([]firn.Entry, error) {
	var entries []firn.Entry
	if (o.Provider == "") != (o.Model == "") {
		return nil, failure.Of(firn.ErrInvalid, "a model is named by its provider and its name")
	}
	if o.Model != "" {
		if a.Models == nil {
			return nil, failure.Of(firn.ErrUnsupported, "no other model is configured")
		}
		if _, err := a.Models(o.Provider, o.Model); err != nil {
			return nil, err
		}
		entries = append(entries, firn.Entry{Body: &firn.ModelChange{Provider: o.Provider, Model: o.Model}})
	}
	if o.Thinking != "" {
		if !slices.Contains(levels, o.Thinking) {
			return nil, failure.Of(firn.ErrInvalid, "unknown thinking level %q; the levels are %v", o.Thinking, levels)
		}
		entries = append(entries, firn.Entry{Body: &firn.ThinkingChange{Level: string(o.Thinking)}})
	}
	if o.Verbose != "" {
		if o.Verbose != VerboseOn && o.Verbose != VerboseOff {
			return nil, failure.Of(firn.ErrInvalid, "verbose is on or off, not %q", o.Verbose)
		}
		entries = append(entries, customEntry(firn.VerboseType, map[string]string{"level": o.Verbose}))
	}
	if o.Auth != "" {
		if p, name, ok := strings.Cut(o.Auth, "/"); !ok || p == "" || name == "" {
			return nil, failure.Of(firn.ErrInvalid, "a profile is named PROVIDER/PROFILE, not %q", o.Auth)
		}
		entries = append(entries, customEntry(firn.AuthType, map[string]string{"profile": o.Auth}))
	}
	for _, what := range o.Back {
		if !slices.Contains([]string{"model", "thinking", "verbose", "auth"}, what) {
			return nil, failure.Of(firn.ErrInvalid, "%q cannot be reset", what)
		}
	}
	if len(o.Back) > 0 {
		entries = append(entries, customEntry(firn.DefaultType, map[string][]string{"what": o.Back}))
	}
	return entries, nil
}
