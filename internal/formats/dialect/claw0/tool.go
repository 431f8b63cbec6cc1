// Package claw0 stands in for claw0, a teaching agent in Python: it reads and
// writes the transcripts of both its versions and knows where they lie.
//
// The first version keeps an index by session key and flat lines of strings and
// calls, and writes the results of tools before the calls they answer. The
// current version keeps an index for each agent and the blocks of an answer on
// one line, and every call once more on a line of its own. The scanner puts
// results behind their calls and reads every call once; what claw0 itself makes
// of such files is refused by the model's provider.
//
// Both versions skip lines of a type they do not know. What they cannot say,
// the printer keeps in such lines if it is about the conversation, so that firn
// finds it again.
package claw0

import (
	"io/fs"

	"firn.dev/internal/formats/dialect"
)

// Tool is claw0.
type Tool struct{ options Options }

// Options choose between the versions of claw0.
type Options struct {
	// Current writes new transcripts as the current version does, and not as
	// the first. A file that is there is gone on with as it is.
	Current bool
}

// New makes the tool.
func New(options Options) Tool { return Tool{options: options} }

// In is the tool in the version that a home is of. A home of both versions, or
// of neither, does not change it.
func (t Tool) In(home fs.FS) Tool {
	base := baseOf(home)
	first, current := len(transcripts(home, base)) > 0, len(agents(home, base)) > 0
	if first != current {
		t.options.Current = current
	}
	return t
}

// Name returns the name of the dialect.
func (Tool) Name() dialect.Name { return dialect.Claw0 }

// Scanner begins to read a transcript of either version.
func (Tool) Scanner(from dialect.Origin) dialect.Scanner { return newScanner(from) }

// Printer begins to write a transcript. It goes on with a file in the version
// that the file is of.
func (t Tool) Printer(to dialect.Target) dialect.Printer { return newPrinter(t.options, to) }

// Layout returns where claw0 keeps its files.
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

// skipped is what becomes of all that claw0 cannot say and firn keeps.
const skipped = "kept in a line that claw0 skips"

// Limits lists what claw0's files cannot say.
func (Tool) Limits() []dialect.Limit {
	return []dialect.Limit{
		{Name: limitBranches, Becomes: "only the current branch is written"},
		{Name: limitTitles, Becomes: skipped + "; the current version's index has it as the label"},
		{Name: limitLabels, Becomes: "left out"},
		{Name: limitSettings, Becomes: "left out"},
		{Name: limitAnswers, Becomes: "left out"},
		{Name: limitCustom, Becomes: "left out, unless it is a line of claw0"},
		{Name: limitInjected, Becomes: "messages of the user"},
		{Name: limitShell, Becomes: "messages of the user that show the command and its output"},
		{Name: limitSystem, Becomes: skipped},
		{Name: limitErrors, Becomes: "answers that look complete; left out if nothing was said"},
		{Name: limitFailures, Becomes: "results like others; a mark that claw0 does not read tells them apart"},
		{Name: limitThinking, Becomes: "left out"},
		{Name: limitParts, Becomes: "left out"},
		{Name: limitDetails, Becomes: "left out; the model was never sent them"},
		{Name: limitCalls, Becomes: "a call whose id was used before gets a number behind it"},
		{Name: limitEmpty, Becomes: "left out: providers refuse them"},
		{Name: limitCompaction, Becomes: skipped + ": it goes on to send all of the conversation"},
		{Name: limitHiding, Becomes: skipped + ": it goes on to send the message"},
		{Name: limitUnknown, Becomes: "left out"},
	}
}
