package gateway

import (
	"cmp"
	"context"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/gateway/view"
)

// profile resolves the name of a credential profile in a session to PROVIDER/PROFILE.
// Without a provider it uses the provider of the chosen model, or else of the current one.
func (g *access) profile(ctx context.Context, a *agent.Agent, id firn.ID, name, chosen string) (string, error) {
	find := g.setup.Load().Profile
	if find == nil {
		return "", Invalid("no credential profiles are set")
	}
	if providerName, profile, ok := strings.Cut(name, "/"); ok {
		return find(providerName, profile)
	}
	path, err := g.Path(ctx, id)
	if err != nil {
		return "", err
	}
	own := ""
	if a.Model != nil {
		own = a.Model.Info().Provider
	}
	providerName := cmp.Or(chosen, path.Chosen.Provider, own)
	if providerName == "" {
		return "", Invalid("missing provider of the profile: PROVIDER/%s", view.Clip(name))
	}
	return find(providerName, name)
}
