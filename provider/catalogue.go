package provider

import (
	_ "embed" // for the built-in catalog
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"firn.dev"
)

// AssumedWindow is the context window assumed for a model that is not in the catalog.
const AssumedWindow = 200_000

// Catalogue holds the sizes and prices of models. The zero catalog is empty; [Known]
// returns the built-in one. A catalog is immutable.
type Catalogue struct {
	// specs is keyed by provider, then by model.
	specs map[string]map[string]Spec
}

// modelsJSON is written by tools/models.mjs.
//
//go:embed models.json
var modelsJSON []byte

var known = sync.OnceValue(func() Catalogue {
	c, err := parseCatalogue(modelsJSON)
	if err != nil {
		return Catalogue{} // unreachable: a test parses the embedded catalog
	}
	return c
})

// Known returns the built-in catalog.
func Known() Catalogue { return known() }

// parseCatalogue parses a catalog: a JSON object of providers, each an object of models,
// each a [Spec].
func parseCatalogue(data []byte) (Catalogue, error) {
	var c Catalogue
	if err := json.Unmarshal(data, &c.specs); err != nil {
		return Catalogue{}, fmt.Errorf("read model catalog: %w: %w", firn.ErrInvalid, err)
	}
	for provider, models := range c.specs {
		for model, spec := range models {
			if err := spec.check(); err != nil {
				return Catalogue{}, fmt.Errorf("read model catalog: %s/%s: %w", provider, model, err)
			}
		}
	}
	return c, nil
}

// check returns an error if the spec is invalid.
func (s Spec) check() error {
	if s.Window <= 0 || s.MaxOutput < 0 || s.MaxOutput > s.Window {
		return fmt.Errorf("%w window of %d tokens and answer of %d", firn.ErrInvalid, s.Window, s.MaxOutput)
	}
	for _, p := range []float64{s.Price.Input, s.Price.Output, s.Price.CacheRead, s.Price.CacheWrite} {
		if p < 0 || math.IsNaN(p) || math.IsInf(p, 0) {
			return fmt.Errorf("%w price %v", firn.ErrInvalid, p)
		}
	}
	return nil
}

// Providers returns the names of all providers in the catalog, sorted.
func (c Catalogue) Providers() []string { return slices.Sorted(maps.Keys(c.specs)) }

// Names returns the names of all models of a provider, sorted.
func (c Catalogue) Names(provider string) []string {
	return slices.Sorted(maps.Keys(c.specs[provider]))
}

// Find returns the spec of a model, given the names of the provider and the model.
//
// A name matches a catalog entry if the two differ only by a date or "-latest" suffix, or
// by dots in place of dashes. A name of the form vendor/model is also looked up at the
// vendor. If nothing matches, Find falls back to the provider's model with the longest name
// that is a prefix of this one, and then to a model of that name at another provider, as is
// common behind a gateway. The result is marked as assumed unless it is certain to be the
// same model. For an unknown model Find returns [AssumedWindow] and no price, also marked
// as assumed.
func (c Catalogue) Find(provider, model string) Spec {
	provider, model = strings.ToLower(provider), strings.TrimSpace(model)
	if spec, ok := c.findByName(provider, model); ok {
		return spec
	}
	maker, rest := splitMaker(model)
	if spec, ok := c.findByName(maker, rest); ok {
		return spec
	}
	if spec, ok := c.findByPrefix(provider, model); ok {
		return spec
	}
	if spec, ok := c.findAnywhere(model); ok {
		return spec
	}
	if spec, ok := c.findByPrefix(maker, rest); ok {
		return spec
	}
	return Spec{Window: AssumedWindow, Assumed: true}
}

// findByName finds a provider's model by its normalized name. Among several that differ
// only by date it prefers the undated one, then the latest.
func (c Catalogue) findByName(provider, model string) (Spec, bool) {
	models := c.specs[provider]
	if spec, ok := models[model]; ok {
		return spec, true
	}
	want, best := stem(model), ""
	for name := range models {
		if mayHaveStem(name, want) && stem(name) == want && (best == "" || preferName(name, best, want)) {
			best = name
		}
	}
	spec, ok := models[best]
	return spec, ok && want != ""
}

// preferName reports whether name a is preferred over b, where both have the same stem.
func preferName(a, b, stem string) bool {
	if plain := normalizeName(a) == stem; plain != (normalizeName(b) == stem) {
		return plain
	}
	return a > b
}

// findByPrefix finds the provider's model with the longest name that is a prefix of model.
func (c Catalogue) findByPrefix(provider, model string) (Spec, bool) {
	want, best, length := release(stem(model)), "", 0
	for name := range c.specs[provider] {
		s := release(stem(name))
		if hasWordPrefix(want, s) && (len(s) > length || len(s) == length && preferName(name, best, s)) {
			best, length = name, len(s)
		}
	}
	spec, ok := c.specs[provider][best]
	spec.Assumed = true
	return spec, ok && length > 0
}

// hasWordPrefix reports whether name starts with prefix and the prefix ends at a word
// boundary.
func hasWordPrefix(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && prefix != "" && (rest == "" || strings.ContainsRune("-:/@_", rune(rest[0])))
}

// findAnywhere finds a model by name at any provider. The maker's own entry wins. Otherwise
// the entries of all hosts are merged with mergeSpecs, which keeps the smallest window.
func (c Catalogue) findAnywhere(model string) (Spec, bool) {
	_, name := splitMaker(model)
	var found []Spec
	for _, provider := range c.Providers() {
		spec, ok := c.findByName(provider, name)
		if !ok {
			spec, ok = c.findHosted(provider, name)
		}
		if ok && isMaker(provider) {
			return spec, true
		}
		if ok {
			found = append(found, spec)
		}
	}
	if len(found) == 0 {
		return Spec{}, false
	}
	agreed := found[0]
	for _, spec := range found[1:] {
		agreed = mergeSpecs(agreed, spec)
	}
	return agreed, true
}

// findHosted finds a model at a provider that prefixes model names with their makers.
func (c Catalogue) findHosted(provider, name string) (Spec, bool) {
	want := stem(name)
	for _, full := range c.Names(provider) {
		if i := strings.LastIndexByte(full, '/'); i >= 0 && mayHaveStem(full[i+1:], want) && stem(full[i+1:]) == want {
			return c.specs[provider][full], true
		}
	}
	return Spec{}, false
}

// mergeSpecs returns the values that two specs of one model have in common.
func mergeSpecs(a, b Spec) Spec {
	if a.Window != b.Window {
		a.Window, a.Assumed = min(a.Window, b.Window), true
	}
	if a.MaxOutput != b.MaxOutput {
		a.MaxOutput = min(a.MaxOutput, b.MaxOutput)
	}
	if a.Price != b.Price {
		a.Price = Price{}
	}
	a.Thinks, a.Sees = a.Thinks && b.Thinks, a.Sees && b.Sees
	return a
}
