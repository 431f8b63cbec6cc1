package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/ops/config"
	"firn.dev/memory"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// notebook is the memory of one agent: its tools, what is recalled before a
// turn, and what is learnt after it.
type notebook struct {
	staff *staff
	mind  *mind
	agent string
	// workspace is the directory that the agent works in, window the size of its
	// model's.
	workspace string
	window    int64
	settings  config.Memory
	// model looks for facts; nil does without.
	model provider.Model
}

// newNotebook makes the memory of an agent.
func (s *staff) newNotebook(a *agent.Agent, workspace string) *notebook {
	n := &notebook{
		staff: s, mind: s.mind, agent: a.Name, workspace: workspace, window: a.Model.Info().Window, settings: memoryOf(s.settings, a.Name),
		model: a.Model,
	}
	if a.Summarizer != nil {
		n.model = a.Summarizer
	}
	n.model = thinking(n.model)
	return n
}

// offlineAPI is what the model without a network speaks.
const offlineAPI = "offline"

// thinking is a model that can find facts; nil for the one that only plays one.
func thinking(m provider.Model) provider.Model {
	if m == nil || m.Info().API == offlineAPI {
		return nil
	}
	return m
}

// here is the place of the turn that a tool is called in.
func (n *notebook) here(ctx context.Context) (place, firn.ID) {
	id, ok := agent.SessionOf(ctx)
	if !ok {
		return newPlace(n.agent, "", "", agent.BoundsOf(ctx)), ""
	}
	return n.mind.placeOf(ctx, n.agent, id, n.workspace, agent.BoundsOf(ctx)), id
}

// tools are those that an agent notes and finds things with.
func (n *notebook) tools() []tool.Tool {
	return []tool.Tool{tool.Remember(n.remember), tool.Recall(n.search), tool.Forget(n.forget)}
}

// remember is what the tool of that name does.
func (n *notebook) remember(ctx context.Context, m tool.Memo) (string, error) {
	at, id := n.here(ctx)
	scope := memory.ScopeAgent
	if at.person != "" {
		scope = memory.ScopeUser
	}
	dir, err := n.mind.target(n.settings, at, scope)
	if err != nil {
		return "", err
	}
	draft := memory.Draft{Text: m.Text, Name: m.Name, Type: m.Type}
	if id != "" {
		n.mind.mu.Lock()
		draft.Sources = []memory.Source{{Session: id, Entry: n.mind.asked[id]}}
		n.mind.mu.Unlock()
	}
	kept, err := dir.Remember(ctx, draft)
	if err != nil {
		return "", err
	}
	return keptText(kept), nil
}

// keptText says what came of remembering something.
func keptText(k memory.Kept) string {
	facts := fmt.Sprintf("%d facts", len(k.Refs))
	if len(k.Refs) == 1 {
		facts = "1 fact"
	}
	switch {
	case len(k.Refs) == 0:
		return "already noted"
	case k.Refs[0] == k.Note: // which has a name
		return "noted in memory/" + k.Note + ".md"
	case k.Known > 0:
		return fmt.Sprintf("noted in memory/%s.md: %s; %d already noted", k.Note, facts, k.Known)
	}
	return fmt.Sprintf("noted in memory/%s.md: %s", k.Note, facts)
}

