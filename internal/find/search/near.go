package search

import (
	"slices"
	"time"
)

// Passage is a text with its role and time, for detecting copies.
type Passage struct {
	Role  Role
	Words []string
	Time  time.Time
}

// Thresholds for copies.
const (
	// fewWords is the length below which equal texts may be coincidence. Such texts are
	// copies only if they have the same time.
	fewWords = 8
	// alike is the minimum share of word pairs that copies have in common.
	alike = 0.9
	// sameTime is the maximum difference between the times that two tools record for one
	// message.
	sameTime = 2 * time.Second
	// maxCompared is the maximum number of words compared.
	maxCompared = 2000
)

// IsCopy reports whether two texts are copies, as created by forks and mirrors.
func IsCopy(a, b Passage) bool {
	if a.Role != b.Role {
		return false
	}
	aw, bw := a.Words[:min(len(a.Words), maxCompared)], b.Words[:min(len(b.Words), maxCompared)]
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

// common returns the share of word pairs that two texts have in common.
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
