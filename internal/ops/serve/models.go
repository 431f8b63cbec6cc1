package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/render/prose"
	"firn.dev/provider"
	"firn.dev/provider/openai"
	"firn.dev/window"
	"firn.dev/wire"
)

// Models finds models by their names, as the settings and the environment say.
type Models struct {
	settings  config.Config
	env       func(name string) string
	catalogue provider.Catalogue
	delay     time.Duration
	// wrap wraps every model that is found; nil leaves it as it is.
	wrap func(provider.Model) provider.Model
}

// NewModels makes the table of models. Delay is how long the offline model
// takes for a word.
func NewModels(c config.Config, env func(name string) string, delay time.Duration) *Models {
	return &Models{settings: c, env: env, catalogue: provider.Known().With(overrides(c)), delay: delay}
}

// overrides is what the settings know better of models.
func overrides(c config.Config) map[string]provider.Override {
	all := make(map[string]provider.Override)
	add := func(providerName, model string) {
		m := c.Model(providerName, model)
		all[providerName+"/"+model] = provider.Override{
			Window: m.Window, MaxOutput: m.MaxOutput, Thinks: m.Thinks, Sees: m.Sees,
			Price: provider.OverridePrice{Input: m.Price.Input, Output: m.Price.Output, CacheRead: m.Price.CacheRead, CacheWrite: m.Price.CacheWrite},
		}
	}
	for name := range c.Models {
		if providerName, model, ok := strings.Cut(name, "/"); ok {
			add(providerName, model)
		}
	}
	for providerName, p := range c.Providers {
		for model := range p.Models {
			add(providerName, model)
		}
	}
	return all
}

// Named finds a model by PROVIDER/MODEL; empty means the offline model.
func (m *Models) Named(name string) (provider.Model, error) {
	providerName, model, err := CutModel(cmp.Or(name, OfflineModel))
	if err != nil {
		return nil, err
	}
	return m.Find(providerName, model)
}

// Find finds a model by the names of provider and model. It does not ask
// whether the provider has it. One that lacks a key is found, and says so when
// it is asked something.
func (m *Models) Find(providerName, model string) (provider.Model, error) {
	found, err := m.find(providerName, model, "")
	if err != nil {
		return nil, err
	}
	if found.Info().API != kindOffline {
		found = &profiled{Model: found, provider: providerName, name: model, models: m}
	}
	if m.wrap != nil {
		found = m.wrap(found)
	}
	return found, nil
}

// find finds a model that is asked with the credentials of a profile; empty means the
// usual ones.
func (m *Models) find(providerName, model, profile string) (provider.Model, error) {
	kind, d, missing, err := m.door(providerName, model, profile)
	if err != nil {
		return nil, err
	}
	found := open(kind, d)
	if missing != nil {
		found = &locked{info: found.Info(), why: missing}
	}
	return found, nil
}

// Check refuses the name of a model that could not be asked: there is no such
// provider, or its key is missing. Empty is the offline model.
func (m *Models) Check(name string) error {
	providerName, model, err := CutModel(cmp.Or(name, OfflineModel))
	if err != nil {
		return err
	}
	_, _, missing, err := m.door(providerName, model, "")
	return cmp.Or(err, missing)
}

// door finds out how a model is reached, with the credentials of a profile if it is
// named, and what is missing for that.
func (m *Models) door(providerName, model, profile string) (kind string, d door, missing, err error) {
	v, s, err := m.vendor(providerName)
	if err != nil {
		return "", door{}, nil, err
	}
	if v.kind == kindOffline && model != "offline" {
		return "", door{}, nil, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("firn has no model %q: invalid", prose.Clean(model)), Hint: "its own model is " + OfflineModel}
	}
	url, own := m.addressOf(v, s)
	c, err := m.credentials(v, s, profile)
	if err != nil {
		return "", door{}, nil, err
	}
	d = door{
		name: cmp.Or(v.marked, providerName), model: model, url: url, key: c.key, stall: s.Stall, delay: m.delay,
		header: c.header, quirks: quirksOf(s.Quirks), spec: m.catalogue.Find(cmp.Or(v.marked, providerName), model),
	}
	if v.profile != nil {
		d.profile = v.profile()
	}
	// Whoever names an address of their own may have a server that wants no key; not so
	// who names a profile.
	if d.key == "" && c.variable != "" && (!own || profile != "") && len(d.header) == 0 {
		missing = &NoKey{Variable: c.variable, Err: &provider.Error{Kind: provider.Auth, Provider: providerName, Model: model, Err: errors.New(c.variable + " is not set")}}
	}
	kind = v.kind
	if kind == kindResponses && s.Kind == "" && own { // many speak the older API, few the newer one
		kind = kindChat
	}
	return kind, d, missing, nil
}

