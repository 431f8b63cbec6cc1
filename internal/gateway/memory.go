package gateway

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"firn"
	"firn/internal/view"
	"firn/wire"
)

// Memory is what agents note for good, as the protocol tells it. Its methods
// are called with a place whose agent is named.
type Memory interface {
	Notebook
	// Erase takes out of all notes, for good, what was learnt from a session or
	// from some of its entries, and tells how many facts and notes that were.
	Erase(ctx context.Context, id firn.ID, entries ...firn.EntryID) (int, error)
}

// Notebook keeps and finds what is worth knowing beyond one conversation.
type Notebook interface {
	Notes(ctx context.Context, at wire.MemoryPlace) ([]wire.Note, error)
	Note(ctx context.Context, at wire.MemoryPlace, ref string) (wire.Note, error)
	Recall(ctx context.Context, at wire.MemoryPlace, words string, limit int) ([]wire.Recalled, error)
	Remember(ctx context.Context, at wire.MemoryPlace, n wire.NewNote) (wire.Remembered, error)
	EditNote(ctx context.Context, at wire.MemoryPlace, ref string, t wire.NoteText) (wire.Remembered, error)
	Forget(ctx context.Context, at wire.MemoryPlace, ref string) (wire.MemoryChange, error)
	ClearMemory(ctx context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error)
	Dream(ctx context.Context, at wire.MemoryPlace, o wire.DreamOrder) ([]wire.Dream, error)
	MemoryChanges(ctx context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error)
	UndoMemory(ctx context.Context, at wire.MemoryPlace, id string, u wire.UndoMemory) (wire.MemoryChange, error)
}

// eraseNotes erases what was learnt from what is purged.
func (g *Gateway) eraseNotes(ctx context.Context, id firn.ID, entries []firn.EntryID) (int, error) {
	if g.Memory == nil {
		return 0, nil
	}
	n, err := g.Memory.Erase(ctx, id, entries...)
	if err != nil {
		err = fmt.Errorf("purge session %s: the notes: %w", id, err)
	}
	return n, err
}

// memory is the memory and the place that is meant, with its agent.
func (g *Gateway) memory(at wire.MemoryPlace) (Memory, wire.MemoryPlace, error) {
	if g.Memory == nil {
		return nil, at, &wire.Problem{Kind: wire.Unsupported, Message: "this gateway keeps no notes"}
	}
	setup := g.setup.Load()
	if at.Key != "" {
		key, err := g.canonical(at.Key)
		if err != nil {
			return nil, at, err
		}
		if at.Key = key.String(); at.Agent == "" {
			at.Agent = key.Agent()
		}
		if at.Agent != key.Agent() {
			return nil, at, invalid("the key %q is not one of the agent %q", view.Clip(at.Key), view.Clip(at.Agent))
		}
	}
	if at.Agent == "" {
		at.Agent = setup.Default
	}
	if _, err := setup.agent(at.Agent); err != nil {
		return nil, at, err
	}
	switch at.Scope {
	case "", wire.MemoryOfAgent:
	case wire.MemoryOfUser:
		if at.Key == "" {
			return nil, at, invalid("the notes of a person need the key of the conversation")
		}
	case wire.MemoryOfProject:
		if at.Project == "" {
			return nil, at, invalid("the notes of a project need its directory")
		}
	default:
		return nil, at, invalid("there is no scope %q of notes, but agent, user and project", view.Clip(at.Scope))
	}
	return g.Memory, at, nil
}

// Notes lists notes.
func (g *Gateway) Notes(ctx context.Context, at wire.MemoryPlace) ([]wire.Note, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return nil, err
	}
	return m.Notes(ctx, at)
}

// Note tells one note.
func (g *Gateway) Note(ctx context.Context, at wire.MemoryPlace, ref string) (wire.Note, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return wire.Note{}, err
	}
	return m.Note(ctx, at, ref)
}

