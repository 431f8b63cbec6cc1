package conversation

import (
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/wire"
)

// Choice is the agent or model that answers a request.
type Choice struct {
	// Name is the model name used by the client, and reported to it.
	Name string
	// Agent is the agent that owns the session; empty means the default agent.
	Agent string
	// Model is provider/model if the client chose a model. The model then gets only the
	// client's messages, without the agent's prompt and tools. Empty means the agent's own
	// model.
	Model string
	// unsure is true if it is not known yet whether the model is available.
	unsure bool
}

// Choose resolves a model name to an agent, a model with its provider, or a model that only
// one provider has.
func (v *Request) Choose(name string) (Choice, error) {
	ctx, who := v.HTTP.Context(), Choice{Name: name}
	if name == "" {
		return who, nil
	}
	if !strings.Contains(name, "/") {
		agents, err := v.Client.Agents(ctx)
		if err != nil {
			return who, err
		}
		if slices.ContainsFunc(agents, func(a wire.Agent) bool { return a.ID == name }) {
			who.Agent = name
			return who, nil
		}
	}
	models, err := v.Client.Models(ctx)
	if err != nil {
		return who, err
	}
	if i := slices.IndexFunc(models, func(m wire.Model) bool { return m.ID == name || strings.HasSuffix(m.ID, "/"+name) }); i >= 0 {
		who.Model = models[i].ID
		return who, nil
	}
	if who.Model, who.unsure = name, true; strings.Contains(name, "/") {
		return who, nil
	}
	return who, NoModel(name)
}

// NoModel returns the error for an unknown agent or model.
func NoModel(name string) error {
	return &RequestError{&wire.Problem{
		Kind: wire.NotFound, Message: "unknown agent or model " + Quoted(name), Hint: "to list them: GET /v1/models",
	}, "model", "model_not_found"}
}

// CheckModel checks that the model is available, by selecting it for the session.
func (v *Request) CheckModel(at *Position, who Choice) error {
	if !who.unsure {
		return nil
	}
	if _, err := v.Client.Patch(v.HTTP.Context(), at.Session, wire.Patch{Model: &who.Model}); err != nil {
		if k := wire.KindOf(err); k == wire.NotFound || k == wire.Invalid || k == wire.Unsupported {
			return NoModel(who.Name)
		}
		return err
	}
	at.model = who.Model
	return nil
}

// change returns the entry that records a change of model, or false if the model stays the
// same.
func (c Choice) change(s Position) (firn.Entry, bool) {
	if c.Model == "" || c.Model == s.model {
		return firn.Entry{}, false
	}
	provider, model, _ := strings.Cut(c.Model, "/")
	return firn.NewEntry(&firn.ModelChange{Provider: provider, Model: model}), true
}

// Quoted quotes a name from the client, shortened if it is long.
func Quoted(s string) string {
	const most = 80
	if len(s) > most {
		s = firn.CutText(s, most) + "…"
	}
	return `"` + s + `"`
}

// DisplayName returns the model name reported to the client.
func (c Choice) DisplayName() string {
	if c.Name == "" {
		return "firn"
	}
	return c.Name
}
