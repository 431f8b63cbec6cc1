// Package linediff compares texts line by line.
package linediff

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/aymanbagabas/go-udiff/lcs"
)

// Hunk is a run of lines that differ: the old lines from OldStart up to OldEnd were
// replaced by the new lines from NewStart up to NewEnd. Lines are counted from zero.
type Hunk struct {
	OldStart, OldEnd, NewStart, NewEnd int
}

// Hunks returns the runs of lines that differ, in order.
func Hunks(before, after []string) []Hunk {
	diffs := lcs.DiffLines(before, after)
	hunks := make([]Hunk, len(diffs))
	for i, d := range diffs {
		hunks[i] = Hunk{OldStart: d.Start, OldEnd: d.End, NewStart: d.ReplStart, NewEnd: d.ReplEnd}
	}
	return hunks
}

// Lines splits a text into lines, each with its newline. The last line may lack one. An
// empty text has no lines.
func Lines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Count returns the number of lines added and removed.
func Count(before, after string) (added, removed int) {
	for _, h := range Hunks(Lines(before), Lines(after)) {
		added += h.NewEnd - h.NewStart
		removed += h.OldEnd - h.OldStart
	}
	return added, removed
}

// Unified returns a unified diff with three lines of context, or "" if the texts are equal.
func Unified(oldName, newName, before, after string) string {
	return udiff.Unified(oldName, newName, before, after)
}