// Recall finds what fits words.
func (g *Gateway) Recall(ctx context.Context, at wire.MemoryPlace, words string, limit int) ([]wire.Recalled, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return nil, err
	}
	return m.Recall(ctx, at, words, limit)
}

// Remember notes something.
func (g *Gateway) Remember(ctx context.Context, at wire.MemoryPlace, n wire.NewNote) (wire.Remembered, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return wire.Remembered{}, err
	}
	return m.Remember(ctx, at, n)
}

// EditNote replaces the text of a note.
func (g *Gateway) EditNote(ctx context.Context, at wire.MemoryPlace, ref string, t wire.NoteText) (wire.Remembered, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return wire.Remembered{}, err
	}
	if strings.TrimSpace(t.Text) == "" {
		return wire.Remembered{}, &wire.Problem{Kind: wire.Invalid, Message: "a note without text is none", Hint: "forget it instead"}
	}
	return m.EditNote(ctx, at, ref, t)
}

// Forget takes a note or a fact away.
func (g *Gateway) Forget(ctx context.Context, at wire.MemoryPlace, ref string) (wire.MemoryChange, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return wire.MemoryChange{}, err
	}
	return m.Forget(ctx, at, ref)
}

// ClearMemory takes all notes of a scope away.
func (g *Gateway) ClearMemory(ctx context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return nil, err
	}
	return m.ClearMemory(ctx, at)
}

// Dream tidies notes up.
func (g *Gateway) Dream(ctx context.Context, at wire.MemoryPlace, o wire.DreamOrder) ([]wire.Dream, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return nil, err
	}
	return m.Dream(ctx, at, o)
}

// MemoryChanges lists what can be undone.
func (g *Gateway) MemoryChanges(ctx context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return nil, err
	}
	return m.MemoryChanges(ctx, at)
}

// UndoMemory takes a change back.
func (g *Gateway) UndoMemory(ctx context.Context, at wire.MemoryPlace, id string, u wire.UndoMemory) (wire.MemoryChange, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return wire.MemoryChange{}, err
	}
	return m.UndoMemory(ctx, at, id, u)
}

// memoryPlace is which notes a request means. Who is bound to keys has those of
// these keys only, who is bound to agents those of these agents; the notes of a
// project are those of all agents, and so not for them.
func (c *call) memoryPlace() (wire.MemoryPlace, error) {
	q := &c.query
	at := wire.MemoryPlace{Agent: q.text("agent"), Key: q.text("key"), Project: q.text("project"), Scope: q.text("scope")}
	if !c.who.bound() {
		return at, nil
	}
	refused := &outOfBounds{&wire.Problem{Kind: wire.NotFound, Message: "there are no such notes for this token", Hint: "say whose they are, with agent or key"}}
	if at.Project != "" {
		return at, refused
	}
	if at.Key != "" {
		kept, ok := c.theirs(at.Key)
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

func (c *call) listNotes() (wire.Page[wire.Note], error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Page[wire.Note]{}, err
	}
	notes, err := c.h.api.Notes(c.r.Context(), at)
	return pageOf(notes), err
}

func (c *call) getNote() (wire.Note, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Note{}, err
	}
	return c.h.api.Note(c.r.Context(), at, c.r.PathValue("note"))
}

func (c *call) recall() (wire.Page[wire.Recalled], error) {
	at, err := c.memoryPlace()
	words, limit := c.query.text("q"), c.limit()
	if err == nil {
		err = c.query.err
	}
	if err != nil {
		return wire.Page[wire.Recalled]{}, err
	}
	hits, err := c.h.api.Recall(c.r.Context(), at, words, cmp.Or(limit, 10))
	return pageOf(hits), err
}

func (c *call) rememberNote(n wire.NewNote) (wire.Remembered, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Remembered{}, err
	}
	return c.h.api.Remember(c.r.Context(), at, n)
}

func (c *call) editNote(t wire.NoteText) (wire.Remembered, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Remembered{}, err
	}
	return c.h.api.EditNote(c.r.Context(), at, c.r.PathValue("note"), t)
}

