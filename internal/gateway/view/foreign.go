package view

import (
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/window"
	"firn.dev/wire"
)

// foreignAnswer returns the last answer of a live part if another program recorded it, as
// in an imported session; else nil. An imported answer carries its original lines. After
// another one, counters mean that firn recorded it, at the end of a turn. A model that was
// chosen for the session is that of the next answer.
func foreignAnswer(path window.Path) *firn.Message {
	if path.Chosen.Model != "" {
		return nil
	}
	counted := false
	for _, e := range slices.Backward(path.Entries) {
		switch b := e.Body.(type) {
		case *firn.Custom:
			counted = counted || b.Type == firn.CountersType
		case *firn.Message:
			if b.Role != firn.RoleAssistant || b.Model == "" {
				continue
			}
			if counted && e.Extra.Get("origin") == nil {
				return nil
			}
			return b
		}
	}
	return nil
}

// foreignUsage returns the usage of the window of an answer's own model: as the answer
// reports it, or as estimated.
func foreignUsage(setup *Setup, m *firn.Message, estimated wire.Usage) wire.Usage {
	u := wire.Usage{Tokens: estimated.Tokens, Estimated: true}
	if r := m.Usage; r != nil && r.Input+r.CacheRead+r.CacheWrite+r.Output > 0 {
		u.Tokens, u.Estimated = r.Input+r.CacheRead+r.CacheWrite+r.Output, false
	}
	if setup.Models != nil {
		if model, err := setup.Models(m.Provider, m.Model); err == nil && !model.Info().Assumed {
			u.Window = model.Info().Window
		}
	}
	if u.Window == 0 {
		for _, known := range setup.KnownModels() {
			if u.Window == 0 && known.ID == m.Provider+"/"+m.Model {
				u.Window = known.Window
			}
		}
	}
	if u.Window > 0 {
		u.Level = string(agent.LevelOf(u.Tokens, u.Window))
	}
	return u
}