// forget is what the tool of that name does: in the first folder that has it.
func (n *notebook) forget(ctx context.Context, what string) (string, error) {
	at, _ := n.here(ctx)
	shelf := n.mind.shelf(n.settings, at)
	scope, name := cutScope(what)
	for _, f := range shelf.Folders() {
		if scope != "" && f.Scope != scope || at.person != "" && f.Scope != memory.ScopeUser {
			continue // what is the agent's is not theirs to take away
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
	return "", fmt.Errorf("forget %q: %w among the notes; recall shows how they are named", firn.CutText(what, 80), firn.ErrNotFound)
}

// cutScope takes the scope off a ref.
func cutScope(ref string) (memory.Scope, string) {
	scope, name, ok := strings.Cut(strings.TrimPrefix(ref, "note "), "/")
	switch s := memory.Scope(scope); {
	case ok && (s == memory.ScopeAgent || s == memory.ScopeUser || s == memory.ScopeProject):
		return s, name
	}
	return "", ref
}

// search is what recall looks in: notes, and what was said in other sessions.
func (n *notebook) search(ctx context.Context, query string, limit int) ([]tool.Hit, error) {
	at, id := n.here(ctx)
	shelf := n.mind.shelf(n.settings, at)
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

// recalled is what memory has to say in a turn. That it cannot be read does not
// stop the turn.
func (n *notebook) recalled(ctx context.Context, run agent.Run) []window.Injection {
	at := n.mind.placeOf(ctx, n.agent, run.Session, n.workspace, run.Bounds)
	shelf := n.mind.shelf(n.settings, at)
	query, entry := lastSaid(run)
	if !run.Preview {
		n.mind.noteAsked(run.Session, entry)
	}
	var injected []window.Injection
	if n.settings.Index && at.person == "" && shelf.Agent != nil {
		index, err := shelf.Agent.Index(ctx)
		if err != nil {
			n.staff.report("the list of notes was not read: " + err.Error())
		}
		if most := memory.BytesFor(n.window, n.settings.Recall.Share, 1<<20); most > 0 && n.window > 0 {
			index = memory.CutIndexTo(index, most) // a small window has less room
		}
		injected = append(injected, agent.Remembered(index)...)
	}
	limits := n.limits()
	if limits.Count <= 0 || limits.Bytes <= 0 || query == "" {
		return injected
	}
	if n.settings.Recall.Past && (!run.Preview || n.staff.indexThere()) { // a preview writes nothing
		shelf.Past = n.past(at, run.Session)
	}
	hits, err := shelf.Recall(ctx, query, limits)
	if err != nil {
		n.staff.report("not all was recalled: " + err.Error())
	}
	return append(injected, agent.Recalled(memory.Spell(hits))...)
}

// familiar are the texts that every conversation of the agent begins with.
func (n *notebook) familiar() []string {
	c, _ := n.staff.settings.Agent(n.agent)
	texts := []string{n.staff.systemOf(n.agent)}
	for _, f := range n.staff.instructions(c.Instructions, n.workspace) {
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
	return memory.Limits{Count: r.Count, Bytes: most, Floor: floor, Now: n.staff.clock()}
}

// lastSaid is what the user said last, and where.
func lastSaid(run agent.Run) (string, firn.EntryID) {
	for i := len(run.Path.Entries) - 1; i >= 0; i-- {
		e := run.Path.Entries[i]
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser {
			if run.Said != "" {
				return run.Said, e.ID
			}
			return m.Text(), e.ID
		}
	}
	return run.Said, ""
}

// noteAsked remembers the message that a turn answers, as the evidence of what is
// noted in it.
func (m *mind) noteAsked(id firn.ID, entry firn.EntryID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) >= maxHeaders {
		clear(m.asked)
	}
	m.asked[id] = entry
}

// learn looks for facts in a conversation, in the background, if it is time.
func (n *notebook) learn(_ context.Context, run agent.Run, outcome agent.Outcome) error {
	if !n.settings.Extract || outcome.Err != nil || len(outcome.Pending) > 0 {
		return nil
	}
	n.mind.start(func(ctx context.Context) {
		if !n.mind.begin(run.Session) {
			return
		}
		defer n.mind.end(run.Session)
		if err := n.extract(ctx, run); err != nil && ctx.Err() == nil {
			n.staff.report("no facts were noted of session " + string(run.Session) + ": " + err.Error())
		}
	})
	return nil
}

// begin lets one at a time look for facts in a session.
func (m *mind) begin(id firn.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy[id] {
		return false
	}
	m.busy[id] = true
	return true
}

func (m *mind) end(id firn.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, id)
}

// extract looks for facts and notes them where they belong. How far it was
// looked is noted last: what is looked at twice is noted once.
func (n *notebook) extract(ctx context.Context, run agent.Run) error {
	at := n.mind.placeOf(ctx, n.agent, run.Session, n.workspace, run.Bounds)
	if !at.noted() {
		return nil
	}
	material, err := n.material(ctx, run.Session, at)
	if err != nil || (memory.Gates{}).Shut(material) != "" {
		return err
	}
	dirs, err := n.targets(at)
	if err != nil {
		return err
	}
	// The folders are there now. So who erases something of the session from here
	// on can leave word in them, and what was read before is read anew.
	if material, err = n.material(ctx, run.Session, at); err != nil {
		return err
	}
	x := memory.Extractor{Model: n.model, Familiar: n.familiar(), Told: n.told(at, run.Session)}
	found, err := x.Extract(ctx, material)
	if err != nil {
		return err
	}
	if found.Usage != nil {
		// It is only a count: if it cannot be stored, the session does without.
		_, _ = n.staff.store.Append(ctx, run.Session, store.Any, agent.Spent(provider.ForMemory, n.model.Info(), *found.Usage))
	}
	return learnInto(ctx, dirs, at, found.Facts, material)
}

// material is what a conversation has to offer since it was last looked
// through.
func (n *notebook) material(ctx context.Context, id firn.ID, at place) (memory.Material, error) {
	after, err := n.mind.own(n.settings, at).Looked(id)
	if err != nil {
		return memory.Material{}, err
	}
	path, err := window.Collect(n.staff.store.ReadBack(ctx, id, store.End))
	if err != nil {
		return memory.Material{}, err
	}
	entries := path.Entries
	if at.person == "" {
		entries = ofTheAgent(entries)
	}
	return memory.Collect(id, entries, after, path.Compaction != nil), nil
}

// targets are the folders that facts of a place may belong into.
func (n *notebook) targets(at place) (map[memory.Scope]*memory.Dir, error) {
	scopes := []memory.Scope{memory.ScopeAgent, memory.ScopeProject}
	if at.person != "" {
		scopes = []memory.Scope{memory.ScopeUser}
	} else if at.project == "" {
		scopes = scopes[:1]
	}
	dirs := make(map[memory.Scope]*memory.Dir)
	for _, scope := range scopes {
		dir, err := n.mind.target(n.settings, at, scope)
		if err != nil {
			return nil, err
		}
		dirs[scope] = dir
	}
	return dirs, nil
}

// learnInto notes facts where they belong; last in the folder that knows how far
// it was looked.
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

// told is what memory may have told the agent in a conversation: what it says
// of that is nothing new.
func (n *notebook) told(at place, id firn.ID) memory.Shelf {
	shelf := n.mind.shelf(n.settings, at)
	shelf.Past = n.past(at, id)
	return shelf
}