func (c *call) forgetNote() (wire.MemoryChange, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.MemoryChange{}, err
	}
	return c.h.api.Forget(c.r.Context(), at, c.r.PathValue("note"))
}

func (c *call) clearNotes() (wire.Cleared, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Cleared{}, err
	}
	changes, err := c.h.api.ClearMemory(c.r.Context(), at)
	return wire.Cleared{Changes: pageOf(changes).Items}, err
}

func (c *call) dream(o wire.DreamOrder) (wire.Page[wire.Dream], error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Page[wire.Dream]{}, err
	}
	dreams, err := c.h.api.Dream(c.r.Context(), at, o)
	return pageOf(dreams), err
}

func (c *call) listMemoryChanges() (wire.Page[wire.MemoryChange], error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.Page[wire.MemoryChange]{}, err
	}
	changes, err := c.h.api.MemoryChanges(c.r.Context(), at)
	return pageOf(changes), err
}

func (c *call) undoMemory(u wire.UndoMemory) (wire.MemoryChange, error) {
	at, err := c.memoryPlace()
	if err != nil {
		return wire.MemoryChange{}, err
	}
	return c.h.api.UndoMemory(c.r.Context(), at, c.r.PathValue("change"), u)
}

// memoryRoutes are those of notes.
func memoryRoutes() []operation {
	place := []param{
		text("agent", "Whose notes; else the default agent's."), text("key", "Those about the person or group of a key too."), text("project", "Those about a directory too."),
		text("scope", "Only those about the agent, the person or the directory.", wire.MemoryOfAgent, wire.MemoryOfUser, wire.MemoryOfProject),
	}
	more := func(params ...param) []param { return append(params, place...) }
	return []operation{
		{method: "GET", path: "/v1/memory", name: "listNotes", scope: wire.ScopeRead, what: "Lists notes, without their texts.", query: place, action: give((*call).listNotes)},
		{method: "POST", path: "/v1/memory", name: "remember", scope: wire.ScopeWrite, what: "Notes something for good. It is durable when it answers.", once: true, query: more(onceNamed), action: take((*call).rememberNote)},
		{method: "DELETE", path: "/v1/memory", name: "clearNotes", scope: wire.ScopeWrite, what: "Takes all notes away. It can be undone.", query: place, action: give((*call).clearNotes)},
		{method: "GET", path: "/v1/memory/search", name: "recall", scope: wire.ScopeRead, what: "Finds notes, and what was said in sessions, that fit words; the best first.", query: more(
			text("q", "The words."), count("limit", "How many at most."),
		), action: give((*call).recall)},
		{method: "GET", path: "/v1/memory/notes/{note}", name: "getNote", scope: wire.ScopeRead, what: "Tells a note with its text.", query: place, action: give((*call).getNote)},
		{method: "PUT", path: "/v1/memory/notes/{note}", name: "editNote", scope: wire.ScopeWrite, what: "Replaces the text of a note. It can be undone.", query: place, action: take((*call).editNote)},
		{method: "DELETE", path: "/v1/memory/notes/{note}", name: "forget", scope: wire.ScopeWrite, what: "Takes a note or a fact away. It can be undone.", query: place, action: give((*call).forgetNote)},
		{method: "POST", path: "/v1/memory/dream", name: "dream", long: true, scope: wire.ScopeWrite, what: "Tidies notes up, or tells what that would be.", query: place, action: mayTake((*call).dream)},
		{method: "GET", path: "/v1/memory/changes", name: "listMemoryChanges", scope: wire.ScopeRead, what: "Lists changes of notes that can be undone, latest first.", query: place, action: give((*call).listMemoryChanges)},
		{method: "POST", path: "/v1/memory/changes/{change}/undo", name: "undoMemory", scope: wire.ScopeWrite, what: "Takes a change of notes back, all of it or some of its edits.", query: place, action: mayTake((*call).undoMemory)},
	}
}
