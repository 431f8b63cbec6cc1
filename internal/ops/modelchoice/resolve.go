package modelchoice

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/base/typo"
)

// Unresolved is the error for a name that is no model, or that fits several. It is a
// [firn.ErrInvalid].
type Unresolved struct {
	Name string
	// Candidates are the models that fit, at most 8; empty if none does. Nearest is the model
	// with the most similar name; empty if there is none.
	Candidates []string
	Nearest    string
	// Provider is the provider in the name, if it is unknown and no other is similar.
	Provider string
}

// Error returns the error in one sentence.
func (u *Unresolved) Error() string {
	if len(u.Candidates) > 0 {
		return fmt.Sprintf("several models fit %q: %s", u.Name, strings.Join(u.Candidates, ", "))
	}
	if u.Nearest != "" {
		return fmt.Sprintf("unknown model %q; did you mean %s?", u.Name, u.Nearest)
	}
	if u.Provider != "" {
		return fmt.Sprintf("unknown provider %q", u.Provider)
	}
	return fmt.Sprintf("unknown model %q", u.Name)
}

// Unwrap returns the kind of the error.
func (u *Unresolved) Unwrap() error { return firn.ErrInvalid }

// Resolve returns the model that a name means. PROVIDER/MODEL is returned as it is, if the
// provider exists: a provider may have models that are not known here. A bare name means the
// model of that name, or else the latest model of the only family that has the word in its
// name: "sonnet" means the latest Claude Sonnet. Models of resellers, whose names contain the
// maker, are considered only if no other model fits.
func Resolve(name string, offers []Offer, providers []string) (string, error) {
	name = strings.TrimSpace(name)
	provider, rest, ok := strings.Cut(name, "/")
	if ok && rest != "" && slices.Contains(providers, provider) {
		return name, nil
	}
	if name == "" {
		return "", failure.Of(firn.ErrInvalid, "the name of the model is empty")
	}
	if ok {
		return resolveHosted(name, provider, rest, offers, providers)
	}
	if name == "offline" {
		return BuiltIn, nil
	}
	if id, fits, done := resolveExact(name, offers); done {
		return id, several(name, id, fits)
	}
	if id, fits, done := resolveFamily(name, offers); done {
		return id, several(name, id, fits)
	}
	return "", &Unresolved{Name: name, Nearest: nearest(name, offers)}
}

// several returns the error for a name that fits several models, or nil if id is set.
func several(name, id string, fits []string) error {
	if id != "" {
		return nil
	}
	slices.Sort(fits)
	return &Unresolved{Name: name, Candidates: fits[:min(len(fits), maxCandidates)]}
}

const maxCandidates = 8

