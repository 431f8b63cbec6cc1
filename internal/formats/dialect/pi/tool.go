// Package pi reads and writes the sessions of pi, the coding agent. Lines are encoded as in
// firn's own format, which is pi's with a few additional entry types. This package adds
// pi's interpretation of a whole file: older versions of the format, context edits, the
// current head, and hiding entries without tombstones.
//
// pi upgrades old files by rewriting them. This package does so in memory, and refuses to
// append to a file that pi would still rewrite.
package pi

import (
	"firn.dev/internal/formats/dialect"
)

// Tool implements dialect.Tool for pi. Use New to create one.
type Tool struct {
	lines dialect.Dialect
}

// New returns a tool that encodes lines in the given dialect, the native one.
func New(lines dialect.Dialect) Tool { return Tool{lines: lines} }

// Name returns dialect.Pi.
func (Tool) Name() dialect.Name { return dialect.Pi }

// The names of the limits.
const (
	limitHidden   = "hidden entries"
	limitElse     = "entries hidden on other branches"
	limitRestored = "restored entries"
	limitSession  = "hidden sessions"
	limitTitles   = "automatic titles"
	limitOrder    = "answers to earlier messages"
)

// Limits lists the features that pi's files cannot represent. firn's own lines for them are
// written nevertheless: pi preserves them, and firn reads them.
func (Tool) Limits() []dialect.Limit {
	return []dialect.Limit{
		{Name: limitHidden, Becomes: "if the output cannot be read back, pi before 0.87 still sends them, and every version of pi still sends those that are not messages"},
		{Name: limitElse, Becomes: "pi shows them when it returns to an abandoned branch"},
		{Name: limitRestored, Becomes: "they stay hidden in pi if they were hidden together with other entries"},
		{Name: limitSession, Becomes: "pi still lists the session"},
		{Name: limitTitles, Becomes: "pi shows the latest title, whether chosen by a user or automatically"},
		{Name: limitOrder, Becomes: "pi sends them after the messages that arrived meanwhile, in the order of the file"},
	}
}

// Scanner returns a scanner for a transcript.
func (t Tool) Scanner(from dialect.Origin) dialect.Scanner {
	return &scanner{lines: t.lines, from: from, nodes: make(nodes)}
}

// Printer returns a printer for a new transcript or for appending to one.
func (t Tool) Printer(to dialect.Target) dialect.Printer {
	return newPrinter(t.lines, to)
}

// Layout returns pi's file layout.
func (Tool) Layout() dialect.Layout { return layout{} }
