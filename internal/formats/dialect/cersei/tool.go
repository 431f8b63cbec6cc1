// Package cersei stands in for Cersei, a framework for agents in Rust: it reads
// and writes both forms of its sessions and knows where they lie.
//
// A transcript has a line for each message, with a uuid and a time, and deletes
// with tombstones that count wherever they stand. The other form, which Cersei
// calls JsonlMemory, is one bare message on each line. Cersei reads messages in
// the order they stand in and follows no parents; so does this package.
//
// It is more patient than Cersei: a line that lacks a field Cersei insists on is
// read all the same if it says something.
package cersei

import "firn.dev/internal/formats/dialect"

// Tool is Cersei.
type Tool struct{ options Options }

// Options choose among what Cersei can read. The zero value writes exactly what
// Cersei writes.
type Options struct {
	// ForClaude writes the links and names that Claude Code wants beside
	// Cersei's own, so that it can resume the session, too. Tombstones and
	// further parts mean nothing to Claude Code.
	ForClaude bool
}

// New makes the tool.
func New(options Options) Tool { return Tool{options: options} }

// Name returns the name of the dialect.
func (Tool) Name() dialect.Name { return dialect.Cersei }

// Scanner begins to read a transcript of either form.
func (Tool) Scanner(from dialect.Origin) dialect.Scanner { return newScanner(from) }

// Printer begins to write a transcript. It goes on with a file in the form that
// the file has.
func (t Tool) Printer(to dialect.Target) dialect.Printer { return newPrinter(t.options, to) }

// Layout returns where Cersei keeps its files.
func (t Tool) Layout() dialect.Layout { return layout(t) }

// The names of the limits.
const (
	limitBranches   = "branches"
	limitTitles     = "titles"
	limitLabels     = "labels"
	limitSettings   = "models and thinking levels"
	limitCustom     = "custom entries"
	limitInjected   = "injected messages"
	limitShell      = "shell commands"
	limitErrors     = "failed answers"
	limitThinking   = "thinking"
	limitParts      = "unknown parts"
	limitDetails    = "details of results"
	limitEmpty      = "empty messages"
	limitCompaction = "compactions"
	limitHiding     = "hiding"
	limitRestoring  = "restoring"
	limitUnknown    = "unknown entries"
)

// Limits lists what Cersei's files cannot say.
func (t Tool) Limits() []dialect.Limit {
	limits := []dialect.Limit{
		{Name: limitBranches, Becomes: "only the current branch is written"},
		{Name: limitTitles, Becomes: "kept in a line that Cersei skips; left out among bare messages"},
		{Name: limitLabels, Becomes: "left out"},
		{Name: limitSettings, Becomes: "left out; each answer names its model"},
		{Name: limitCustom, Becomes: "left out, unless it is a line of Cersei"},
		{Name: limitInjected, Becomes: "messages of the user"},
		{Name: limitShell, Becomes: "messages of the user that show the command and its output"},
		{Name: limitErrors, Becomes: "answers that look complete; left out if nothing was said"},
		{Name: limitThinking, Becomes: "left out if another provider than Anthropic signed it"},
		{Name: limitParts, Becomes: "left out: Cersei forgets what it does not know"},
		{Name: limitDetails, Becomes: "left out; the model was never sent them"},
		{Name: limitEmpty, Becomes: "left out: providers refuse them"},
		{Name: limitCompaction, Becomes: "the summary is a message behind those that are kept, and those it stands for are deleted; among bare messages they stay"},
		{Name: limitHiding, Becomes: "possible for messages of a transcript, not for bare ones or a session as a whole"},
		{Name: limitRestoring, Becomes: "said again under new uuids, with all that came after it, if that can be read"},
		{Name: limitUnknown, Becomes: "left out"},
	}
	if t.options.ForClaude {
		limits[13].Becomes += "; Claude Code still sees what is deleted"
	}
	return limits
}
