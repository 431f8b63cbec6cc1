package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/render/prose"
	"firn.dev/provider"
	"firn.dev/provider/openai"
	"firn.dev/window"
	"firn.dev/wire"
)

// Models finds models by name, using the settings and the environment.
type Models struct {
	settings config.Config
	env      func(name string) string
	// catalog is read when it is first needed.
	catalog func() provider.Catalogue
	delay   time.Duration
	// wrap wraps every model that is found, if it is not nil.
	wrap func(provider.Model) provider.Model
}

// NewModels creates the table of models. delay is the time the offline model takes per
// word.
func NewModels(c config.Config, env func(name string) string, delay time.Duration) *Models {
	return &Models{settings: c, env: env, catalog: sync.OnceValue(func() provider.Catalogue { return provider.Known().With(overrides(c)) }), delay: delay}
}

// overrides returns the model properties set in the settings.
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

// Named finds a model by PROVIDER/MODEL. An empty name is the offline model.
func (m *Models) Named(name string) (provider.Model, error) {
	providerName, model, err := SplitModel(cmp.Or(name, OfflineModel))
	if err != nil {
		return nil, err
	}
	return m.Find(providerName, model)
}

// Find finds a model by the names of its provider and model. It does not check that the
// provider offers it. A model without an API key is found, but requests to it fail.
func (m *Models) Find(providerName, model string) (provider.Model, error) {
	found, err := m.find(providerName, model, "")
	if err != nil {
		return nil, err
	}
	if found.Info().API != kindOffline {
		found = &profileModel{Model: found, provider: providerName, name: model, models: m}
	}
	if m.wrap != nil {
		found = m.wrap(found)
	}
	return found, nil
}

// find finds a model with the credentials of a profile. An empty profile means the default
// credentials.
func (m *Models) find(providerName, model, profile string) (provider.Model, error) {
	kind, d, missing, err := m.endpoint(providerName, model, profile)
	if err != nil {
		return nil, err
	}
	found := open(kind, d)
	if missing != nil {
		found = &keylessModel{info: found.Info(), why: missing}
	}
	return found, nil
}

// Check fails if a model cannot be used because its provider is unknown or its API key is
// missing. An empty name is the offline model.
func (m *Models) Check(name string) error {
	providerName, model, err := SplitModel(cmp.Or(name, OfflineModel))
	if err != nil {
		return err
	}
	_, _, missing, err := m.endpoint(providerName, model, "")
	return cmp.Or(err, missing)
}

// endpoint returns the API kind and endpoint of a model, using the credentials of a profile
// if one is named. missing is the error for a missing API key.
func (m *Models) endpoint(providerName, model, profile string) (kind string, d endpoint, missing, err error) {
	v, s, err := m.vendor(providerName)
	if err != nil {
		return "", endpoint{}, nil, err
	}
	if v.kind == kindOffline && model != "offline" {
		return "", endpoint{}, nil, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("unknown built-in model %q", prose.Clean(model)), Hint: "use " + OfflineModel}
	}
	url, own := m.addressOf(v, s)
	c, err := m.credentials(v, s, profile)
	if err != nil {
		return "", endpoint{}, nil, err
	}
	d = endpoint{
		name: cmp.Or(v.marked, providerName), model: model, url: url, key: c.key, stall: s.Stall, delay: m.delay,
		header: c.header, quirks: quirksOf(s.Quirks),
	}
	catalog := m.catalog
	if v.kind == kindOffline { // only settings describe it, and parsing the catalog takes time
		catalog = func() provider.Catalogue { return provider.Catalogue{}.With(overrides(m.settings)) }
	}
	d.spec = catalog().Find(d.name, model)
	if v.profile != nil {
		d.profile = v.profile()
	}
	// A custom URL may be a server without API keys, unless a profile is named.
	if d.key == "" && c.variable != "" && (!own || profile != "") && len(d.header) == 0 {
		missing = &NoKey{Variable: c.variable, Err: &provider.Error{Kind: provider.Auth, Provider: providerName, Model: model, Err: errors.New(c.variable + " is not set")}}
	}
	kind = v.kind
	if kind == kindResponses && s.Kind == "" && own { // most custom servers support only the older API
		kind = kindChat
	}
	return kind, d, missing, nil
}

// vendor returns a built-in provider as modified by the settings, or one defined in the
// settings.
func (m *Models) vendor(name string) (vendor, config.Provider, error) {
	s, set := m.settings.Providers[name]
	all := vendors()
	i := slices.IndexFunc(all, func(v vendor) bool { return v.name == name })
	v := vendor{name: name}
	switch {
	case i >= 0:
		v = all[i]
	case !set || s.Kind == "":
		return v, s, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("unknown provider %q", prose.Clean(name)), Hint: "providers: " + strings.Join(m.Providers(), ", ")}
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

// addressOf returns the URL of a provider and reports whether it differs from the default.
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

// Providers returns the names of all providers, built-in and from the settings.
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

// Known lists the models with known properties whose providers can be used.
func (m *Models) Known() []wire.Model {
	known := []wire.Model{}
	for _, providerName := range m.Providers() {
		names := m.catalog().Names(providerName)
		if providerName == "firn" {
			names = []string{"offline"}
		}
		for _, name := range names {
			found, err := m.Find(providerName, name)
			if err != nil {
				continue // reported when it is requested
			}
			info := found.Info()
			known = append(known, wire.Model{ID: providerName + "/" + name, Window: info.Window, MaxOutput: info.MaxOutput, Assumed: info.Assumed})
		}
	}
	return known
}

// SplitModel splits PROVIDER/MODEL. The model name may contain slashes.
func SplitModel(name string) (providerName, model string, err error) {
	providerName, model, ok := strings.Cut(name, "/")
	if !ok || providerName == "" || model == "" {
		return "", "", &wire.Problem{
			Kind: wire.Invalid, Message: fmt.Sprintf("invalid model %q: expected PROVIDER/MODEL", prose.Clean(name)),
			Hint: "providers: " + strings.Join(Providers(), ", ") + "; " + OfflineModel + " needs no key",
		}
	}
	return providerName, model, nil
}

// NoKey is the error for a missing API key.
type NoKey struct {
	// Variable is the environment variable for the key.
	Variable string
	Err      error
}

// Error returns the provider's message.
func (n *NoKey) Error() string { return n.Err.Error() }

// Unwrap returns the provider's error.
func (n *NoKey) Unwrap() error { return n.Err }

// keylessModel is a model without an API key. It has properties, but requests fail.
type keylessModel struct {
	info provider.Info
	why  error
}

// Info returns the properties of the model.
func (l *keylessModel) Info() provider.Info { return l.info }

// Stream yields the error.
func (l *keylessModel) Stream(context.Context, provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		var failure *provider.Error
		if errors.As(l.why, &failure) {
			yield(nil, failure)
			return
		}
		yield(nil, fmt.Errorf("%s/%s: %w", l.info.Provider, l.info.Name, cmp.Or(l.why, firn.ErrUnsupported)))
	}
}
