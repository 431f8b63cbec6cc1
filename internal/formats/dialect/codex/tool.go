// Package codex reads and writes the rollouts of Codex.
//
// A rollout is a file of JSON lines, each with a time, a type and a payload: session
// metadata, the input and output items of OpenAI's Responses API, the settings of each
// turn, and events that are not sent to the model. Some events change the history: a
// rollback drops the last turns, a compaction replaces all earlier history. The scanner
// sets parents so that the path to the last entry is the context that Codex would send. The
// printer uses rollbacks and compactions to hide entries and to move back.
//
// Entries are named by their line number, as not all lines have an ID.
package codex

import (
	"firn.dev/internal/formats/dialect"
)

// version is the version of Codex in written files.
const version = "0.166.0"

// Tool implements dialect.Tool for Codex.
type Tool struct{}

// New returns the tool.
func New() Tool { return Tool{} }

// Name returns [dialect.Codex].
func (Tool) Name() dialect.Name { return dialect.Codex }

// Scanner returns a scanner for a rollout.
func (Tool) Scanner(from dialect.Origin) dialect.Scanner { return newScanner(from) }

// Printer returns a printer for a new rollout or for appending to one.
func (Tool) Printer(to dialect.Target) dialect.Printer { return newPrinter(to) }

// Layout returns Codex's file layout.
func (Tool) Layout() dialect.Layout { return layout{} }

// The names of the limits.
const (
	limitBranches = "branches"
	limitTitles   = "titles"
	limitModels   = "models"
	limitThinking = "thinking"
	limitParts    = "parts"
	limitMarks    = "marks"
	limitErrors   = "errors"
	limitFailed   = "failed answers"
	limitSpeakers = "speakers"
	limitKept     = "kept messages"
	limitHiding   = "hiding"
	limitSettings = "settings"
	limitNotes    = "notes"
	limitUnknown  = "unknown entries"
)

// Limits lists the features that a rollout cannot represent.
func (Tool) Limits() []dialect.Limit {
	return []dialect.Limit{
		{Name: limitBranches, Becomes: "only the current branch is written"},
		{Name: limitTitles, Becomes: "the last title is in the index of names, earlier ones are left out"},
		{Name: limitModels, Becomes: "the model, the cost and the stop reason are left out"},
		{Name: limitThinking, Becomes: "thoughts of other providers' models are shown and not sent"},
		{Name: limitParts, Becomes: "parts of a message other than text, images and tool calls are left out"},
		{Name: limitMarks, Becomes: "signatures of other providers and details for programs are left out"},
		{Name: limitErrors, Becomes: "that a result is an error is left out"},
		{Name: limitFailed, Becomes: "answers that failed are left out, as a model is not sent them"},
		{Name: limitSpeakers, Becomes: "branch summaries, commands and messages of programs become user messages, system prompts developer messages"},
		{Name: limitKept, Becomes: "the entries that a compaction keeps become part of the replacement history, if they can still be read"},
		{Name: limitHiding, Becomes: "the last turns are rolled back or all turns compacted, and the entries that are not hidden are written again; entries that cannot be read again stay"},
		{Name: limitSettings, Becomes: "changes of the model and the thinking level are left out: Codex uses its configured model"},
		{Name: limitNotes, Becomes: "labels and the state of programs are left out"},
		{Name: limitUnknown, Becomes: "entries of unknown kinds are left out"},
	}
}
