// Package typo suggests the closest known name for a mistyped one. It has no state and does
// not interpret the names.
package typo

// Nearest returns the name closest to the given one, at most the given number of edits
// away, or "" if there is none. A name that shares nothing with it is not suggested.
func Nearest(name string, names []string, most int) string {
	best, least := "", most+1
	for _, n := range names {
		if d := Distance(name, n); d < least && d < len(n) {
			best, least = n, d
		}
	}
	return best
}

// maxLen is the maximum length of the words compared: that of a file name.
const maxLen = 255

// Distance returns the number of bytes that must be inserted, deleted, changed or swapped
// with their neighbors to turn one word into the other. Words too long to be names are far
// from all others.
func Distance(a, b string) int {
	if len(a) > maxLen || len(b) > maxLen {
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
