package cli

import (
	"context"
	"fmt"
	"strings"

	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/modelchoice"
	"firn.dev/internal/term/chat"
)

// modelStart is the choice of the model at the start of a chat.
type modelStart struct {
	p        *program
	settings *config.Settings
	// setting is the setting that a chosen model is applied to, and model the chosen model;
	// empty if the settings apply as they are.
	setting, model string
	why            string
	// forProject is true if the model was chosen for the project.
	forProject bool
	// remote is true if another process calls the model, with its own API keys.
	remote bool
	// found receives the detected model, if nothing is configured; nil if something is.
	found <-chan modelchoice.Found
}

// startChoice begins to choose the model of new sessions of an agent in a project. An empty
// agent means the default one. Variables take precedence over the choice for the project, that
// over the file, and the file over detection. If nothing is configured, detection runs in the
// background.
func (p *program) startChoice(ctx context.Context, s *config.Settings, agent, project string) *modelStart {
	if agent == "" {
		agent = s.DefaultAgent
	}
	m := &modelStart{p: p, settings: s}
	e, err := s.Explain(config.JoinPath("agents", agent, "model"))
	own, _ := s.Agent(agent)
	switch chosen := s.Projects[project].Model; {
	case err != nil:
		m.why = "from the settings"
	case e.Origin.Layer == config.FromEnvironment || e.Origin.Layer == config.FromFlag:
		m.model, m.why = own.Model, e.Origin.Name+" is set"
	case chosen != "":
		m.setting, m.model, m.why = config.JoinPath("agents", agent, "model"), chosen, "chosen for this project"
		m.forProject = true
	case e.Origin.Layer != config.FromDefault:
		m.model, m.why = own.Model, "from the settings"
	default:
		m.setting = "defaults.model"
		found := make(chan modelchoice.Found, 1)
		m.found = found
		table := p.table(s)
		go func() { found <- table.Detect(ctx) }() // ends within the limit of detection
	}
	return m
}

// resolved returns the model and why it is used. It waits for detection.
func (m *modelStart) resolved() (model, why string) {
	if m.found != nil {
		found := <-m.found
		m.found = nil
		m.model, m.why = found.ID, found.Why
		if found.Why == "" {
			m.setting, m.why = "", "built in"
		}
	}
	return m.model, m.why
}

// apply returns the settings with the chosen model.
func (m *modelStart) apply() (*config.Settings, error) {
	model, _ := m.resolved()
	if m.setting == "" || model == "" {
		return m.settings, nil
	}
	return m.p.settingsWith(map[string]string{m.setting: model})
}

// note returns the line about the model of a chat: why it is used and how to change it.
func (m *modelStart) note(model string) string {
	chosen, why := m.model, m.why
	switch missing := m.missingKey(model); {
	case model == modelchoice.BuiltIn:
		return model + " is built in and only matches words; /model picks a real model"
	case missing != "":
		return model + " needs an API key in " + missing + "; /model picks another model"
	case model == chosen && why != "":
		return model + " (" + why + "); /model changes it"
	}
	return model + "; /model changes it"
}

// missingKey returns the variable of a model's API key, if the key is missing.
func (m *modelStart) missingKey(model string) string {
	if m.remote {
		return ""
	}
	for _, o := range m.p.table(m.settings).Offers {
		if o.ID == model && !o.Ready {
			return o.Variable
		}
	}
	return ""
}

// announce prints the model of an answer without a chat, if nothing is configured.
func (m *modelStart) announce(o chat.Options) {
	if m.p.models == nil || m.remote || o.Model != "" || !o.Terminal.Err {
		return
	}
	if model, why := m.resolved(); m.setting == "defaults.model" || why == "built in" {
		fmt.Fprintln(m.p.stderr, strings.ReplaceAll(m.note(model), "/model", "firn model"))
	}
}

// addModels adds the functions that choose a model to the options of a chat.
func (m *modelStart) addModels(o *chat.Options, project string) {
	if m.p.models == nil {
		return
	}
	o.ModelNote, o.MissingKey, m.remote = m.note, m.missingKey, o.Client.Address() != inProcess
	if m.remote && m.forProject {
		o.NewModel = m.model
	}
	o.ResolveModel = func(ctx context.Context, name string) (string, error) {
		id, err := m.p.resolveModel(ctx, m.settings, name)
		if err != nil {
			return "", &chat.Problem{Err: err, Hint: "/model without a name lists the models"}
		}
		return id, nil
	}
	o.Models = func(ctx context.Context) (head []string, ids []string, rows [][]string) {
		for _, offer := range sortOffers(m.p.table(m.settings).All(ctx)) {
			ids = append(ids, offer.ID)
			rows = append(rows, offerDetails(offer))
		}
		return offerHead[1:], ids, rows
	}
	o.KeepModel = func(ctx context.Context, id string, own bool) (string, error) {
		s, err := m.p.settings()
		if err != nil {
			return "", err
		}
		dir := ""
		if own {
			dir = project
		}
		change, err := m.p.keepModel(ctx, s, id, dir)
		if err != nil {
			return "", err
		}
		return change.text(), nil
	}
}
