package serve

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"

	"firn.dev/internal/base/typo"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/render/prose"
	"firn.dev/provider"
	"firn.dev/wire"
)

// credentials authenticate requests to a provider.
type credentials struct {
	key    string
	header http.Header
	// variable is the environment variable for the key. It is empty if no key is needed.
	variable string
}

// credentials returns the credentials of a provider or of one of its profiles. Nothing
// missing from a profile is filled in from elsewhere: the cost would be charged to the
// wrong account.
func (m *Models) credentials(v vendor, s config.Provider, profile string) (c credentials, err error) {
	from := config.Profile{KeyEnv: cmp.Or(s.KeyEnv, v.key), KeyFile: s.KeyFile, HeadersEnv: s.HeadersEnv}
	c.variable = from.KeyEnv
	if profile != "" {
		var ok bool
		if from, ok = s.Profiles[profile]; !ok {
			return c, unknownProfile(v.name, profile, s)
		}
		c.variable = cmp.Or(from.KeyEnv, from.KeyFile, fmt.Sprintf("providers.%s.profiles.%s.key_env", v.name, profile))
	}
	for name, variable := range from.HeadersEnv {
		if value := m.env(variable); value != "" {
			if c.header == nil {
				c.header = make(http.Header)
			}
			c.header.Set(name, value)
		}
	}
	c.key, err = config.Secret(from.KeyEnv, from.KeyFile, m.env)
	return c, err
}

// Profile finds a profile by its name and its provider. The provider may be given by its
// own name or by the name its answers are marked with.
func (m *Models) Profile(providerName, name string) (string, error) {
	var there []string
	for _, id := range m.Providers() {
		v, s, err := m.vendor(id)
		if err != nil || id != providerName && v.marked != providerName {
			continue
		}
		if _, ok := s.Profiles[name]; ok {
			return id + "/" + name, nil
		}
		there = append(there, slices.Collect(maps.Keys(s.Profiles))...)
	}
	return "", unknownProfile(providerName, name, config.Provider{Profiles: m.settings.Providers[providerName].Profiles}, there...)
}

// unknownProfile returns the error for an unknown profile.
func unknownProfile(providerName, name string, s config.Provider, more ...string) error {
	there := slices.Compact(slices.Sorted(maps.Keys(s.Profiles)))
	for _, other := range more {
		if !slices.Contains(there, other) {
			there = append(there, other)
		}
	}
	message := fmt.Sprintf("provider %s has no profile %q", prose.Clean(providerName), prose.OneLine(name, 40))
	if meant := typo.Nearest(name, there, 2); meant != "" {
		message += "; did you mean " + meant + "?"
	}
	hint := fmt.Sprintf("profiles: %s", strings.Join(there, ", "))
	if len(there) == 0 {
		hint = fmt.Sprintf("to add it: firn config set providers.%s.profiles.%s.key_env VARIABLE", prose.Clean(providerName), prose.OneLine(name, 40))
	}
	return &wire.Problem{Kind: wire.Invalid, Message: message, Hint: hint}
}

// profileModel is a model that uses the credentials of the profile in the context, if it
// belongs to its provider.
type profileModel struct {
	provider.Model
	provider, name string
	models         *Models
}

// Stream sends the request to the model. Errors get the advice that only the table of
// providers can give.
func (p *profileModel) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	m, profile, err := p.chosen(ctx)
	return func(yield func(provider.Event, error) bool) {
		if err != nil {
			yield(nil, &provider.Error{Kind: provider.Auth, Provider: p.provider, Model: p.name, Err: err})
			return
		}
		for event, err := range m.Stream(ctx, req) {
			if err != nil {
				err = p.models.advise(err, p.provider, p.name, profile)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// chosen returns the model with the credentials of the profile in the context.
func (p *profileModel) chosen(ctx context.Context) (provider.Model, string, error) {
	providerName, profile, ok := strings.Cut(provider.ProfileOf(ctx), "/")
	if !ok || providerName != p.provider {
		return p.Model, "", nil
	}
	m, err := p.models.find(p.provider, p.name, profile)
	return m, profile, err
}
