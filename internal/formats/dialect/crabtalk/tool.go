// Package crabtalk reads and writes the sessions of CrabTalk.
//
// A session is a file of JSON lines: a metadata line, messages in the format of OpenAI's
// chat API, markers for compactions and, in April 2026, events that are not sent to the
// model. Later versions store each line in a file of its own in a folder, which is read but
// not written. Sessions are written in the format of CrabTalk's RFC 0064, which every later
// version can read.
//
// Lines have no IDs and no times. Entries are named by their line number.
package crabtalk

import (
	"firn.dev/internal/formats/dialect"
)

// Tool implements dialect.Tool for CrabTalk.
type Tool struct{}

// New returns the tool.
func New() Tool { return Tool{} }

// Name returns [dialect.CrabTalk].
func (Tool) Name() dialect.Name { return dialect.CrabTalk }

// Scanner returns a scanner for a transcript.
func (Tool) Scanner(from dialect.Origin) dialect.Scanner { return newScanner(from) }

// Printer returns a printer for a new transcript or for appending to one.
func (Tool) Printer(to dialect.Target) dialect.Printer { return newPrinter(to) }

// Layout returns CrabTalk's file layout. It is a [dialect.Meta].
func (Tool) Layout() dialect.Layout { return layout{} }

// The names of the limits.
const (
	limitBranches  = "branches"
	limitTimes     = "times"
	limitTitles    = "titles"
	limitModels    = "models"
	limitUsage     = "usage"
	limitParts     = "parts"
	limitImages    = "images"
	limitMarks     = "marks"
	limitErrors    = "errors"
	limitFailed    = "failed answers"
	limitEmpty     = "empty answers"
	limitSpeakers  = "speakers"
	limitKept      = "kept messages"
	limitHiding    = "hiding"
	limitSettings  = "settings"
	limitNotes     = "notes"
	limitUnknown   = "unknown entries"
	limitDirectory = "directory"
)

// Limits lists the features that CrabTalk's files cannot represent.
func (Tool) Limits() []dialect.Limit {
	return []dialect.Limit{
		{Name: limitBranches, Becomes: "only the current branch is written"},
		{Name: limitTimes, Becomes: "only the time of the first line is written"},
		{Name: limitTitles, Becomes: "the last title is in the first line, earlier ones are left out"},
		{Name: limitModels, Becomes: "the model and the stop reason are left out"},
		{Name: limitUsage, Becomes: "the cost of answers is left out"},
		{Name: limitParts, Becomes: "the texts of a message are joined, before its calls"},
		{Name: limitImages, Becomes: "an image becomes the text [image]"},
		{Name: limitMarks, Becomes: "provider signatures and details for programs are left out"},
		{Name: limitErrors, Becomes: "that a result is an error is left out"},
		{Name: limitFailed, Becomes: "answers that failed are left out, as a model is not sent them"},
		{Name: limitEmpty, Becomes: "answers without text and calls are left out: providers reject them"},
		{Name: limitSpeakers, Becomes: "branch summaries, commands and messages of programs become user messages"},
		{Name: limitKept, Becomes: "the entries that a compaction keeps are written again after its marker, if they can still be read"},
		{Name: limitHiding, Becomes: "a marker is written, and after it the entries that are not hidden; entries that cannot be read again stay"},
		{Name: limitSettings, Becomes: "changes of the model and the thinking level are left out"},
		{Name: limitNotes, Becomes: "labels and the state of programs are left out"},
		{Name: limitUnknown, Becomes: "entries of unknown kinds are left out"},
		{Name: limitDirectory, Becomes: "the directory and the session it was forked from are left out"},
	}
}
