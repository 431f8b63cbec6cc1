package tool

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNear is how many similar names are told.
const maxNear = 3

// near returns the names that somebody may have meant, the likeliest first.
func near(meant string, names []string) []string {
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

// distance says how far a name is from the one that was meant; false if it is
// too far to be it.
func distance(meant, name string) (int, bool) {
	a, b := strings.ToLower(meant), strings.ToLower(name)
	switch {
	case a == b:
		return 0, true
	case stem(a) == stem(b): // only the extension is wrong
		return 1, true
	case utf8.RuneCountInString(a) > 2 && (strings.HasPrefix(b, a) || strings.HasSuffix(b, a)):
		return 2, true
	}
	d := edits(a, b, len(a)/3)
	return d + 1, d <= len(a)/3
}

func stem(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}

// edits counts the bytes to change, add or take away to make b of a, where two
// that changed places count as one. It need not be exact above most.
func edits(a, b string, most int) int {
	if d := len(a) - len(b); d > most || -d > most || len(a) > 255 || len(b) > 255 {
		return most + 1
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