// vendor finds a provider: one that firn knows, as the settings change it, or
// one that only the settings know.
func (m *Models) vendor(name string) (vendor, config.Provider, error) {
	s, set := m.settings.Providers[name]
	all := vendors()
	i := slices.IndexFunc(all, func(v vendor) bool { return v.name == name })
	v := vendor{name: name}
	switch {
	case i >= 0:
		v = all[i]
	case !set || s.Kind == "":
		return v, s, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("there is no provider %q: invalid", prose.Clean(name)), Hint: "the providers are " + strings.Join(m.Providers(), ", ")}
	}
	v.kind = cmp.Or(s.Kind, v.kind)
	switch s.Profile {
	case "mistral":
		v.profile = window.Mistral
	case "gemini":
		v.profile = window.Gemini
	}
	return v, s, nil
}

// addressOf is where a provider is, and whether that is not where it usually
// is.
func (m *Models) addressOf(v vendor, s config.Provider) (url string, own bool) {
	url = v.url
	if s.URL != "" {
		url = s.URL
	}
	if v.address != "" {
		url = cmp.Or(m.env(v.address), url)
	}
	url = strings.TrimRight(url, "/")
	return url, url != v.url
}

func quirksOf(q config.Quirks) openai.Quirks {
	return openai.Quirks{
		MaxTokensField: q.MaxTokensField, EffortField: q.EffortField, StreamUsage: switchOf(q.StreamUsage),
		Developer: switchOf(q.Developer), CacheKey: switchOf(q.CacheKey), ToolNames: switchOf(q.ToolNames),
	}
}

func switchOf(b *bool) openai.Switch {
	switch {
	case b == nil:
		return openai.Auto
	case *b:
		return openai.On
	}
	return openai.Off
}

// Providers names all providers: those that firn knows, and those that only
// the settings do.
func (m *Models) Providers() []string {
	names := Providers()
	var more []string
	for name := range m.settings.Providers {
		if !slices.Contains(names, name) {
			more = append(more, name)
		}
	}
	slices.Sort(more)
	return append(names, more...)
}

// Known lists the models of which more than the name is known, as far as their
// providers can be asked.
func (m *Models) Known() []wire.Model {
	known := []wire.Model{}
	for _, providerName := range m.Providers() {
		names := m.catalogue.Names(providerName)
		if providerName == "firn" {
			names = []string{"offline"}
		}
		for _, name := range names {
			found, err := m.Find(providerName, name)
			if err != nil {
				continue // told when it is asked for
			}
			info := found.Info()
			known = append(known, wire.Model{ID: providerName + "/" + name, Window: info.Window, MaxOutput: info.MaxOutput, Assumed: info.Assumed})
		}
	}
	return known
}

// CutModel takes PROVIDER/MODEL apart. The name of a model may have slashes.
func CutModel(name string) (providerName, model string, err error) {
	providerName, model, ok := strings.Cut(name, "/")
	if !ok || providerName == "" || model == "" {
		return "", "", &wire.Problem{
			Kind: wire.Invalid, Message: fmt.Sprintf("invalid model %q: want PROVIDER/MODEL", prose.Clean(name)),
			Hint: "the providers are " + strings.Join(Providers(), ", ") + "; " + OfflineModel + " needs no key",
		}
	}
	return providerName, model, nil
}

// NoKey says that a provider does not let us in because no key is set.
type NoKey struct {
	// Variable is where the key belongs.
	Variable string
	Err      error
}

// Error says what is not set.
func (n *NoKey) Error() string { return n.Err.Error() }

// Unwrap returns the provider's error.
func (n *NoKey) Unwrap() error { return n.Err }

// locked is a model that lacks its key. What it is can be told, but not what
// it says.
type locked struct {
	info provider.Info
	why  error
}

// Info tells what the model is.
func (l *locked) Info() provider.Info { return l.info }

// Stream says why nothing comes.
func (l *locked) Stream(context.Context, provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		var failure *provider.Error
		if errors.As(l.why, &failure) {
			yield(nil, failure)
			return
		}
		yield(nil, fmt.Errorf("ask %s/%s: %w", l.info.Provider, l.info.Name, cmp.Or(l.why, firn.ErrUnsupported)))
	}
}
