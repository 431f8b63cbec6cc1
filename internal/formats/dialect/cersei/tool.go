// Package cersei reads and writes both session formats of Cersei, an agent framework in
// Rust.
//
// A transcript has a line for each message, with a uuid and a time, and tombstones that
// apply regardless of their position. The other format, Cersei's JsonlMemory, is one bare
// message per line. Cersei reads messages in file order and ignores parents; so does this
// package.
//
// It is more lenient than Cersei: a line without a field that Cersei requires is read if it
// has content.
package cersei

import "firn.dev/internal/formats/dialect"

// Tool implements dialect.Tool for Cersei.
type Tool struct{ options Options }

// Options select what is written. The zero value writes exactly Cersei's format.
type Options struct {
	// ForClaude adds the links and names that Claude Code needs, so that it can resume the
	// session, too. Claude Code ignores tombstones and further parts.
	ForClaude bool
}

// New returns the tool.
func New(options Options) Tool { return Tool{options: options} }

// Name returns dialect.Cersei.
func (Tool) Name() dialect.Name { return dialect.Cersei }

// Scanner returns a scanner for a transcript of either format.
func (Tool) Scanner(from dialect.Origin) dialect.Scanner { return newScanner(from) }

// Printer returns a printer for a transcript. An existing file keeps its format.
func (t Tool) Printer(to dialect.Target) dialect.Printer { return newPrinter(t.options, to) }

// Layout returns Cersei's file layout.
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

// Limits lists the features that Cersei's files cannot represent.
func (t Tool) Limits() []dialect.Limit {
	limits := []dialect.Limit{
		{Name: limitBranches, Becomes: "only the current branch is written"},
		{Name: limitTitles, Becomes: "kept in a line that Cersei skips; left out among bare messages"},
		{Name: limitLabels, Becomes: "left out"},
		{Name: limitSettings, Becomes: "left out; each answer names its model"},
		{Name: limitCustom, Becomes: "left out, unless it is a line of Cersei"},
		{Name: limitInjected, Becomes: "user messages"},
		{Name: limitShell, Becomes: "user messages with the command and its output"},
		{Name: limitErrors, Becomes: "their text, which looks complete; left out if there is none, with their calls and thinking"},
		{Name: limitThinking, Becomes: "left out if another provider than Anthropic signed it"},
		{Name: limitParts, Becomes: "left out: Cersei drops unknown fields"},
		{Name: limitDetails, Becomes: "left out; the model was never sent them"},
		{Name: limitEmpty, Becomes: "left out: providers reject them"},
		{Name: limitCompaction, Becomes: "the summary is a message after the kept ones, and the summarized messages are deleted; in a file of bare messages they stay"},
		{Name: limitHiding, Becomes: "possible for messages of a transcript, not for bare ones or a session as a whole"},
		{Name: limitRestoring, Becomes: "written again with new UUIDs, including all later entries, if they can be read"},
		{Name: limitUnknown, Becomes: "left out"},
	}
	if t.options.ForClaude {
		limits[13].Becomes += "; Claude Code still sees what is deleted"
	}
	return limits
}
