package gateway

import (
	"context"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// Memory stores the permanent notes of agents. Its methods are called with a place that
// names an agent.
type Memory interface {
	Notebook
	// Erase permanently removes everything learned from a session, or from some of its
	// entries, from all notes. It returns the number of removed facts and notes.
	Erase(ctx context.Context, id firn.ID, entries ...firn.EntryID) (int, error)
}

// Notebook stores and finds knowledge that outlives a conversation.
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

// eraseNotes erases the notes learned from purged entries.
func (g *notebook) eraseNotes(ctx context.Context, id firn.ID, entries []firn.EntryID) (int, error) {
	if g.Memory == nil {
		return 0, nil
	}
	n, err := g.Memory.Erase(ctx, id, entries...)
	if err != nil {
		err = fmt.Errorf("purge session %s: the notes: %w", id, err)
	}
	return n, err
}

// memory returns the memory and the validated place with its agent set.
func (g *notebook) memory(at wire.MemoryPlace) (Memory, wire.MemoryPlace, error) {
	if g.Memory == nil {
		return nil, at, &wire.Problem{Kind: wire.Unsupported, Message: "notes are disabled"}
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
			return nil, at, Invalid("key %q does not belong to agent %q", view.Clip(at.Key), view.Clip(at.Agent))
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
			return nil, at, Invalid("notes of a user require the key of the conversation")
		}
	case wire.MemoryOfProject:
		if at.Project == "" {
			return nil, at, Invalid("notes of a project require its directory")
		}
	default:
		return nil, at, Invalid("unknown note scope %q: expected agent, user or project", view.Clip(at.Scope))
	}
	return g.Memory, at, nil
}

// Notes lists notes.
func (g *notebook) Notes(ctx context.Context, at wire.MemoryPlace) ([]wire.Note, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return nil, err
	}
	return m.Notes(ctx, at)
}

// Note returns a note.
func (g *notebook) Note(ctx context.Context, at wire.MemoryPlace, ref string) (wire.Note, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return wire.Note{}, err
	}
	return m.Note(ctx, at, ref)
}

// Recall returns the notes that match the words.
func (g *notebook) Recall(ctx context.Context, at wire.MemoryPlace, words string, limit int) ([]wire.Recalled, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return nil, err
	}
	return m.Recall(ctx, at, words, limit)
}

// Remember adds a note.
func (g *notebook) Remember(ctx context.Context, at wire.MemoryPlace, n wire.NewNote) (wire.Remembered, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return wire.Remembered{}, err
	}
	return m.Remember(ctx, at, n)
}

// EditNote replaces the text of a note.
func (g *notebook) EditNote(ctx context.Context, at wire.MemoryPlace, ref string, t wire.NoteText) (wire.Remembered, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return wire.Remembered{}, err
	}
	if strings.TrimSpace(t.Text) == "" {
		return wire.Remembered{}, &wire.Problem{Kind: wire.Invalid, Message: "the note has no text", Hint: "to delete it: firn memory forget"}
	}
	return m.EditNote(ctx, at, ref, t)
}

// Forget removes a note or a fact.
func (g *notebook) Forget(ctx context.Context, at wire.MemoryPlace, ref string) (wire.MemoryChange, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return wire.MemoryChange{}, err
	}
	return m.Forget(ctx, at, ref)
}

// ClearMemory removes all notes of a scope.
func (g *notebook) ClearMemory(ctx context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return nil, err
	}
	return m.ClearMemory(ctx, at)
}

// Dream consolidates notes.
func (g *notebook) Dream(ctx context.Context, at wire.MemoryPlace, o wire.DreamOrder) ([]wire.Dream, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return nil, err
	}
	return m.Dream(ctx, at, o)
}

// MemoryChanges lists the changes that can be undone.
func (g *notebook) MemoryChanges(ctx context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return nil, err
	}
	return m.MemoryChanges(ctx, at)
}

// UndoMemory reverts a change.
func (g *notebook) UndoMemory(ctx context.Context, at wire.MemoryPlace, id string, u wire.UndoMemory) (wire.MemoryChange, error) {
	m, at, err := g.memory(at)
	if err != nil {
		return wire.MemoryChange{}, err
	}
	return m.UndoMemory(ctx, at, id, u)
}
