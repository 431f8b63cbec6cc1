// Package pi reads and writes the sessions of pi, the coding agent, where pi
// keeps them. Lines are spelt as in firn's own format, which is pi's with a few
// more types of entries; what this package adds is what pi makes of a whole
// file: the older versions of the format, edits of the context, which line is
// the head, and how an entry is hidden from a program that knows no tombstones.
//
// pi brings old files up to date by writing them anew. This package does so in
// memory, and adds nothing to a file that pi would still rewrite.
package pi

import (
	"firn.dev/internal/formats/dialect"
)

// Tool is pi. It must be made with New.
type Tool struct {
	lines dialect.Dialect
}

// New returns pi, which spells its lines in the native dialect.
func New(lines dialect.Dialect) Tool { return Tool{lines: lines} }

// Name returns dialect.Pi.
func (Tool) Name() dialect.Name { return dialect.Pi }

// The names of what pi's files cannot say.
const (
	limitHidden   = "hidden entries"
	limitElse     = "hidden on other branches"
	limitRestored = "restored entries"
	limitSession  = "hidden sessions"
	limitTitles   = "automatic titles"
	limitOrder    = "answers given meanwhile"
)

// Limits lists what pi's files cannot say. The lines of ours that say it are
// written all the same: pi carries them along, and firn reads them.
func (Tool) Limits() []dialect.Limit {
	return []dialect.Limit{
		{Name: limitHidden, Becomes: "where what was written cannot be read again, pi before 0.87 still sends them, and so does any pi what is no message"},
		{Name: limitElse, Becomes: "pi shows them when it goes back to a branch that was left"},
		{Name: limitRestored, Becomes: "they stay hidden for pi where more than them was hidden"},
		{Name: limitSession, Becomes: "pi lists the session all the same"},
		{Name: limitTitles, Becomes: "pi shows the latest title, whoever chose it"},
		{Name: limitOrder, Becomes: "pi sends them in the order of the file"},
	}
}

// Scanner begins to read a transcript.
func (t Tool) Scanner(from dialect.Origin) dialect.Scanner {
	return &scanner{lines: t.lines, from: from, nodes: make(nodes)}
}

// Printer begins to write a transcript, or to go on with one.
func (t Tool) Printer(to dialect.Target) dialect.Printer {
	return newPrinter(t.lines, to)
}

// Layout is where pi keeps its files.
func (Tool) Layout() dialect.Layout { return layout{} }
