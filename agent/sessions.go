package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// SessionTools are the tools with which an agent looks at other sessions of
// its own and talks to them: sessions_list, sessions_history, sessions_send
// and sessions_spawn. Sessions of other agents are out of their reach, but for those
// that the session began itself, and so is what the one who began the turn may not
// see: see [BoundsOf]. In a conversation with people they reach that conversation
// only, whoever asks. Add them to Tools before the first turn, once: those of one call
// see to it that what they ask of a session is answered one turn after the other.
func (a *Agent) SessionTools() []tool.Tool {
	s := &sessions{Agent: a}
	return []tool.Tool{
		tool.New("sessions_list", "List your conversations, the latest first.", s.list),
		tool.New("sessions_history", "Read the latest messages of one of your other conversations.", s.history),
		tool.New("sessions_send", "Say something in one of your other conversations and get the answer given there.", s.send),
		tool.New("sessions_spawn", "Give a task to a new conversation of its own, and get its result.", s.spawn),
	}
}

// sessions are an agent's, as its session tools see them.
type sessions struct {
	*Agent
	lanes lanes
}

// maxDepth is how deep sessions may send and spawn: a conversation that asks
// another that asks another.
const maxDepth = 3

// Limits of what the tools tell.
const (
	listMost    = 50
	historyMost = 100
	historyLen  = 2000
	// historyBack is behind how many compactions the history is looked for.
	historyBack = 20
	// nameLen bounds what an error repeats of a name that makes no sense.
	nameLen = 80
)

type sessionKey struct{}

// place is the session a context belongs to, and how deep it was spawned.
type place struct {
	id    firn.ID
	depth int
	// above are the sessions whose calls led here.
	above []firn.ID
}

// withSession marks a context with the session a turn runs in.
func withSession(ctx context.Context, id firn.ID) context.Context {
	p, ok := ctx.Value(sessionKey{}).(place)
	if !ok {
		return context.WithValue(ctx, sessionKey{}, place{id: id})
	}
	above := append(append([]firn.ID(nil), p.above...), p.id)
	return context.WithValue(ctx, sessionKey{}, place{id: id, depth: p.depth + 1, above: above})
}

// SessionOf returns the session whose turn a context belongs to, for tools
// that want to know.
func SessionOf(ctx context.Context) (firn.ID, bool) {
	p, ok := ctx.Value(sessionKey{}).(place)
	return p.id, ok
}

// errNoTurn is why a call without a turn is refused.
var errNoTurn = fmt.Errorf("only a turn of a session can ask other sessions: %w", firn.ErrInvalid)

// asking returns the session whose turn wants to ask another one, if it is not
// too deep for that.
func asking(ctx context.Context) (place, error) {
	here, ok := ctx.Value(sessionKey{}).(place)
	if !ok {
		return place{}, errNoTurn
	}
	if here.depth >= maxDepth {
		return place{}, fmt.Errorf("sessions can ask one another %d deep and no deeper; do the task here: %w", maxDepth, firn.ErrTooLarge)
	}
	return here, nil
}

type listArgs struct {
	Limit  int `json:"limit,omitempty" desc:"how many at most (default 20)"`
	Active int `json:"active_minutes,omitempty" desc:"only those with an entry in the last so many minutes"`
}

