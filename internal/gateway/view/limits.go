package view

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/render/card"
	"firn.dev/wire"
)

// Limits of what names a session.
const (
	// MinPrefix is how much of an id must be told to be found by it.
	MinPrefix = 4
	// MaxReference bounds the length of a reference in bytes.
	MaxReference = 1024
	// MostCandidates is how many sessions or entries a hint names.
	MostCandidates = 5
)

// Enumerate lists some of so many.
func Enumerate(some []string, count int) string {
	text := strings.Join(some, ", ")
	if more := count - len(some); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Clip shortens what an error repeats of what it was given.
func Clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return firn.CutText(s, most) + "…"
}

// Bounds of the pages of a list.
const (
	StandardPage = 100
	largestPage  = 1000
)

// PageSize is how many things a page has if so many are asked for.
func PageSize(limit int) int {
	if limit <= 0 {
		return StandardPage
	}
	return min(limit, largestPage)
}

// OneLine is a title or a prompt as all are told it: what would steer a terminal,
// or turn the direction of text round, is not in it.
func OneLine(s string) string { return card.Line(s, len(s)) }

func countersOf(c agent.Counters) wire.Counters {
	return wire.Counters{Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite, Cost: c.Cost, Answers: c.Answers}
}

// Latest names the compaction in force, or the one that was undone last.
const Latest = "latest"
