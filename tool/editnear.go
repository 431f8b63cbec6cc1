package tool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
)

// The limits of the search for similar lines.
const (
	maxNearPlaces = 3
	maxNearLines  = 8
	maxNearFile   = 50_000 // lines
	maxNearWidth  = 400    // bytes of a line that are compared
	leastNear     = 0.5
)

// notFound returns the error for a text that does not occur, with the most similar lines.
func notFound(content []byte, old string) error {
	near := nearLines(content, old)
	if near == "" {
		return fmt.Errorf("old_text was %w in the file: read the file and copy the text exactly", firn.ErrNotFound)
	}
	return fmt.Errorf("old_text was %w in the file; the nearest lines are:\n%s", firn.ErrNotFound, near)
}

// nearLines returns the places that are most similar to a text, with line numbers.
func nearLines(content []byte, old string) string {
	wanted := strings.Split(strings.Trim(strings.ReplaceAll(old, "\r\n", "\n"), "\n"), "\n")
	lines := strings.SplitN(string(content), "\n", maxNearFile+1)
	lines = lines[:min(len(lines), maxNearFile)]
	type candidate struct {
		at    int
		score float64
	}
	head := wanted[:min(len(wanted), maxNearLines)]
	parts := make([]map[[2]byte]int, len(head))
	for i, line := range head {
		parts[i] = bigrams(line)
	}
	var found []candidate
	for at := range lines {
		if score := similarity(lines[at:], head, parts); score >= leastNear {
			found = append(found, candidate{at, score})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	var b strings.Builder
	shownLines := make(map[int]bool)
	places := 0
	for _, c := range found {
		if places == maxNearPlaces {
			break
		}
		if shownLines[c.at] {
			continue
		}
		places++
		for i := c.at; i < min(c.at+len(head), len(lines)); i++ {
			shownLines[i] = true
			clean, _ := firn.CleanText(strings.TrimSuffix(lines[i], "\r"))
			fmt.Fprintf(&b, "%d: %s\n", i+1, ellipsis(clean, shownLine))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// similarity returns how similar the beginning of lines is to the wanted ones, from 0 to 1.
// Parts are the bigrams of the wanted lines. A first line that is not similar ends the
// comparison early.
func similarity(lines, wanted []string, parts []map[[2]byte]int) float64 {
	sum := 0.0
	for i := range wanted {
		if i >= len(lines) {
			break
		}
		one := lineSimilarity(lines[i], wanted[i], parts[i])
		if i == 0 && one < leastNear {
			return 0
		}
		sum += one
	}
	return sum / float64(len(wanted))
}

// lineSimilarity compares two lines by their common pairs of bytes, ignoring space.
func lineSimilarity(line, wanted string, parts map[[2]byte]int) float64 {
	a, b := strings.Join(strings.Fields(line), " "), strings.Join(strings.Fields(wanted), " ")
	if a == b {
		if a == "" {
			return 0.5 // blank lines are everywhere
		}
		return 1
	}
	a, b = a[:min(len(a), maxNearWidth)], b[:min(len(b), maxNearWidth)]
	if len(a) < 2 || len(b) < 2 || len(a) > 3*len(b) || len(b) > 3*len(a) {
		return 0
	}
	common, seen := 0, make(map[[2]byte]int, len(a))
	for i := range len(a) - 1 {
		pair := [2]byte{a[i], a[i+1]}
		if seen[pair] < parts[pair] {
			seen[pair]++
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b)-2)
}

// bigrams counts the pairs of bytes of a line, ignoring space.
func bigrams(line string) map[[2]byte]int {
	line = strings.Join(strings.Fields(line), " ")
	line = line[:min(len(line), maxNearWidth)]
	pairs := make(map[[2]byte]int)
	for i := range max(len(line)-1, 0) {
		pairs[[2]byte{line[i], line[i+1]}]++
	}
	return pairs
}
