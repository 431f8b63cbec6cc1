// Package memory keeps what is worth knowing beyond one conversation: notes
// with evidence.
//
// Notes are plain Markdown files that people edit as they like. A [Dir] is one
// folder of them:
//
//	MEMORY.md                what there is, one line for each note
//	memory/<name>.md         a note, with what is known about it in front
//	memory/2026-08-01.md     what was noted on a day, one fact on each line
//	memory/extracted.md      what was found in conversations, with its evidence
//
// A [Shelf] is the folders that count in one conversation: those of the agent,
// of the person it talks with, and of the project. [Shelf.Recall] finds what
// fits what somebody says, [Extract] finds facts in a conversation, and
// [Dream] tidies a folder up: it takes in what new conversations have to say,
// makes relative dates absolute, merges what is there twice, and lets newer
// facts take the place of older ones.
//
// Three things are promised. Every fact that was found in a conversation names
// the entries it came from, and what memory itself told a model is never
// taken for a source. Every change keeps the old version and can be undone
// with [Dir.Undo]. And a change of several files is there as a whole or not at
// all, whenever the process dies: readers see the old set or the new one, and
// the next writer finishes what was begun.
//
// The one exception is [Dir.Erase], which takes out what was learnt from what is
// purged, for good.
//
// How notes are ranked is not how talk is (internal/find/search): a folder has few
// and short pieces, and what counts is whether one fits at all, on a scale from 0
// to 1 that a floor can be set on. BM25 over a few dozen facts has no such scale.
// What was said is found by the index of words, and comes here as [Past].
//
// What people write by hand wins: it is picked up at the next look, and a
// change that was worked out from an older text does not overwrite it.
package memory