func (s *sessions) list(ctx context.Context, args listArgs) (tool.Result, error) {
	limit := bounded(args.Limit, 20, listMost)
	own, bounds, err := s.reach(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	now := s.now()
	var b strings.Builder
	n, children := 0, s.spawned(ctx, own)
	for info, err := range s.Store.List(ctx, store.Query{Agent: s.name()}) {
		if err != nil {
			return tool.Result{}, fmt.Errorf("list sessions: %w", err)
		}
		if args.Active > 0 && now.Sub(info.Updated) > time.Duration(args.Active)*time.Minute {
			break // the latest come first
		}
		if _, child := children[info.ID]; info.ID != own && !child && !bounds.Admits(s.name(), info.Key) {
			continue
		}
		if n == limit {
			b.WriteString("(there are more)\n")
			break
		}
		n++
		title := info.Title
		if title == "" {
			title = info.Prompt
		}
		fmt.Fprintf(&b, "%s  %s  %s", info.ID, info.Updated.UTC().Format(time.RFC3339), oneLine(title))
		if _, child := children[info.ID]; child {
			b.WriteString("  (begun here)")
			delete(children, info.ID)
		}
		if info.ID == own {
			b.WriteString("  (this conversation)")
		}
		b.WriteByte('\n')
	}
	for id, link := range children { // those of other agents, and those put away
		if link.Agent != "" && link.Agent != s.name() {
			fmt.Fprintf(&b, "%s  %s  (begun here, by agent %s)\n", id, promptTitle(link.Task), oneLine(link.Agent))
			n++
		}
	}
	if n == 0 {
		return tool.TextResult("There are no sessions."), nil
	}
	return tool.TextResult(b.String()), nil
}

// reach returns the session whose turn a context belongs to, and what it may see
// besides. A conversation with people sees itself, whoever asks in it.
func (s *sessions) reach(ctx context.Context) (own firn.ID, bounds route.Bounds, err error) {
	bounds = BoundsOf(ctx)
	here, ok := SessionOf(ctx)
	if !ok {
		return "", bounds, nil
	}
	header, err := s.header(ctx, here)
	if errors.Is(err, firn.ErrNotFound) {
		err = nil
	}
	return here, bounds.In(header.Key), err
}

// spawned returns the links to the sessions that the live part of a session says it
// began, and whose header says so too.
func (s *sessions) spawned(ctx context.Context, own firn.ID) map[firn.ID]Spawned {
	links := make(map[firn.ID]Spawned)
	path, err := window.Collect(s.Store.ReadBack(ctx, own, store.End))
	if err != nil {
		return links // a session that is not there yet began none
	}
	for _, e := range slices.Backward(path.Entries) {
		link, ok := SpawnedIn(e)
		if !ok || len(links) == listMost {
			continue
		}
		if h, err := s.header(ctx, link.Session); err == nil && begunBy(h, own) {
			links[link.Session] = link
		}
	}
	return links
}

// begunBy reports whether a header is that of a sub-agent that a session began. A fork
// also names its parent: it is not one.
func begunBy(h firn.Header, parent firn.ID) bool {
	k, err := route.Parse(h.Key)
	return err == nil && k.Kind() == route.KindSubagent && parent != "" && h.ParentSession == string(parent)
}

func bounded(n, standard, most int) int {
	if n <= 0 {
		return standard
	}
	return min(n, most)
}

type historyArgs struct {
	Session string `json:"session" desc:"the id of the session"`
	Limit   int    `json:"limit,omitempty" desc:"how many messages at most (default 20)"`
	Tools   bool   `json:"include_tools,omitempty" desc:"tool results as well"`
}

func (s *sessions) history(ctx context.Context, args historyArgs) (tool.Result, error) {
	id, path, err := s.mine(ctx, args.Session)
	if err != nil {
		return tool.Result{}, err
	}
	lines, err := s.told(ctx, id, path, args)
	if err != nil {
		return tool.Result{}, fmt.Errorf("read session %s: %w", id, err)
	}
	if len(lines) == 0 {
		return tool.TextResult("Nothing was said there yet."), nil
	}
	slices.Reverse(lines)
	return tool.TextResult(strings.Join(lines, "")), nil
}

// told returns the last messages of the branch that a session is on, the
// latest first, given its live part. What was compacted away is told as well,
// what was hidden is not.
func (s *sessions) told(ctx context.Context, id firn.ID, path window.Path, args historyArgs) ([]string, error) {
	limit, end := bounded(args.Limit, 20, historyMost), path.End
	var lines []string
	for range historyBack {
		for _, e := range slices.Backward(path.Entries) {
			if line := historyLine(e, args.Tools); line != "" {
				lines = append(lines, line)
			}
			if len(lines) == limit {
				return lines, nil
			}
		}
		if path.Compaction == nil || path.Entries[0].Parent == "" {
			break
		}
		// From the end again: what hides an older message may stand anywhere
		// behind it.
		older, err := window.CollectFrom(s.Store.ReadBack(ctx, id, end), path.Entries[0].Parent)
		if errors.Is(err, firn.ErrNotFound) {
			break // a log at fault: the branch cannot be followed further
		}
		if err != nil {
			return nil, err
		}
		path = older
	}
	return lines, nil
}

// historyLine tells a message in short; nothing if it has nothing to tell.
func historyLine(e firn.Entry, tools bool) string {
	m, ok := e.Body.(*firn.Message)
	if !ok {
		return ""
	}
	text := m.Text()
	if m.Role == firn.RoleToolResult && tools && len(m.Parts) == 1 {
		if r, ok := m.Parts[0].(firn.ToolResult); ok {
			text = r.Name + ": " + firn.JoinText(r.Content)
		}
	}
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return fmt.Sprintf("[%s %s] %s\n", e.Time.UTC().Format(time.RFC3339), m.Role, firn.CutText(text, historyLen))
}

// mine returns the session that an id or a key names, with its live part, if
// it is this agent's and nobody has hidden it.
func (s *sessions) mine(ctx context.Context, name string) (firn.ID, window.Path, error) {
	name = strings.TrimSpace(name)
	id, own, err := s.seen(ctx, name)
	if err != nil {
		return "", window.Path{}, fmt.Errorf("find session %q: %w; sessions_list tells which there are", firn.CutText(name, nameLen), err)
	}
	if !own {
		return "", window.Path{}, fmt.Errorf("session %s belongs to another agent", id)
	}
	path, err := window.Collect(s.Store.ReadBack(ctx, id, store.End))
	if err != nil {
		return "", window.Path{}, fmt.Errorf("read session %s: %w", id, err)
	}
	if path.Hides(firn.EntryID(id)) {
		return "", window.Path{}, fmt.Errorf("session %s was hidden", id)
	}
	return id, path, nil
}

// find returns the id that a name stands for: a key's session, or itself.
func (s *sessions) find(ctx context.Context, name string) (firn.ID, error) {
	if keyed, ok := store.As[store.Keyed](s.Store); ok && strings.Contains(name, ":") {
		return keyed.Lookup(ctx, name)
	}
	if firn.ID(name).Check() != nil { // whose words repeat all of it
		return "", fmt.Errorf("that cannot be the id of a session: %w", firn.ErrInvalid)
	}
	return firn.ID(name), nil
}

// owns reports whether a session is this agent's. The header says so; of one
// that others wrote, which does not, the store knows where it found it.
func (s *sessions) owns(ctx context.Context, id firn.ID) (bool, error) {
	header, err := s.header(ctx, id)
	if err != nil || header.Agent != "" {
		return header.Agent == s.name(), err
	}
	for _, archived := range []bool{false, true} {
		for info, err := range s.Store.List(ctx, store.Query{Agent: s.name(), Archived: archived}) {
			if err != nil || info.ID == id {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// seen returns the session that a name stands for, and whether it is this agent's. For
// a turn with bounds, what is out of them is not there: nothing tells it from a name
// that means nothing.
func (s *sessions) seen(ctx context.Context, name string) (id firn.ID, own bool, err error) {
	here, bounds, err := s.reach(ctx)
	if err != nil {
		return "", false, err
	}
	var header firn.Header
	if id, err = s.find(ctx, name); err == nil {
		header, err = s.header(ctx, id)
	}
	child := err == nil && begunBy(header, here)
	if own = child; err == nil && !child {
		own, err = s.owns(ctx, id)
	}
	if bounds.Unbounded() || errors.Is(err, firn.ErrInvalid) {
		return id, own, err
	}
	if err != nil || !own || !child && id != here && !bounds.Admits(s.name(), header.Key) {
		return "", false, firn.ErrNotFound
	}
	return id, own, nil
}

// header reads the header of a session: its first record, but for gaps. One
// without a header has an empty one.
func (a *Agent) header(ctx context.Context, id firn.ID) (firn.Header, error) {
	for rec, err := range a.Store.Read(ctx, id, store.Start) {
		if err != nil {
			return firn.Header{}, err
		}
		if rec.Gap != nil {
			continue
		}
		if entry, err := rec.Entry(); err == nil {
			if h, ok := entry.Body.(*firn.Header); ok {
				return *h, nil
			}
		}
		break
	}
	return firn.Header{}, nil
}
