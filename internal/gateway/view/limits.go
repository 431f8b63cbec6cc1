package view

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/render/card"
	"firn.dev/wire"
)

// Limits of references.
const (
	// MinPrefix is the minimum length of an ID prefix.
	MinPrefix = 4
	// MaxReference is the maximum length of a reference, in bytes.
	MaxReference = 1024
	// MaxCandidates is the maximum number of candidates in a hint.
	MaxCandidates = 5
)

// Enumerate lists some of count items.
func Enumerate(some []string, count int) string {
	text := strings.Join(some, ", ")
	if more := count - len(some); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Clip truncates input for error messages.
func Clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return firn.CutText(s, most) + "…"
}

// Limits of list pages.
const (
	StandardPage = 100
	largestPage  = 1000
)

// PageSize returns the page size for a requested limit.
func PageSize(limit int) int {
	if limit <= 0 {
		return StandardPage
	}
	return min(limit, largestPage)
}

// OneLine returns a title or a prompt on one line, without terminal control characters and
// direction overrides.
func OneLine(s string) string { return card.Line(s, len(s)) }

func countersOf(c agent.Counters) wire.Counters {
	return wire.Counters{Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite, Cost: c.Cost, Answers: c.Answers}
}

// Latest is the name of the compaction in force, or of the one undone last.
const Latest = "latest"