// resolveHosted resolves MAKER/MODEL at a reseller, or reports the misspelled provider.
func resolveHosted(name, provider, rest string, offers []Offer, providers []string) (string, error) {
	var fits []string
	for _, o := range offers {
		if _, hosted, _ := strings.Cut(o.ID, "/"); strings.EqualFold(hosted, name) {
			fits = append(fits, o.ID)
		}
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	if len(fits) > 1 {
		return "", several(name, "", fits)
	}
	if near := typo.Nearest(strings.ToLower(provider), providers, 2); near != "" {
		return "", &Unresolved{Name: name, Nearest: near + "/" + rest}
	}
	return "", &Unresolved{Name: name, Provider: provider, Nearest: nearest(name, offers)}
}

// resolveExact finds the model with a bare name. Of several providers the only one that is
// ready is taken.
func resolveExact(name string, offers []Offer) (id string, fits []string, done bool) {
	var ready []string
	for _, o := range offers {
		_, rest, _ := strings.Cut(o.ID, "/")
		rest = strings.TrimSuffix(rest, ":latest")
		if plain(rest) != plain(strings.TrimSuffix(name, ":latest")) {
			continue
		}
		fits = append(fits, o.ID)
		if o.Ready {
			ready = append(ready, o.ID)
		}
	}
	switch {
	case len(fits) == 1:
		return fits[0], fits, true
	case len(ready) == 1:
		return ready[0], fits, true
	}
	return "", fits, len(fits) > 1
}

// plain removes differences of notation from a name.
func plain(name string) string { return strings.ReplaceAll(strings.ToLower(name), ".", "-") }

// resolveFamily finds the latest model of the only family with a word in its name.
func resolveFamily(name string, offers []Offer) (id string, fits []string, done bool) {
	families := make(map[string][]string)
	for _, hosted := range []bool{false, true} {
		for _, o := range offers {
			provider, rest, _ := strings.Cut(o.ID, "/")
			if strings.Contains(rest, "/") == hosted && hasWords(plain(rest), plain(name)) {
				key := provider + "/" + family(rest)
				families[key] = append(families[key], o.ID)
			}
		}
		if len(families) > 0 {
			break
		}
	}
	for _, ids := range families {
		slices.SortFunc(ids, func(a, b string) int { return compareVersions(b, a) })
		fits = append(fits, ids[0])
	}
	if len(fits) == 1 {
		return fits[0], fits, true
	}
	return "", fits, len(fits) > 1
}

// hasWords reports whether a name contains words at the boundaries of its own.
func hasWords(name, words string) bool {
	return strings.Contains("-"+strings.NewReplacer("_", "-", ":", "-", "/", "-", "@", "-").Replace(name)+"-", "-"+words+"-")
}

var (
	versionPart = pattern.New(`^v?\d+$|^latest$|^preview$|^exp$`)
	numberPart  = pattern.New(`\d+`)
)

// family returns the words of a name without versions and dates, sorted, since vendors changed
// their order: claude-3-5-sonnet and claude-sonnet-4-5 are one family.
func family(name string) string {
	words := slices.DeleteFunc(strings.Split(plain(name), "-"), versionPart().MatchString)
	slices.Sort(words)
	return strings.Join(words, "-")
}

// compareVersions orders models of a family by their version numbers. Dates do not count, and
// of equal versions the shorter name is the later one: it is the alias.
func compareVersions(a, b string) int {
	x, y := versionOf(a), versionOf(b)
	return cmp.Or(slices.Compare(x, y), cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
}

func versionOf(id string) (version []int) {
	for _, text := range numberPart().FindAllString(id, -1) {
		if n, err := strconv.Atoi(text); err == nil && len(text) < 4 {
			version = append(version, n)
		}
	}
	return version
}

// nearest returns the model with the most similar name. Of several equally similar ones it
// prefers those that are ready, and then later versions.
func nearest(name string, offers []Offer) string {
	names := make(map[string]string)
	var all []string
	for _, o := range slices.SortedStableFunc(slices.Values(offers), comparePreference) {
		_, rest, _ := strings.Cut(o.ID, "/")
		for _, n := range append(strings.FieldsFunc(rest, func(r rune) bool { return r == '-' || r == '/' || r == ':' }), rest, o.ID) {
			if n = strings.ToLower(n); len(n) > 3 && names[n] == "" {
				names[n] = o.ID
				all = append(all, n)
			}
		}
	}
	near := typo.Nearest(strings.ToLower(name), all, max(2, len(name)/5))
	if near == "" {
		return ""
	}
	if id, _, _ := resolveFamily(near, offers); id != "" {
		return id
	}
	return names[near]
}

// comparePreference orders models that are ready before others, and later versions first.
func comparePreference(a, b Offer) int {
	if a.Ready != b.Ready {
		if a.Ready {
			return -1
		}
		return 1
	}
	return compareVersions(b.ID, a.ID)
}

// Uncataloged reports whether the catalog has models of a model's provider but not this one,
// and returns the one with the most similar name; empty if there is none. Models of local
// servers are not in the catalog.
func Uncataloged(id string, offers []Offer) (near string, unknown bool) {
	provider, name, _ := strings.Cut(id, "/")
	var names []string
	for _, o := range offers {
		switch of, rest, _ := strings.Cut(o.ID, "/"); {
		case o.ID == id || of == provider && o.Local:
			return "", false
		case of == provider:
			names = append(names, rest)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	if near = typo.Nearest(name, names, max(2, len(name)/5)); near != "" {
		near = provider + "/" + near
	}
	return near, true
}
