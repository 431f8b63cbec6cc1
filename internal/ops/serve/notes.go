package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/secrets"
	"firn.dev/internal/find/search"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/memory"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// notebook is the memory of one agent: its tools, the recall before a turn, and the
// extraction of facts after it.
type notebook struct {
	builder *agentBuilder
	notes   *noteStore
	agent   string
	// workspace is the working directory of the agent. window is the window size of its
	// model in tokens.
	workspace string
	window    int64
	settings  config.Memory
	// model extracts facts; nil disables extraction.
	model provider.Model
}

// newNotebook creates the memory of an agent.
func (s *agentBuilder) newNotebook(a *agent.Agent, workspace string) *notebook {
	n := &notebook{
		builder: s, notes: s.notes, agent: a.Name, workspace: workspace, window: a.Model.Info().Window, settings: memoryOf(s.settings, a.Name),
		model: a.Model,
	}
	if a.Summarizer != nil {
		n.model = a.Summarizer
	}
	n.model = factModelOf(n.model)
	return n
}

// offlineAPI is the API name of the offline model.
const offlineAPI = "offline"

// factModelOf returns m if it can extract facts, or nil for the offline model.
func factModelOf(m provider.Model) provider.Model {
	if m == nil || m.Info().API == offlineAPI {
		return nil
	}
	return m
}

// currentPlace returns the place and the session of the turn in which a tool is called.
func (n *notebook) currentPlace(ctx context.Context) (place, firn.ID) {
	id, ok := agent.SessionOf(ctx)
	if !ok {
		return newPlace(n.agent, "", "", agent.BoundsOf(ctx)), ""
	}
	return n.notes.placeOf(ctx, n.agent, id, n.workspace, agent.BoundsOf(ctx)), id
}

// tools returns the memory tools.
func (n *notebook) tools() []tool.Tool {
	return []tool.Tool{tool.Remember(n.remember), tool.Recall(n.search), tool.Forget(n.forget)}
}

// remember implements the remember tool.
func (n *notebook) remember(ctx context.Context, m tool.Memo) (string, error) {
	at, id := n.currentPlace(ctx)
	scope := memory.ScopeAgent
	if at.person != "" {
		scope = memory.ScopeUser
	}
	dir, err := n.notes.target(n.settings, at, scope)
	if err != nil {
		return "", err
	}
	text, dropped := secrets.Drop(m.Text)
	if dropped > 0 && strings.TrimSpace(text) == "" {
		return "", failure.Of(firn.ErrInvalid, "passwords, keys and tokens are not noted")
	}
	draft := memory.Draft{Text: text, Name: m.Name, Type: m.Type}
	if id != "" {
		n.notes.mu.Lock()
		draft.Sources = []memory.Source{{Session: id, Entry: n.notes.asked[id]}}
		n.notes.mu.Unlock()
	}
	kept, err := dir.Remember(ctx, draft)
	if err != nil {
		return "", err
	}
	reply := keptText(kept)
	if dropped > 0 {
		reply += "; lines with passwords, keys or tokens were left out"
	}
	return reply, nil
}

// keptText describes the result of remembering.
func keptText(k memory.Saved) string {
	facts := fmt.Sprintf("%d facts", len(k.Refs))
	if len(k.Refs) == 1 {
		facts = "1 fact"
	}
	switch {
	case len(k.Refs) == 0:
		return "already noted"
	case k.Refs[0] == k.Note: // a named note
		return "noted in memory/" + k.Note + ".md"
	case k.Known > 0:
		return fmt.Sprintf("noted in memory/%s.md: %s; %d already noted", k.Note, facts, k.Known)
	}
	return fmt.Sprintf("noted in memory/%s.md: %s", k.Note, facts)
}

