package openaiapi

import (
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/wire"
)

// choice is the agent or model that answers a request.
type choice struct {
	// name is the model name used by the client, and reported to it.
	name string
	// agent is the agent that owns the session; empty means the default agent.
	agent string
	// model is provider/model if the client chose a model. The model then gets only the
	// client's messages, without the agent's prompt and tools. Empty means the agent's own
	// model.
	model string
	// unsure is true if it is not known yet whether the model is available.
	unsure bool
}

// choose resolves a model name to an agent, a model with its provider, or a model that only
// one provider has.
func (v *exchange) choose(name string) (choice, error) {
	ctx, who := v.r.Context(), choice{name: name}
	if name == "" {
		return who, nil
	}
	if !strings.Contains(name, "/") {
		agents, err := v.c.Agents(ctx)
		if err != nil {
			return who, err
		}
		if slices.ContainsFunc(agents, func(a wire.Agent) bool { return a.ID == name }) {
			who.agent = name
			return who, nil
		}
	}
	models, err := v.c.Models(ctx)
	if err != nil {
		return who, err
	}
	if i := slices.IndexFunc(models, func(m wire.Model) bool { return m.ID == name || strings.HasSuffix(m.ID, "/"+name) }); i >= 0 {
		who.model = models[i].ID
		return who, nil
	}
	if who.model, who.unsure = name, true; strings.Contains(name, "/") {
		return who, nil
	}
	return who, noModel(name)
}

func noModel(name string) error {
	return &requestError{&wire.Problem{
		Kind: wire.NotFound, Message: "unknown agent or model " + quoted(name), Hint: "to list them: GET /v1/models",
	}, "model", "model_not_found"}
}

// checkModel checks that the model is available, by selecting it for the session.
func (v *exchange) checkModel(at *position, who choice) error {
	if !who.unsure {
		return nil
	}
	if _, err := v.c.Patch(v.r.Context(), at.session, wire.Patch{Model: &who.model}); err != nil {
		if k := wire.KindOf(err); k == wire.NotFound || k == wire.Invalid || k == wire.Unsupported {
			return noModel(who.name)
		}
		return err
	}
	at.model = who.model
	return nil
}

// change returns the entry that records a change of model, or false if the model stays the
// same.
func (c choice) change(s position) (firn.Entry, bool) {
	if c.model == "" || c.model == s.model {
		return firn.Entry{}, false
	}
	provider, model, _ := strings.Cut(c.model, "/")
	return firn.NewEntry(&firn.ModelChange{Provider: provider, Model: model}), true
}

// quoted quotes a name from the client, shortened if it is long.
func quoted(s string) string {
	const most = 80
	if len(s) > most {
		s = firn.CutText(s, most) + "…"
	}
	return `"` + s + `"`
}
