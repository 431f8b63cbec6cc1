package provider

import (
	"maps"
	"math"
	"strings"
)

// Override changes what the catalogue knows of a model: only what it names.
// It is made for settings.
type Override struct {
	Window    *int64        `json:"window,omitempty"`
	MaxOutput *int64        `json:"maxOutput,omitempty"`
	Price     OverridePrice `json:"price,omitzero"`
	Thinks    *bool         `json:"thinks,omitempty"`
	Sees      *bool         `json:"sees,omitempty"`
}

// OverridePrice changes a price: only what it names.
type OverridePrice struct {
	Input      *float64 `json:"input,omitempty"`
	Output     *float64 `json:"output,omitempty"`
	CacheRead  *float64 `json:"cacheRead,omitempty"`
	CacheWrite *float64 `json:"cacheWrite,omitempty"`
}

// Check says what is wrong with the override, if it cannot be meant.
func (o Override) Check() error {
	return o.apply(Spec{Window: math.MaxInt64}).check()
}

// With returns a catalogue that also knows the overrides, each by
// provider/model as [Catalogue.Find] is asked for it. What an override does not
// name stays as Find had it; one that names the window makes a model known. One
// that cannot be meant is left out; see [Override.Check].
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

// apply changes a spec.
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

// set changes a value if there is another.
func set[T any](value *T, other *T) {
	if other != nil {
		*value = *other
	}
}