// forget implements the forget tool. It removes from the first folder that has the note.
func (n *notebook) forget(ctx context.Context, what string) (string, error) {
	at, _ := n.currentPlace(ctx)
	shelf := n.notes.shelf(n.settings, at)
	scope, name := cutScope(what)
	for _, f := range shelf.Folders() {
		if scope != "" && f.Scope != scope || at.person != "" && f.Scope != memory.ScopeUser {
			continue // external senders cannot remove the agent's notes
		}
		change, err := f.Dir.Forget(ctx, name)
		if errors.Is(err, firn.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		return "forgotten; change " + change.ID + " can be undone", nil
	}
	return "", fmt.Errorf("forget %q: %w in the notes; recall shows their names", firn.CutText(what, 80), firn.ErrNotFound)
}

// cutScope splits the scope from a reference.
func cutScope(ref string) (memory.Scope, string) {
	scope, name, ok := strings.Cut(strings.TrimPrefix(ref, "note "), "/")
	switch s := memory.Scope(scope); {
	case ok && (s == memory.ScopeAgent || s == memory.ScopeUser || s == memory.ScopeProject):
		return s, name
	}
	return "", ref
}

// search searches notes and other sessions for the recall tool.
func (n *notebook) search(ctx context.Context, query string, limit int) ([]tool.Hit, error) {
	at, id := n.currentPlace(ctx)
	shelf := n.notes.shelf(n.settings, at)
	shelf.Past = n.past(at, id)
	found, err := shelf.Recall(ctx, query, memory.Limits{Count: limit, Bytes: 64 << 10, Floor: 0.1})
	if err != nil {
		return nil, err
	}
	hits := make([]tool.Hit, len(found))
	for i, h := range found {
		hits[i] = tool.Hit{Source: "note " + string(h.Scope) + "/" + h.Ref, Text: h.Text, Time: h.Time}
		if h.Scope == "" {
			hits[i].Source, hits[i].Where = "session "+string(h.Sources[0].Session), "entry "+string(h.Sources[0].Entry)
		}
		if h.Title != "" {
			hits[i].Source += " “" + h.Title + "”"
		}
	}
	return hits, nil
}

// recallFor returns the context that memory adds to a turn. Errors are reported and do not
// fail the turn.
func (n *notebook) recallFor(ctx context.Context, run agent.Run) []window.Injection {
	at := n.notes.placeOf(ctx, n.agent, run.Session, n.workspace, run.Bounds)
	shelf := n.notes.shelf(n.settings, at)
	query, entry := lastUserMessage(run)
	if !run.Preview {
		n.notes.noteAsked(run.Session, entry)
	}
	var injected []window.Injection
	if n.settings.Index && at.person == "" && shelf.Agent != nil {
		index, err := shelf.Agent.Index(ctx)
		if err != nil {
			n.builder.report("cannot read the list of notes: " + err.Error())
		}
		if most := memory.BytesFor(n.window, n.settings.Recall.Share, 1<<20); most > 0 && n.window > 0 {
			index = memory.CutIndexTo(index, most) // scaled down for a small window
		}
		injected = append(injected, agent.Remembered(index)...)
	}
	limits := n.limits()
	if limits.Count <= 0 || limits.Bytes <= 0 || query == "" {
		return injected
	}
	if n.settings.Recall.Past && (!run.Preview || n.builder.indexThere()) { // a preview writes nothing
		shelf.Past = n.past(at, run.Session)
	}
	hits, err := shelf.Recall(ctx, query, limits)
	if err != nil {
		n.builder.report("recall is incomplete: " + err.Error())
	}
	return append(injected, agent.Recalled(memory.FormatHits(hits))...)
}

// knownTexts returns the texts that every conversation of the agent begins with.
func (n *notebook) knownTexts() []string {
	c, _ := n.builder.settings.Agent(n.agent)
	texts := []string{n.builder.systemOf(n.agent)}
	for _, f := range n.builder.instructions(c.Instructions, n.workspace) {
		texts = append(texts, f.Text)
	}
	return texts
}

func (n *notebook) limits() memory.Limits {
	r := n.settings.Recall
	most := r.Bytes
	if n.window > 0 {
		most = memory.BytesFor(n.window, r.Share, r.Bytes)
	}
	floor := r.Floor
	if floor == 0 {
		floor = -1
	}
	return memory.Limits{Count: r.Count, Bytes: most, Floor: floor, Least: search.LeastRelevance, Now: n.builder.clock()}
}

// lastUserMessage returns the text and the entry of the last user message.
func lastUserMessage(run agent.Run) (string, firn.EntryID) {
	for i := len(run.Path.Entries) - 1; i >= 0; i-- {
		e := run.Path.Entries[i]
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser {
			if run.Prompt != "" {
				return run.Prompt, e.ID
			}
			return m.Text(), e.ID
		}
	}
	return run.Prompt, ""
}

// noteAsked records the message that a turn answers, as the source of notes made in it.
func (m *noteStore) noteAsked(id firn.ID, entry firn.EntryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) >= maxHeaders {
		clear(m.asked)
	}
	m.asked[id] = entry
}

