// Package firn defines the data model of a conversation with an AI agent.
//
// A session is one transcript: an append-only tree of entries. An [Entry] has an ID, a
// parent and a [Body]: a [Message] with parts, a [Compaction], a [Tombstone] that hides
// another entry, a [Title], and so on. An entry of an unknown kind is read as [Opaque] and
// is never dropped.
//
// This package contains only types. It does no I/O and imports nothing outside the standard
// library. Package store keeps entries, package dialect encodes them as bytes, and package
// window selects the entries to send to a model.
//
// To write an agent you need four packages: a store (store/filestore, with
// store.LoadOrCreate for one session per key), a model (provider/offline to start with,
// then provider/anthropic or provider/openai), tools (tool.New wraps a function) and
// [firn/agent], whose example combines them. Package compact undoes a compaction. Search
// requires a gateway, because only the gateway has the index: firn serve runs one, and the
// example of client.Client.Search queries it. A program with only a store reads sessions
// one by one, as the example of store.Store does.
package firn
