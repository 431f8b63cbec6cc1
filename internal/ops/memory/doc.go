// Package memory stores notes that outlast a single conversation, with their sources.
//
// Notes are plain Markdown files that people can edit. A [Dir] is one folder of them:
//
//	MEMORY.md                the index, one line for each note
//	memory/<name>.md         a note with front matter
//	memory/2026-08-01.md     the facts noted on a day, one per line
//	memory/extracted.md      facts extracted from conversations, with sources
//
// A [Shelf] holds the folders that apply to a conversation: those of the agent, of the
// person it talks with, and of the project. [Shelf.Recall] finds notes for a message,
// [Extractor.Extract] extracts facts from a conversation, and [Dreamer.Dream] consolidates
// a folder: it adds facts from new conversations, makes relative dates absolute, merges
// duplicates and replaces outdated facts with newer ones.
//
// Every extracted fact names its source entries, and text that memory itself injected is
// never used as a source. Every change keeps the old version and can be undone with
// [Dir.Undo]. A change of several files is atomic, even if the process dies: readers see
// either the old set or the new one, and the next writer completes an unfinished change.
//
// The only exception is [Dir.Erase], which permanently removes facts whose sources are
// purged.
//
// Notes and messages are ranked by the same words and weights (internal/find/search), and
// have a relevance on the same scale. Messages are found by the full-text index and passed in
// as [Search]. A note that a newer one contradicts is replaced by it.
//
// Manual edits take precedence: they are picked up by the next read, and a change that was
// computed from an older text does not overwrite them.
package memory
