package openaiapi

import (
	"slices"
	"strings"

	"firn"
	"firn/wire"
)

// choice is who answers a request.
type choice struct {
	// name is what the client calls it, and is told.
	name string
	// agent is the agent that the session belongs to; empty is the default one.
	agent string
	// model is provider/model, if the client chose one: then it is sent what the
	// client says, without what makes an agent. Empty is the agent's own.
	model string
	// unsure says that nobody has told yet that the model can be asked.
	unsure bool
}

// choose finds who is meant by the name of a model: an agent, a model with its
// provider, or a model that only one provider has.
func (v *visit) choose(name string) (choice, error) {
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
	return &wrong{&wire.Problem{
		Kind: wire.NotFound, Message: "there is no agent and no model " + quoted(name), Hint: "GET /v1/models lists them",
	}, "model", "model_not_found"}
}

// assure finds out whether the model can be asked, by choosing it for the
// session.
func (v *visit) assure(at *spot, who choice) error {
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

// change is the entry that says who answers from here on; false if nobody else
// does.
func (c choice) change(s spot) (firn.Entry, bool) {
	if c.model == "" || c.model == s.model {
		return firn.Entry{}, false
	}
	provider, model, _ := strings.Cut(c.model, "/")
	return firn.NewEntry(&firn.ModelChange{Provider: provider, Model: model}), true
}

// quoted is a name of the client's, cut if it is long.
func quoted(s string) string {
	const most = 80
	if len(s) > most {
		s = firn.CutText(s, most) + "…"
	}
	return `"` + s + `"`
}
