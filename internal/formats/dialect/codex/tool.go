// Package codex reads and writes the rollouts of Codex.
//
// A rollout is a file of JSON lines, each with a time, a type and a payload:
// what the session is, the items that went to and came from OpenAI's Responses
// API, the settings of each turn, and events that no model sees. Some events
// change what came before: a rollback drops the last turns, a compaction puts
// another history in place of all that stands before it. The scanner hangs the
// entries so that the path to the last one is what Codex would send, and the
// printer uses the same two means to hide and to go back.
//
// Entries are named by the number of their line, as not all lines have an id.
package codex

import (
	"firn.dev/internal/formats/dialect"
)

// version is the version of Codex whose files are written.
const version = "0.166.0"

// Tool is Codex.
type Tool struct{}

// New makes the tool.
func New() Tool { return Tool{} }

// Name returns [dialect.Codex].
func (Tool) Name() dialect.Name { return dialect.Codex }

// Scanner begins to read a rollout.
func (Tool) Scanner(from dialect.Origin) dialect.Scanner { return newScanner(from) }

// Printer begins to write a rollout, or to go on with one.
func (Tool) Printer(to dialect.Target) dialect.Printer { return newPrinter(to) }

// Layout is where Codex keeps its files.
func (Tool) Layout() dialect.Layout { return layout{} }

// The names of what a rollout cannot say.
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

// Limits lists what a rollout cannot say.
func (Tool) Limits() []dialect.Limit {
	return []dialect.Limit{
		{Name: limitBranches, Becomes: "only the current branch is written"},
		{Name: limitTitles, Becomes: "the last title is in the index of names, earlier ones are left out"},
		{Name: limitModels, Becomes: "which model answered, what it cost in money, and why it stopped, is left out"},
		{Name: limitThinking, Becomes: "thoughts of other providers' models are shown and not sent"},
		{Name: limitParts, Becomes: "parts of a message that are not text, pictures or calls are left out"},
		{Name: limitMarks, Becomes: "private marks of other providers and details for programs are left out"},
		{Name: limitErrors, Becomes: "that a result is an error is left out"},
		{Name: limitFailed, Becomes: "answers that failed are left out, as a model is not sent them"},
		{Name: limitSpeakers, Becomes: "summaries of branches, commands and messages of programs become messages of the user, system prompts those of the developer"},
		{Name: limitKept, Becomes: "what a compaction keeps becomes part of the history that it puts in place of the old one, if it can still be read"},
		{Name: limitHiding, Becomes: "the last turns are rolled back or all of them compacted, and what is not hidden is written again; what cannot be read again stays"},
		{Name: limitSettings, Becomes: "changes of the model and of its thinking are left out: Codex asks the one it is set to"},
		{Name: limitNotes, Becomes: "labels and the state of programs are left out"},
		{Name: limitUnknown, Becomes: "entries of unknown kinds are left out"},
	}
}