// learn extracts facts from a conversation in the background, if due.
func (n *notebook) learn(_ context.Context, run agent.Run, outcome agent.Outcome) error {
	if !n.settings.Extract || outcome.Err != nil || len(outcome.Pending) > 0 {
		return nil
	}
	n.notes.start(func(ctx context.Context) {
		if !n.notes.startExtract(run.Session) {
			return
		}
		defer n.notes.endExtract(run.Session)
		if err := n.extract(ctx, run); err != nil && ctx.Err() == nil {
			n.builder.report("no facts were extracted from session " + string(run.Session) + ": " + err.Error())
		}
	})
	return nil
}

// startExtract reports whether the caller may extract facts from a session. Only one
// extraction runs per session.
func (m *noteStore) startExtract(id firn.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy[id] {
		return false
	}
	m.busy[id] = true
	return true
}

func (m *noteStore) endExtract(id firn.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, id)
}

// extract extracts facts and stores them in their folders. The progress is stored last, so
// an interrupted extraction is repeated without duplicates.
func (n *notebook) extract(ctx context.Context, run agent.Run) error {
	at := n.notes.placeOf(ctx, n.agent, run.Session, n.workspace, run.Bounds)
	if !at.hasNotes() {
		return nil
	}
	material, err := n.material(ctx, run.Session, at)
	if err != nil || (memory.Gates{}).Unmet(material) != "" {
		return err
	}
	dirs, err := n.targets(at)
	if err != nil {
		return err
	}
	// The folders exist now, so a concurrent erase of the session can leave a mark in them.
	// Anything read before is read again.
	if material, err = n.material(ctx, run.Session, at); err != nil {
		return err
	}
	x := memory.Extractor{Model: n.model, Familiar: n.knownTexts(), Notes: n.recallable(at, run.Session)}
	found, err := x.Extract(ctx, material)
	if err != nil {
		return err
	}
	if found.Usage != nil {
		// Usage is informational: if it cannot be stored, it is dropped.
		_, _ = n.builder.store.Append(ctx, run.Session, store.Any, agent.UsageEntry(provider.ForMemory, n.model.Info(), *found.Usage))
	}
	return learnInto(ctx, dirs, at, found.Facts, material)
}

// material returns the part of a conversation since the last extraction.
func (n *notebook) material(ctx context.Context, id firn.ID, at place) (memory.Material, error) {
	after, err := n.notes.ownDir(n.settings, at).Examined(id)
	if err != nil {
		return memory.Material{}, err
	}
	path, err := window.Collect(n.builder.store.ReadBack(ctx, id, store.End))
	if err != nil {
		return memory.Material{}, err
	}
	entries := path.Entries
	if at.person == "" {
		entries = agentEntries(entries)
	}
	return memory.Collect(id, entries, after, path.Compaction != nil), nil
}

// targets returns the folders for the facts of a place.
func (n *notebook) targets(at place) (map[memory.Scope]*memory.Dir, error) {
	scopes := []memory.Scope{memory.ScopeAgent, memory.ScopeProject}
	if at.person != "" {
		scopes = []memory.Scope{memory.ScopeUser}
	} else if at.project == "" {
		scopes = scopes[:1]
	}
	dirs := make(map[memory.Scope]*memory.Dir)
	for _, scope := range scopes {
		dir, err := n.notes.target(n.settings, at, scope)
		if err != nil {
			return nil, err
		}
		dirs[scope] = dir
	}
	return dirs, nil
}

// learnInto stores facts in their folders. The folder that records the progress is last.
func learnInto(ctx context.Context, dirs map[memory.Scope]*memory.Dir, at place, facts []memory.Fact, m memory.Material) error {
	byScope := make(map[memory.Scope][]memory.Fact)
	for _, f := range facts {
		scope := scopeOf(f.Category, at)
		byScope[scope] = append(byScope[scope], f)
	}
	if facts := byScope[memory.ScopeProject]; len(facts) > 0 {
		if _, err := dirs[memory.ScopeProject].Learn(ctx, facts, "", ""); err != nil {
			return err
		}
	}
	scope := memory.ScopeAgent
	if at.person != "" {
		scope = memory.ScopeUser
	}
	_, err := dirs[scope].Learn(ctx, byScope[scope], m.Session, m.Last)
	return err
}

// recallable returns the shelf that memory could recall from in a conversation. Facts from
// it are not new.
func (n *notebook) recallable(at place, id firn.ID) memory.Shelf {
	shelf := n.notes.shelf(n.settings, at)
	shelf.Past = n.past(at, id)
	return shelf
}
