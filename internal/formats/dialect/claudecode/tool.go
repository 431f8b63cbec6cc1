// Package claudecode implements the dialect of Claude Code: JSON lines chained by
// parentUuid, one block of a response per line, in a file per session below
// ~/.claude/projects.
//
// It reads the files of every version since 1.0. Its tree follows Claude Code's own rules:
// results of parallel calls, which are children of their own calls, form one path in the
// order of the official SDK; the last copy of a uuid counts; a compaction is one entry.
// Versions 1.0.128, 2.0.76 and 2.1.325 can all resume the files that it writes.
package claudecode

import (
	"firn.dev/internal/formats/dialect"
)

// Tool implements dialect.Tool for Claude Code.
type Tool struct{}

// New returns the tool.
func New() Tool { return Tool{} }

// Name returns dialect.ClaudeCode.
func (Tool) Name() dialect.Name { return dialect.ClaudeCode }

// Scanner returns a scanner for a transcript.
func (Tool) Scanner(from dialect.Origin) dialect.Scanner { return newScanner(from) }

// Printer returns a printer for a new transcript or for appending to one.
func (Tool) Printer(to dialect.Target) dialect.Printer { return newPrinter(to) }

// Layout returns Claude Code's file layout.
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

// Limits lists the features that Claude Code's files cannot represent.
func (Tool) Limits() []dialect.Limit {
	return []dialect.Limit{
		{Name: limitHidden, Becomes: "the entries after a hidden message are written again without it; if the file cannot be read again, it stays visible"},
		{Name: limitLabels, Becomes: "a line that Claude Code ignores"},
		{Name: limitModels, Becomes: "a line that Claude Code ignores; its answers name their model"},
		{Name: limitCustom, Becomes: "a line that Claude Code ignores"},
		{Name: limitHeads, Becomes: "a line that Claude Code ignores, and a note at the new head, from which it continues"},
		{Name: limitNotes, Becomes: "a user message marked as meta"},
		{Name: limitCommands, Becomes: "a user message in the form that Claude Code uses for bash mode; hidden ones are left out"},
		{Name: limitSystem, Becomes: "a user message marked as meta"},
		{Name: limitRoles, Becomes: "left out: they are never sent to a model"},
		{Name: limitThinking, Becomes: "left out unless signed by Anthropic: its API rejects any other"},
		{Name: limitParts, Becomes: "left out: Anthropic's API has no block for them"},
		{Name: limitSignatures, Becomes: "left out: only the provider that made them accepts them"},
		{Name: limitCallIDs, Becomes: "characters that Anthropic's API rejects become underscores"},
		{Name: limitOrphans, Becomes: "left out: the API rejects them"},
		{Name: limitEmpty, Becomes: "left out: the API rejects them"},
		{Name: limitOpaque, Becomes: "left out"},
		{Name: limitKept, Becomes: "listed in the boundary instead of written again, which versions before 2.1 ignore"},
	}
}
