package search

import (
	"slices"
	"time"
)

// Said is a text and when it was said, to find out whether it is a copy.
type Said struct {
	Role  Role
	Words []string
	Time  time.Time
}

// How alike texts must be to be copies.
const (
	// fewWords is how short a text may be that people say again by chance. Such
	// are copies only if they were said at the same time.
	fewWords = 8
	// alike is the share of pairs of words that copies have in common.
	alike = 0.9
	// sameTime is how far apart two tools note the time of one message.
	sameTime = 2 * time.Second
	// mostCompared bounds how many words of a text are looked at.
	mostCompared = 2000
)

// Near reports whether two texts are copies, as forks and mirrors make them.
func Near(a, b Said) bool {
	if a.Role != b.Role {
		return false
	}
	aw, bw := a.Words[:min(len(a.Words), mostCompared)], b.Words[:min(len(b.Words), mostCompared)]
	if apart := a.Time.Sub(b.Time).Abs(); min(len(aw), len(bw)) < fewWords {
		return apart <= sameTime && slices.Equal(aw, bw)
	}
	if slices.Equal(aw, bw) {
		return true
	}
	if short, long := min(len(aw), len(bw)), max(len(aw), len(bw)); float64(short) < alike*float64(long) {
		return false
	}
	return common(aw, bw) >= alike
}

// common is how many pairs of words two texts share, of all that they have.
func common(a, b []string) float64 {
	pairs := make(map[[2]string]int, len(a))
	for i := 1; i < len(a); i++ {
		pairs[[2]string{a[i-1], a[i]}]++
	}
	both := 0
	for i := 1; i < len(b); i++ {
		pair := [2]string{b[i-1], b[i]}
		if pairs[pair] > 0 {
			pairs[pair]--
			both++
		}
	}
	return float64(both) / float64(len(a)+len(b)-2-both)
}
