package tool

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"firn.dev/internal/base/typo"
)

// maxNear is the maximum number of suggested names.
const maxNear = 3

// similarNames returns the names that are similar to meant, most similar first.
func similarNames(meant string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	for _, name := range names {
		if far, ok := distance(meant, name); ok {
			found = append(found, candidate{name, far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), strings.Compare(a.name, b.name))
	})
	found = found[:min(len(found), maxNear)]
	similar := make([]string, len(found))
	for i, c := range found {
		similar[i] = c.name
	}
	return similar
}

// distance returns the distance between two names, or false if it is too large.
func distance(meant, name string) (int, bool) {
	a, b := strings.ToLower(meant), strings.ToLower(name)
	switch {
	case a == b:
		return 0, true
	case stem(a) == stem(b): // only the extension differs
		return 1, true
	case utf8.RuneCountInString(a) > 2 && (strings.HasPrefix(b, a) || strings.HasSuffix(b, a)):
		return 2, true
	}
	d := typo.Distance(a, b)
	return d + 1, d <= len(a)/3
}

func stem(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}
