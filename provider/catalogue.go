package provider

import (
	_ "embed" // for the models that come with firn
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"firn"
)

// AssumedWindow is the window of a model that is not in the catalogue.
const AssumedWindow = 200_000

// Catalogue knows the sizes and prices of models. The zero catalogue knows
// none; [Known] has those that come with firn. It never changes.
type Catalogue struct {
	// specs are by provider, then by model.
	specs map[string]map[string]Spec
}

// modelsJSON is written by tools/models.mjs.
//
//go:embed models.json
var modelsJSON []byte

var known = sync.OnceValue(func() Catalogue {
	c, err := ParseCatalogue(modelsJSON)
	if err != nil {
		return Catalogue{} // a test sees to it that this cannot be
	}
	return c
})

// Known is the catalogue of the models that come with firn.
func Known() Catalogue { return known() }

// ParseCatalogue reads a catalogue: an object of providers, each an object of
// models, each a [Spec].
func ParseCatalogue(data []byte) (Catalogue, error) {
	var c Catalogue
	if err := json.Unmarshal(data, &c.specs); err != nil {
		return Catalogue{}, fmt.Errorf("read a catalogue of models: %w: %w", firn.ErrInvalid, err)
	}
	for provider, models := range c.specs {
		for model, spec := range models {
			if err := spec.check(); err != nil {
				return Catalogue{}, fmt.Errorf("read a catalogue of models: %s/%s: %w", provider, model, err)
			}
		}
	}
	return c, nil
}

// check says what is wrong with a spec.
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

// Providers returns the names of all providers in the catalogue, sorted.
func (c Catalogue) Providers() []string { return slices.Sorted(maps.Keys(c.specs)) }

// Names returns the names of all models of a provider, sorted.
func (c Catalogue) Names(provider string) []string {
	return slices.Sorted(maps.Keys(c.specs[provider]))
}

// Find returns what is known of a model, by the names of provider and model.
//
// A name counts as known if it differs from one in the catalogue only by a date
// or "-latest" at its end, or by dots for dashes; of the form vendor/model, it
// is looked up at the vendor too. Else the model of the provider with the
// longest name that this one begins with is taken for it; else one of that name
// at another provider, as is usual behind a gateway. It is marked as assumed
// unless it is sure to be the same, and so is the answer when nothing is found:
// [AssumedWindow] and no price.
func (c Catalogue) Find(provider, model string) Spec {
	provider, model = strings.ToLower(provider), strings.TrimSpace(model)
	if spec, ok := c.named(provider, model); ok {
		return spec
	}
	maker, rest := splitMaker(model)
	if spec, ok := c.named(maker, rest); ok {
		return spec
	}
	if spec, ok := c.alike(provider, model); ok {
		return spec
	}
	if spec, ok := c.anywhere(model); ok {
		return spec
	}
	if spec, ok := c.alike(maker, rest); ok {
		return spec
	}
	return Spec{Window: AssumedWindow, Assumed: true}
}

// named finds a model of a provider by its name, however spelt. Among several
// that differ by their dates it is the one without, else the latest.
func (c Catalogue) named(provider, model string) (Spec, bool) {
	models := c.specs[provider]
	if spec, ok := models[model]; ok {
		return spec, true
	}
	want, best := stem(model), ""
	for name := range models {
		if stem(name) == want && (best == "" || better(name, best, want)) {
			best = name
		}
	}
	spec, ok := models[best]
	return spec, ok && want != ""
}

// better reports whether of two names with the same stem the first is to be
// preferred.
func better(a, b, stem string) bool {
	if plain := spelling(a) == stem; plain != (spelling(b) == stem) {
		return plain
	}
	return a > b
}

// alike finds the model of a provider with the longest name that the given one
// begins with.
func (c Catalogue) alike(provider, model string) (Spec, bool) {
	want, best, length := release(stem(model)), "", 0
	for name := range c.specs[provider] {
		s := release(stem(name))
		if begins(want, s) && (len(s) > length || len(s) == length && better(name, best, s)) {
			best, length = name, len(s)
		}
	}
	spec, ok := c.specs[provider][best]
	spec.Assumed = true
	return spec, ok && length > 0
}

// begins reports whether a name begins with another, as a whole word.
func begins(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && prefix != "" && (rest == "" || strings.ContainsRune("-:/@_", rune(rest[0])))
}

// anywhere finds a model by its name at any provider. Who makes it knows best;
// else those who host it must agree: what they differ in is not known, and of
// their windows the smallest is safe to assume.
func (c Catalogue) anywhere(model string) (Spec, bool) {
	_, name := splitMaker(model)
	var found []Spec
	for _, provider := range c.Providers() {
		spec, ok := c.named(provider, name)
		if !ok {
			spec, ok = c.hosted(provider, name)
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
		agreed = agree(agreed, spec)
	}
	return agreed, true
}

// hosted finds a model at a provider that names models by their makers.
func (c Catalogue) hosted(provider, name string) (Spec, bool) {
	want := stem(name)
	for _, full := range c.Names(provider) {
		if i := strings.LastIndexByte(full, '/'); i >= 0 && stem(full[i+1:]) == want {
			return c.specs[provider][full], true
		}
	}
	return Spec{}, false
}

// agree is what two specs of one model have in common.
func agree(a, b Spec) Spec {
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
