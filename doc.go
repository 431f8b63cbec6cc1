// Package firn names the things a conversation with an AI agent is made of.
//
// A session is one transcript; a transcript is a tree of entries that is only
// ever added to. An [Entry] has an id, a parent and a [Body]: a [Message] with
// parts, a [Compaction], a [Tombstone] that hides something, a [Title], and so
// on. What a reader does not understand is an [Opaque] entry: carried, never
// dropped.
//
// This package only names. It does no I/O, imports nothing of ours and nothing
// outside the standard library. Stores keep entries (package store), dialects
// spell them as bytes (package dialect), windows choose what a model is sent
// (package window).
//
// Who wants to write an agent needs few of the packages: a store to keep
// sessions in (store/filestore, and store.LoadOrCreate for one session a key), a
// model (provider/offline to begin with, provider/anthropic, provider/openai),
// tools (tool.New makes one of a function) and [firn/agent], whose example has
// all of it together. Package compact takes a compaction back. To search all
// that was said a gateway is asked, which has the index: firn serve runs one, and
// the example of client.Client.Search asks it. A program that has a store alone
// reads sessions one by one, as the example of store.Store does.
package firn
