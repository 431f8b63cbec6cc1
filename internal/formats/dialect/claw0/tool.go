// Package claw0 reads and writes the transcripts of both versions of claw0, a teaching
// agent in Python.
//
// The first version has an index by session key and flat lines of strings and calls, and
// writes the results of tools before their calls. The current version has an index per
// agent and the blocks of a response on one line, and repeats every call on a line of its
// own. The scanner puts results after their calls and reads every call once; providers
// reject the context that claw0 itself builds from such files.
//
// Both versions skip lines of unknown types. The printer uses such lines for conversation
// entries that claw0 cannot represent, so that firn can read them again.
package claw0

import (
	"io/fs"

	"firn.dev/internal/formats/dialect"
)

// Tool implements dialect.Tool for claw0.
type Tool struct{ options Options }

// Options select the version of claw0.
type Options struct {
	// Current writes new transcripts in the format of the current version instead of the
	// first. An existing file keeps its format.
	Current bool
}

// New returns the tool.
func New(options Options) Tool { return Tool{options: options} }

// In returns the tool for the version of a home. If the home has both versions or neither,
// the tool is unchanged.
func (t Tool) In(home fs.FS) Tool {
	base := baseOf(home)
	first, current := len(transcripts(home, base)) > 0, len(agents(home, base)) > 0
	if first != current {
		t.options.Current = current
	}
	return t
}

// Name returns dialect.Claw0.
func (Tool) Name() dialect.Name { return dialect.Claw0 }

// Scanner returns a scanner for a transcript of either version.
func (Tool) Scanner(from dialect.Origin) dialect.Scanner { return newScanner(from) }

// Printer returns a printer for a transcript. An existing file keeps its version.
func (t Tool) Printer(to dialect.Target) dialect.Printer { return newPrinter(t.options, to) }

// Layout returns claw0's file layout.
func (t Tool) Layout() dialect.Layout { return layout(t) }

// The names of the limits.
const (
	limitBranches   = "branches"
	limitTitles     = "titles"
	limitLabels     = "labels"
	limitSettings   = "models and thinking levels"
	limitAnswers    = "models and usage of answers"
	limitCustom     = "custom entries"
	limitInjected   = "injected messages"
	limitShell      = "shell commands"
	limitSystem     = "system prompts"
	limitErrors     = "failed answers"
	limitFailures   = "failures of tools"
	limitThinking   = "thinking"
	limitParts      = "unknown parts"
	limitDetails    = "details of results"
	limitCalls      = "ids of calls"
	limitEmpty      = "empty messages"
	limitCompaction = "compactions"
	limitHiding     = "hiding"
	limitUnknown    = "unknown entries"
)

// skipped describes the substitute for entries that claw0 cannot represent and firn stores.
const skipped = "kept in a line that claw0 skips"

// Limits lists the features that claw0's files cannot represent.
func (Tool) Limits() []dialect.Limit {
	return []dialect.Limit{
		{Name: limitBranches, Becomes: "only the current branch is written"},
		{Name: limitTitles, Becomes: skipped + "; the current version's index has it as the label"},
		{Name: limitLabels, Becomes: "left out"},
		{Name: limitSettings, Becomes: "left out"},
		{Name: limitAnswers, Becomes: "left out"},
		{Name: limitCustom, Becomes: "left out, unless it is a line of claw0"},
		{Name: limitInjected, Becomes: "user messages"},
		{Name: limitShell, Becomes: "user messages with the command and its output"},
		{Name: limitSystem, Becomes: skipped},
		{Name: limitErrors, Becomes: "their text, which looks complete; left out if there is none, with their calls and thinking"},
		{Name: limitFailures, Becomes: "results like any other, with a marker that claw0 ignores"},
		{Name: limitThinking, Becomes: "left out"},
		{Name: limitParts, Becomes: "left out"},
		{Name: limitDetails, Becomes: "left out; the model was never sent them"},
		{Name: limitCalls, Becomes: "a call ID that was used before gets a number appended"},
		{Name: limitEmpty, Becomes: "left out: providers reject them"},
		{Name: limitCompaction, Becomes: skipped + ": it still sends the whole conversation"},
		{Name: limitHiding, Becomes: skipped + ": it still sends the message"},
		{Name: limitUnknown, Becomes: "left out"},
	}
}
