package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/internal/gateway"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/memory"
	"firn.dev/wire"
)

// memories implements [gateway.Memory] for the notes of all agents.
type memories struct{ h *Instance }

var _ gateway.Memory = (*memories)(nil)

// builder returns the current agentBuilder.
func (m *memories) builder() *agentBuilder {
	m.h.mu.Lock()
	defer m.h.mu.Unlock()
	return m.h.builders[len(m.h.builders)-1]
}

// resolveFolders returns the folders that a request selects, within the bounds of the
// caller, and their settings.
func (m *memories) resolveFolders(ctx context.Context, at wire.MemoryPlace) ([]memory.Folder, place, config.Memory, error) {
	s := m.builder()
	c := memoryOf(s.settings, at.Agent)
	bounds := gateway.BoundsOf(ctx)
	here := s.notes.placeIn(at, bounds)
	if !c.Enabled {
		return nil, here, c, fmt.Errorf("notes of %s: disabled in the settings: %w", at.Agent, firn.ErrUnsupported)
	}
	if at.Key != "" && here.person == "" {
		at.Key = "" // one of the agent's own conversations
	}
	if at.Project != "" && here.project == "" && bounds.Unbounded() {
		return nil, here, c, fmt.Errorf("notes of the directory %q: expected an absolute path, neither the root nor a home directory: %w", firn.CutText(at.Project, 80), firn.ErrInvalid)
	}
	var all memory.Shelf
	if bounds.AdmitsAgent(here.agent) {
		all.Agent = s.notes.folder(s.notes.agentRoot(c, here.agent))
	}
	if here.person != "" {
		all.User = s.notes.folder(s.notes.userRoot(c, here.agent, here.person))
	}
	if here.project != "" {
		all.Project = s.notes.folder(s.notes.projectRoot(here.project))
	}
	var chosen []memory.Folder
	for _, f := range all.Folders() {
		if at.Scope == "" || at.Scope == string(f.Scope) {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 {
		return nil, here, c, fmt.Errorf("no such notes here: %w", firn.ErrNotFound)
	}
	return chosen, here, c, nil
}

// Notes implements [gateway.Memory]. Files that are not valid notes are listed last, with
// their error.
func (m *memories) Notes(ctx context.Context, at wire.MemoryPlace) ([]wire.Note, error) {
	folders, _, _, err := m.resolveFolders(ctx, at)
	if err != nil {
		return nil, err
	}
	var all []wire.Note
	for _, f := range folders {
		notes, err := f.Dir.Notes(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range notes {
			all = append(all, wireNote(f, n, false))
		}
		faults, err := f.Dir.Faults(ctx)
		if err != nil {
			return nil, err
		}
		for _, bad := range faults {
			all = append(all, wireFault(f, bad))
		}
	}
	return all, nil
}

// Note implements [gateway.Memory].
func (m *memories) Note(ctx context.Context, at wire.MemoryPlace, ref string) (wire.Note, error) {
	folders, _, _, err := m.resolveFolders(ctx, at)
	if err != nil {
		return wire.Note{}, err
	}
	var found wire.Note
	err = inFolders(folders, ref, func(f memory.Folder, name string) error {
		n, err := f.Dir.Note(ctx, name)
		found = wireNote(f, n, true)
		return err
	})
	return found, err
}

// inFolders calls do in the first folder that contains the reference.
func inFolders(folders []memory.Folder, ref string, do func(f memory.Folder, name string) error) error {
	scope, name := cutScope(ref)
	var err error
	for _, f := range folders {
		if scope != "" && f.Scope != scope {
			continue
		}
		if err = do(f, name); !errors.Is(err, firn.ErrNotFound) {
			return err
		}
	}
	if err == nil {
		err = fmt.Errorf("note %q: %w", firn.CutText(ref, 80), firn.ErrNotFound)
	}
	return &wire.Problem{Kind: wire.NotFound, Message: err.Error(), Hint: "list notes with firn memory ls, changes with firn memory changes; select them with --agent, --key and --project"}
}

// Recall implements [gateway.Memory].
func (m *memories) Recall(ctx context.Context, at wire.MemoryPlace, words string, limit int) ([]wire.Recalled, error) {
	folders, here, _, err := m.resolveFolders(ctx, at)
	if err != nil {
		return nil, err
	}
	shelf := shelfOf(folders)
	if s := m.builder(); s.past != nil && at.Scope == "" {
		shelf.Past = s.past(here, "")
	}
	hits, err := shelf.Recall(ctx, words, memory.Limits{Count: limit, Bytes: 1 << 20, Floor: 0.1})
	if err != nil && (len(hits) == 0 || ctx.Err() != nil) {
		return nil, err
	}
	if err != nil { // the notes are useful without the rest
		m.h.o.Log.Warn("searching sessions failed; only notes were recalled", "agent", here.agent, "error", err.Error())
	}
	var all []wire.Recalled
	for _, h := range hits {
		ref := h.Ref
		if h.Scope != "" {
			ref = string(h.Scope) + "/" + ref
		}
		all = append(all, wire.Recalled{
			Scope: string(h.Scope), Ref: ref, Title: h.Title, Text: h.Text, Type: h.Type, Confidence: h.Confidence, Time: h.Time, Sources: wireSources(h.Sources), Score: h.Score,
		})
	}
	return all, nil
}

func shelfOf(folders []memory.Folder) memory.Shelf {
	var s memory.Shelf
	for _, f := range folders {
		switch f.Scope {
		case memory.ScopeAgent:
			s.Agent = f.Dir
		case memory.ScopeUser:
			s.User = f.Dir
		case memory.ScopeProject:
			s.Project = f.Dir
		}
	}
	return s
}

// Remember implements [gateway.Memory]. It stores the note in the most specific folder.
func (m *memories) Remember(ctx context.Context, at wire.MemoryPlace, n wire.NewNote) (wire.Remembered, error) {
	folders, here, c, err := m.resolveFolders(ctx, at)
	if err != nil {
		return wire.Remembered{}, err
	}
	if err := mustBeMeant(at, here, folders[0].Scope); err != nil {
		return wire.Remembered{}, err
	}
	dir, err := m.builder().notes.target(c, here, folders[0].Scope)
	if err != nil {
		return wire.Remembered{}, err
	}
	draft := memory.Draft{Text: n.Text, Name: n.Name, Description: n.Description, Type: n.Type, Confidence: n.Confidence, Request: gateway.RequestName(ctx)}
	for _, s := range n.Sources {
		var source memory.Source
		if err := source.UnmarshalText([]byte(s)); err != nil {
			return wire.Remembered{}, err
		}
		draft.Sources = append(draft.Sources, source)
	}
	kept, err := dir.Remember(ctx, draft)
	if err != nil {
		return wire.Remembered{}, err
	}
	out := wire.Remembered{Scope: string(folders[0].Scope), Note: kept.Note, Refs: []string{}, Known: kept.Known, Change: kept.Change, File: dir.File(kept.Note)}
	for _, ref := range kept.Refs {
		out.Refs = append(out.Refs, out.Scope+"/"+ref)
	}
	return out, nil
}

// mustBeMeant returns an error if a key without notes of its own would select the agent's
// notes for writing: it may be a mistyped key of a person.
func mustBeMeant(at wire.MemoryPlace, here place, scope memory.Scope) error {
	if at.Key == "" || at.Scope != "" || here.person != "" || scope != memory.ScopeAgent {
		return nil
	}
	return &wire.Problem{
		Kind: wire.Invalid, Message: fmt.Sprintf("the key %q is not that of a person or group", firn.CutText(at.Key, 80)),
		Hint: "for the notes of the agent: --scope agent (over HTTP, scope=agent); for those of this conversation only: user; the key of a person is like agent:main:telegram:direct:7",
	}
}

// EditNote implements [gateway.Memory]. The origin, type and confidence of the note are
// preserved. Daily facts and extracted facts cannot be edited.
func (m *memories) EditNote(ctx context.Context, at wire.MemoryPlace, ref string, t wire.NoteText) (wire.Remembered, error) {
	folders, _, _, err := m.resolveFolders(ctx, at)
	if err != nil {
		return wire.Remembered{}, err
	}
	var out wire.Remembered
	err = inFolders(folders, ref, func(f memory.Folder, name string) error {
		n, err := f.Dir.Note(ctx, name)
		if err != nil {
			return err
		}
		title := n.Title
		if memory.Slug(title) != n.Name {
			title = n.Name
		}
		if memory.Slug(title) != n.Name {
			return fmt.Errorf("edit %q: its facts can only be added and removed one by one: %w", firn.CutText(ref, 80), firn.ErrUnsupported)
		}
		kept, err := f.Dir.Remember(ctx, memory.Draft{Text: t.Text, Name: title, Description: n.Description, Type: n.Type})
		out = wire.Remembered{Scope: string(f.Scope), Note: kept.Note, Refs: []string{}, Change: kept.Change, File: f.Dir.File(n.Name)}
		return err
	})
	return out, err
}

// Forget implements [gateway.Memory].
func (m *memories) Forget(ctx context.Context, at wire.MemoryPlace, ref string) (wire.MemoryChange, error) {
	folders, _, _, err := m.resolveFolders(ctx, at)
	if err != nil {
		return wire.MemoryChange{}, err
	}
	var done wire.MemoryChange
	err = inFolders(folders, ref, func(f memory.Folder, name string) error {
		change, err := f.Dir.Forget(ctx, name)
		done = wireChange(f.Scope, change)
		return err
	})
	return done, err
}

// ClearMemory implements [gateway.Memory]. Without a scope it clears the most specific
// folder.
func (m *memories) ClearMemory(ctx context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error) {
	folders, here, _, err := m.resolveFolders(ctx, at)
	if err != nil {
		return nil, err
	}
	if err := mustBeMeant(at, here, folders[0].Scope); err != nil {
		return nil, err
	}
	change, err := folders[0].Dir.Clear(ctx)
	if err != nil || len(change.Files) == 0 {
		return nil, err
	}
	return []wire.MemoryChange{wireChange(folders[0].Scope, change)}, nil
}

// Dream implements [gateway.Memory].
func (m *memories) Dream(ctx context.Context, at wire.MemoryPlace, o wire.DreamOrder) ([]wire.Dream, error) {
	folders, here, _, err := m.resolveFolders(ctx, at)
	if err != nil {
		return nil, err
	}
	s := m.builder()
	var all []wire.Dream
	for _, f := range folders {
		a := about{Scope: f.Scope}
		switch f.Scope {
		case memory.ScopeAgent:
			a.Agent = here.agent
		case memory.ScopeUser:
			a.Agent, a.Key = here.agent, here.person
		case memory.ScopeProject:
			a.Project = here.project
		}
		d, err := s.dreamer(f.Dir, a).Dream(ctx, memory.DreamOptions{Plan: o.Plan, Now: !o.IfDue})
		if err != nil {
			return all, err
		}
		all = append(all, wire.Dream{
			Scope: string(f.Scope), Shut: string(d.Shut), Why: d.Why, Planned: o.Plan, Sessions: d.Sessions, Found: d.Found, Notes: d.Notes,
			Change: wireChange(f.Scope, d.Change), Tokens: d.Usage.Total, Cost: d.Usage.Cost.Total, Without: d.Fallbacks,
		})
	}
	return all, nil
}

// MemoryChanges implements [gateway.Memory].
func (m *memories) MemoryChanges(ctx context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error) {
	folders, _, _, err := m.resolveFolders(ctx, at)
	if err != nil {
		return nil, err
	}
	var all []wire.MemoryChange
	for _, f := range folders {
		changes, err := f.Dir.Changes()
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			all = append(all, wireChange(f.Scope, c))
		}
	}
	return all, nil
}

// UndoMemory implements [gateway.Memory].
func (m *memories) UndoMemory(ctx context.Context, at wire.MemoryPlace, id string, u wire.UndoMemory) (wire.MemoryChange, error) {
	folders, _, _, err := m.resolveFolders(ctx, at)
	if err != nil {
		return wire.MemoryChange{}, err
	}
	var done wire.MemoryChange
	err = inFolders(folders, id, func(f memory.Folder, id string) error {
		change, err := f.Dir.Undo(ctx, id, u.Edits...)
		done = wireChange(f.Scope, change)
		return err
	})
	return done, err
}

func wireNote(f memory.Folder, n memory.Note, whole bool) wire.Note {
	out := wire.Note{
		Scope: string(f.Scope), Name: n.Name, Ref: string(f.Scope) + "/" + n.Name, Title: n.Title, Description: n.Description, Type: n.Type,
		Confidence: n.Confidence, Created: n.Created, Sources: wireSources(n.Sources), Bytes: len(n.Body), File: f.Dir.File(n.Name),
	}
	facts := n.Facts()
	for _, fact := range facts {
		if !fact.Gone {
			out.Count++
		}
	}
	if !whole {
		return out
	}
	out.Body = n.Body
	for _, fact := range facts {
		out.Facts = append(out.Facts, wire.Fact{
			Ref: string(f.Scope) + "/" + fact.Ref(), Category: string(fact.Category), Text: fact.Text, Confidence: fact.Confidence, Day: fact.Day,
			Sources: wireSources(fact.Sources), Superseded: fact.Gone,
		})
	}
	return out
}

// faultType is the type of files among the notes that are not valid notes.
const faultType = "fault"

func wireFault(f memory.Folder, bad memory.Fault) wire.Note {
	out := wire.Note{Scope: string(f.Scope), Name: bad.Name, Ref: string(f.Scope) + "/" + bad.Name, Type: faultType, File: f.Dir.File(bad.Name)}
	if bad.Name == "" {
		out.Name, out.Ref, out.File = memory.IndexFile, string(f.Scope)+"/"+memory.IndexFile, filepath.Join(f.Dir.Root(), memory.IndexFile)
	}
	out.Description = "not read: " + strings.TrimPrefix(bad.Err.Error(), "read a note: "+out.File+": ")
	return out
}

func wireSources(sources []memory.Source) []string {
	var all []string
	for _, s := range sources {
		all = append(all, s.String())
	}
	return all
}

func wireChange(scope memory.Scope, c memory.Change) wire.MemoryChange {
	out := wire.MemoryChange{ID: c.ID, Scope: string(scope), Kind: c.Kind, Time: c.Time, Of: c.Of, Undone: c.Undone, Edits: []wire.MemoryEdit{}}
	for _, e := range c.Edits {
		out.Edits = append(out.Edits, wire.MemoryEdit{Do: e.Do, Note: e.Note, Old: e.Old, New: e.New, Why: e.Why, Sources: wireSources(e.Sources)})
	}
	for _, f := range c.Files {
		out.Files = append(out.Files, f.Path)
	}
	return out
}

// Erase implements [gateway.Memory]. It searches all existing folders, including those of
// removed agents and of agents with memory disabled.
func (m *memories) Erase(ctx context.Context, id firn.ID, entries ...firn.EntryID) (int, error) {
	s := m.builder()
	all := 0
	for _, dir := range s.allDirs() {
		erased, err := dir.Erase(ctx, id, entries...)
		all += erased.Facts + erased.Notes
		if err != nil {
			return all, err
		}
	}
	if len(entries) > 0 {
		return all, nil
	}
	return all, s.discardFolders(ctx, id)
}
