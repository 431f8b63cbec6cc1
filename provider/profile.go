package provider

import "context"

type profileKey struct{}

// WithProfile returns a context in which models of a provider are asked with the
// credentials of a profile, named PROVIDER/PROFILE. Models of other providers, and those
// that know no profiles, are asked as usual; so are all if the name is empty.
func WithProfile(ctx context.Context, profile string) context.Context {
	if profile == ProfileOf(ctx) {
		return ctx
	}
	return context.WithValue(ctx, profileKey{}, profile)
}

// ProfileOf returns the profile of a context; empty if there is none.
func ProfileOf(ctx context.Context) string {
	profile, _ := ctx.Value(profileKey{}).(string)
	return profile
}
