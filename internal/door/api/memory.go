package api

import (
	"cmp"

	"firn.dev/wire"
)

// memoryPlace returns the notes that a request selects. A caller bound to keys has access
// to the notes of these keys only, one bound to agents to those of these agents. The notes
// of a project belong to all agents, so bound callers have no access.
func (c memoryCalls) memoryPlace() (wire.MemoryPlace, error) {
	q := &c.query
	at := wire.MemoryPlace{Agent: q.text("agent"), Key: q.text("key"), Project: q.text("project"), Scope: q.text("scope")}
	if !c.who.bound() {
		return at, nil
	}
	refused := &outOfBounds{&wire.Problem{Kind: wire.NotFound, Message: "this token has no access to these notes", Hint: "select them with agent or key"}}
	if at.Project != "" {
		return at, refused
	}
	if at.Key != "" {
		kept, ok := c.permittedKey(at.Key)
		if !ok {
			return at, refused
		}
		if at.Key = kept; at.Scope == "" {
			at.Scope = wire.MemoryOfUser
		}
	}
	if at.Agent == "" && at.Key == "" && len(c.who.agents) == 1 {
		at.Agent = c.who.agents[0]
	}
	if (at.Key == "" || at.Scope != wire.MemoryOfUser) && !c.who.may(at.Agent, "") {
		return at, refused
	}
	return at, nil
}

func (c memoryCalls) listNotes() (wire.Page[wire.Note], error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Page[wire.Note]{}, err
	}
	notes, err := c.gateway.Notes(c.r.Context(), at)
	return pageOf(notes), err
}

func (c memoryCalls) getNote() (wire.Note, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Note{}, err
	}
	return c.gateway.Note(c.r.Context(), at, c.r.PathValue("note"))
}

func (c memoryCalls) recall() (wire.Page[wire.Recalled], error) {
	at, err := c.memoryPlace()
	words, limit := c.query.text("q"), c.limit()
	if err == nil {
		err = c.query.err
	}
	if err != nil {
		return wire.Page[wire.Recalled]{}, err
	}
	hits, err := c.gateway.Recall(c.r.Context(), at, words, cmp.Or(limit, 10))
	return pageOf(hits), err
}

func (c memoryCalls) rememberNote(n wire.NewNote) (wire.Remembered, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Remembered{}, err
	}
	return c.gateway.Remember(c.r.Context(), at, n)
}

func (c memoryCalls) editNote(t wire.NoteText) (wire.Remembered, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Remembered{}, err
	}
	return c.gateway.EditNote(c.r.Context(), at, c.r.PathValue("note"), t)
}

func (c memoryCalls) forgetNote() (wire.MemoryChange, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.MemoryChange{}, err
	}
	return c.gateway.Forget(c.r.Context(), at, c.r.PathValue("note"))
}

func (c memoryCalls) clearNotes() (wire.Cleared, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Cleared{}, err
	}
	changes, err := c.gateway.ClearMemory(c.r.Context(), at)
	return wire.Cleared{Changes: pageOf(changes).Items}, err
}

func (c memoryCalls) dream(o wire.DreamOrder) (wire.Page[wire.Dream], error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Page[wire.Dream]{}, err
	}
	dreams, err := c.gateway.Dream(c.r.Context(), at, o)
	return pageOf(dreams), err
}

func (c memoryCalls) listMemoryChanges() (wire.Page[wire.MemoryChange], error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Page[wire.MemoryChange]{}, err
	}
	changes, err := c.gateway.MemoryChanges(c.r.Context(), at)
	return pageOf(changes), err
}

func (c memoryCalls) undoMemory(u wire.UndoMemory) (wire.MemoryChange, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.MemoryChange{}, err
	}
	return c.gateway.UndoMemory(c.r.Context(), at, c.r.PathValue("change"), u)
}

// memoryRoutes returns the routes of notes.
func memoryRoutes() []operation {
	place := []param{
		text("agent", "Agent whose notes are used; default: the default agent."), text("key", "Includes notes about the person or group of this key."), text("project", "Includes notes about this directory."),
		text("scope", "Only notes about the agent, the person or the directory.", wire.MemoryOfAgent, wire.MemoryOfUser, wire.MemoryOfProject),
	}
	more := func(params ...param) []param { return append(params, place...) }
	return []operation{
		{method: "GET", path: "/v1/memory", name: "listNotes", scope: wire.ScopeRead, what: "Lists notes, without their text.", query: place, action: give(memoryCalls.listNotes)},
		{method: "POST", path: "/v1/memory", name: "remember", scope: wire.ScopeWrite, what: "Adds a note. It is durable when the response is sent.", idempotent: true, query: more(idempotencyParam), action: take(memoryCalls.rememberNote)},
		{method: "DELETE", path: "/v1/memory", name: "clearNotes", scope: wire.ScopeWrite, what: "Deletes all notes. Can be undone.", query: place, action: give(memoryCalls.clearNotes)},
		{method: "GET", path: "/v1/memory/search", name: "recall", scope: wire.ScopeRead, what: "Searches notes and messages, best matches first.", query: more(
			text("q", "Words to search for."), count("limit", "Maximum number of results."),
		), action: give(memoryCalls.recall)},
		{method: "GET", path: "/v1/memory/notes/{note}", name: "getNote", scope: wire.ScopeRead, what: "Returns a note with its text.", query: place, action: give(memoryCalls.getNote)},
		{method: "PUT", path: "/v1/memory/notes/{note}", name: "editNote", scope: wire.ScopeWrite, what: "Replaces the text of a note. Can be undone.", query: place, action: take(memoryCalls.editNote)},
		{method: "DELETE", path: "/v1/memory/notes/{note}", name: "forget", scope: wire.ScopeWrite, what: "Deletes a note or a fact. Can be undone.", query: place, action: give(memoryCalls.forgetNote)},
		{method: "POST", path: "/v1/memory/dream", name: "dream", long: true, scope: wire.ScopeWrite, what: "Consolidates notes, or returns the plan.", query: place, action: takeOptional(memoryCalls.dream)},
		{method: "GET", path: "/v1/memory/changes", name: "listMemoryChanges", scope: wire.ScopeRead, what: "Lists changes to notes that can be undone, newest first.", query: place, action: give(memoryCalls.listMemoryChanges)},
		{method: "POST", path: "/v1/memory/changes/{change}/undo", name: "undoMemory", scope: wire.ScopeWrite, what: "Undoes a change to notes, completely or in part.", query: place, action: takeOptional(memoryCalls.undoMemory)},
	}
}
