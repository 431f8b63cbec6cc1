// Package typo finds the name that somebody meant who wrote another. It is pure,
// and knows nothing of what the names are for.
package typo

// Nearest is the name of some that was probably meant, if it is at most so many
// letters away; empty if none is. One that would have to be changed wholly is not.
func Nearest(name string, names []string, most int) string {
	best, least := "", most+1
	for _, n := range names {
		if d := Distance(name, n); d < least && d < len(n) {
			best, least = n, d
		}
	}
	return best
}

// longest is how long a word may be that is looked at: as long as the name of a
// file can be.
const longest = 255

// Distance counts the bytes that must be put in, taken out, changed or swapped
// with their neighbours to make one word of the other. Words that are too long
// to be names are far from all others.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			next[j] = min(change, last[j]+1, next[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}
