package client

import (
	"context"
	"net/http"

	"firn.dev/wire"
)

// Memory gives access to the notes of agents.
type Memory struct{ *conn }

// Notes lists the notes of a place, without their texts.
func (c Memory) Notes(ctx context.Context, at wire.MemoryPlace) ([]wire.Note, error) {
	page, err := ask[wire.Page[wire.Note]](ctx, c.conn, get("v1", "memory").at(at))
	return page.Items, err
}

// Note returns one note by name or ref.
func (c Memory) Note(ctx context.Context, at wire.MemoryPlace, name string) (wire.Note, error) {
	return ask[wire.Note](ctx, c.conn, get("v1", "memory", "notes", name).at(at))
}

// Recall searches notes and sessions, best match first. A limit of zero means the gateway's
// default.
func (c Memory) Recall(ctx context.Context, at wire.MemoryPlace, words string, limit int) ([]wire.Recalled, error) {
	r := get("v1", "memory", "search").at(at).with("q", words).withNumber("limit", uint64(max(limit, 0)))
	page, err := ask[wire.Page[wire.Recalled]](ctx, c.conn, r)
	return page.Items, err
}

// Remember stores a note permanently.
func (c Memory) Remember(ctx context.Context, at wire.MemoryPlace, n wire.NewNote) (wire.Remembered, error) {
	return ask[wire.Remembered](ctx, c.conn, post(n, "v1", "memory").at(at))
}

// Forget removes a note or a fact by its ref. It can be undone.
func (c Memory) Forget(ctx context.Context, at wire.MemoryPlace, ref string) (wire.MemoryChange, error) {
	return ask[wire.MemoryChange](ctx, c.conn, remove("v1", "memory", "notes", ref).at(at))
}

// Clear removes all notes of a place. It can be undone.
func (c Memory) Clear(ctx context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error) {
	cleared, err := ask[wire.Cleared](ctx, c.conn, remove("v1", "memory").at(at))
	return cleared.Changes, err
}

// Dream consolidates notes, or only plans it. It returns one result per scope of the place.
func (c Memory) Dream(ctx context.Context, at wire.MemoryPlace, o wire.DreamOrder) ([]wire.Dream, error) {
	page, err := ask[wire.Page[wire.Dream]](ctx, c.conn, post(o, "v1", "memory", "dream").at(at))
	return page.Items, err
}

// Changes lists the changes of notes that can be undone, latest first.
func (c Memory) Changes(ctx context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error) {
	page, err := ask[wire.Page[wire.MemoryChange]](ctx, c.conn, get("v1", "memory", "changes").at(at))
	return page.Items, err
}

// Undo reverts a change of notes.
func (c Memory) Undo(ctx context.Context, at wire.MemoryPlace, id string, u wire.UndoMemory) (wire.MemoryChange, error) {
	return ask[wire.MemoryChange](ctx, c.conn, post(u, "v1", "memory", "changes", id, "undo").at(at))
}

// at adds the parameters of a memory place.
func (r request) at(p wire.MemoryPlace) request {
	return r.with("agent", p.Agent).with("key", p.Key).with("project", p.Project).with("scope", p.Scope)
}

func remove(path ...string) request { return request{method: http.MethodDelete, path: path} }
