// Package base is the room of pure helpers: raw JSON, server-sent events, session keys
// and the bounds of tokens (route), Anthropic's content blocks, numbers of entry IDs, marks of syncs, files in messages, spelling suggestions, fuzzy matching,
// and helpers for tests (basetest).
// Nothing here knows a store, a model or a gateway. Every other room may import it; it
// imports only the root package.
package base
