// Package claudecode speaks the dialect of Claude Code: JSON lines that make a
// chain by parentUuid, one block of an answer on each line, in a file for each
// session below ~/.claude/projects.
//
// It reads what every version since 1.0 wrote. The tree it makes is the one
// Claude Code itself goes by: results of parallel calls, which hang off their
// own calls, stand in one path in the order of the official SDK; the last copy
// of a uuid counts; a compaction is one entry. It writes what versions 1.0.128,
// 2.0.76 and 2.1.325 all resume.
package claudecode

import (
	"firn.dev/internal/formats/dialect"
)

// Tool is Claude Code.
type Tool struct{}

// New returns the tool.
func New() Tool { return Tool{} }

// Name returns dialect.ClaudeCode.
func (Tool) Name() dialect.Name { return dialect.ClaudeCode }

// Scanner begins to read a transcript.
func (Tool) Scanner(from dialect.Origin) dialect.Scanner { return newScanner(from) }

// Printer begins to write one, or to go on with one.
func (Tool) Printer(to dialect.Target) dialect.Printer { return newPrinter(to) }

// Layout is where Claude Code keeps its files.
func (Tool) Layout() dialect.Layout { return layout{} }

// The names of the limits.
const (
	limitHidden     = "hidden entries"
	limitLabels     = "labels"
	limitModels     = "model changes"
	limitCustom     = "program state"
	limitHeads      = "moves of the head"
	limitNotes      = "notes and summaries of branches"
	limitCommands   = "commands"
	limitSystem     = "system messages"
	limitRoles      = "unknown roles"
	limitThinking   = "thinking"
	limitParts      = "unknown parts"
	limitSignatures = "signatures"
	limitCallIDs    = "call ids"
	limitOrphans    = "results without a call"
	limitEmpty      = "empty messages"
	limitOpaque     = "unknown entries"
	limitKept       = "kept messages"
)

// Limits lists what Claude Code's files cannot say.
func (Tool) Limits() []dialect.Limit {
	return []dialect.Limit{
		{Name: limitHidden, Becomes: "what follows a hidden message is written again without it; where the file cannot be read again, it stays visible"},
		{Name: limitLabels, Becomes: "a line that Claude Code passes over"},
		{Name: limitModels, Becomes: "a line that Claude Code passes over; its answers name their model"},
		{Name: limitCustom, Becomes: "a line that Claude Code passes over"},
		{Name: limitHeads, Becomes: "a line that Claude Code passes over, and a note where the head was moved, from which it goes on"},
		{Name: limitNotes, Becomes: "a message of the user that is marked as meta"},
		{Name: limitCommands, Becomes: "a message of the user as Claude Code writes for commands in bash mode; hidden ones are left out"},
		{Name: limitSystem, Becomes: "a message of the user that is marked as meta"},
		{Name: limitRoles, Becomes: "left out: nobody is sent them"},
		{Name: limitThinking, Becomes: "left out unless Anthropic signed it: its API refuses any other"},
		{Name: limitParts, Becomes: "left out: Anthropic's API has no block for them"},
		{Name: limitSignatures, Becomes: "left out: only the provider that made them wants them"},
		{Name: limitCallIDs, Becomes: "characters that Anthropic's API refuses become underscores"},
		{Name: limitOrphans, Becomes: "left out: the API refuses them"},
		{Name: limitEmpty, Becomes: "left out: the API refuses them"},
		{Name: limitOpaque, Becomes: "left out"},
		{Name: limitKept, Becomes: "named in the boundary instead of written again, which versions before 2.1 do not see"},
	}
}
