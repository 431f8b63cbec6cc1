package provider

import (
	"maps"
	"math"
	"strings"
)

// Override replaces individual values of a model's [Spec]. Fields that are nil are left
// unchanged. It is used by the configuration.
type Override struct {
	Window    *int64        `json:"window,omitempty"`
	MaxOutput *int64        `json:"maxOutput,omitempty"`
	Price     OverridePrice `json:"price,omitzero"`
	Thinks    *bool         `json:"thinks,omitempty"`
	Sees      *bool         `json:"sees,omitempty"`
}

// OverridePrice replaces individual values of a [Price]. Fields that are nil are left
// unchanged.
type OverridePrice struct {
	Input      *float64 `json:"input,omitempty"`
	Output     *float64 `json:"output,omitempty"`
	CacheRead  *float64 `json:"cacheRead,omitempty"`
	CacheWrite *float64 `json:"cacheWrite,omitempty"`
}

// Check returns an error if the override is invalid.
func (o Override) Check() error {
	return o.apply(Spec{Window: math.MaxInt64}).check()
}

// With returns a catalog that includes the overrides, keyed by provider/model as passed
// to [Catalogue.Find]. Values that an override does not set stay as Find returns them. An
// override that sets the window makes the model known. Invalid overrides are ignored; see
// [Override.Check].
func (c Catalogue) With(overrides map[string]Override) Catalogue {
	changed := Catalogue{specs: make(map[string]map[string]Spec, len(c.specs))}
	for provider, models := range c.specs {
		changed.specs[provider] = maps.Clone(models)
	}
	for key, o := range overrides {
		provider, model, ok := strings.Cut(key, "/")
		provider = strings.ToLower(provider)
		spec := o.apply(c.Find(provider, model))
		if !ok || model == "" || spec.check() != nil {
			continue
		}
		if changed.specs[provider] == nil {
			changed.specs[provider] = make(map[string]Spec)
		}
		changed.specs[provider][model] = spec
	}
	return changed
}

// apply returns the spec with the override applied.
func (o Override) apply(s Spec) Spec {
	if o.Window != nil {
		s.Window, s.Assumed = *o.Window, false
		if o.MaxOutput == nil {
			s.MaxOutput = min(s.MaxOutput, s.Window)
		}
	}
	set(&s.MaxOutput, o.MaxOutput)
	set(&s.Price.Input, o.Price.Input)
	set(&s.Price.Output, o.Price.Output)
	set(&s.Price.CacheRead, o.Price.CacheRead)
	set(&s.Price.CacheWrite, o.Price.CacheWrite)
	set(&s.Thinks, o.Thinks)
	set(&s.Sees, o.Sees)
	return s
}

// set copies other to value if other is not nil.
func set[T any](value *T, other *T) {
	if other != nil {
		*value = *other
	}
}
