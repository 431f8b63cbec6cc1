package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/route"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// SessionTools returns the tools that list, read and message other sessions of the agent:
// sessions_list, sessions_history, sessions_send and sessions_spawn. They reach neither
// sessions of other agents, except those that the session spawned itself, nor sessions
// outside the bounds of the turn (see [BoundsOf]). In a conversation with several people
// they reach only that conversation. Add the tools to Tools once, before the first turn:
// the tools of one call serialize the turns they run in each session.
func (a *Agent) SessionTools() []tool.Tool {
	s := &sessions{Agent: a}
	return []tool.Tool{
		tool.New("sessions_list", "List your conversations, the latest first.", s.list),
		tool.New("sessions_history", "Read the latest messages of one of your other conversations.", s.history),
		tool.New("sessions_send", "Send a message to one of your other conversations and get its answer.", s.send),
		tool.New("sessions_spawn", "Give a task to a new conversation of its own, and get its result.", s.spawn),
	}
}

// sessions implements the session tools of an agent.
type sessions struct {
	*Agent
	lanes lanes
}

// maxDepth is the maximum nesting depth of sessions_send and sessions_spawn.
const maxDepth = 3

// The limits of the tools' output.
const (
	listMost    = 50
	historyMost = 100
	historyLen  = 2000
	// historyBack is the number of compactions behind which the history is still read.
	historyBack = 20
	// nameLen is the maximum length of an invalid name repeated in an error.
	nameLen = 80
)

type sessionKey struct{}

// place is the session that a context belongs to and its nesting depth.
type place struct {
	id    firn.ID
	depth int
	// above are the calling sessions.
	above []firn.ID
}

// withSession returns a context with the session of a turn.
func withSession(ctx context.Context, id firn.ID) context.Context {
	p, ok := ctx.Value(sessionKey{}).(place)
	if !ok {
		return context.WithValue(ctx, sessionKey{}, place{id: id})
	}
	above := append(append([]firn.ID(nil), p.above...), p.id)
	return context.WithValue(ctx, sessionKey{}, place{id: id, depth: p.depth + 1, above: above})
}

// SessionOf returns the session whose turn ctx belongs to.
func SessionOf(ctx context.Context) (firn.ID, bool) {
	p, ok := ctx.Value(sessionKey{}).(place)
	return p.id, ok
}

// errNoTurn is returned for a call outside of a turn.
var errNoTurn = failure.Of(firn.ErrInvalid, "only a turn of a session can delegate to other sessions")

// callingPlace returns the calling session. It fails if the nesting is too deep.
func callingPlace(ctx context.Context) (place, error) {
	here, ok := ctx.Value(sessionKey{}).(place)
	if !ok {
		return place{}, errNoTurn
	}
	if here.depth >= maxDepth {
		return place{}, fmt.Errorf("sessions can delegate at most %d levels deep; do the task here: %w", maxDepth, firn.ErrTooLarge)
	}
	return here, nil
}

type listArgs struct {
	Limit  int `json:"limit,omitempty" desc:"how many at most (default 20)"`
	Active int `json:"active_minutes,omitempty" desc:"only those with an entry in the last so many minutes"`
}

func (s *sessions) list(ctx context.Context, args listArgs) (tool.Result, error) {
	limit := bounded(args.Limit, 20, listMost)
	own, bounds, err := s.callerBounds(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	now := s.now()
	var b strings.Builder
	n, children := 0, s.spawnedSessions(ctx, own)
	for info, err := range s.Store.List(ctx, store.Query{Agent: s.name(), NonEmpty: true}) {
		if err != nil {
			return tool.Result{}, fmt.Errorf("list sessions: %w", err)
		}
		if args.Active > 0 && now.Sub(info.Updated) > time.Duration(args.Active)*time.Minute {
			break // sorted newest first
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
			b.WriteString("  (started here)")
			delete(children, info.ID)
		}
		if info.ID == own {
			b.WriteString("  (this conversation)")
		}
		b.WriteByte('\n')
	}
	for id, link := range children { // sessions of other agents, and archived ones
		if link.Agent != "" && link.Agent != s.name() {
			fmt.Fprintf(&b, "%s  %s  (started here, by agent %s)\n", id, promptTitle(link.Task), oneLine(link.Agent))
			n++
		}
	}
	if n == 0 {
		return tool.TextResult("There are no sessions."), nil
	}
	return tool.TextResult(b.String()), nil
}

// callerBounds returns the calling session and its bounds. A conversation with several
// people sees only itself, regardless of the caller.
func (s *sessions) callerBounds(ctx context.Context) (own firn.ID, bounds route.Bounds, err error) {
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

// spawnedSessions returns the links to the sessions that own spawned, from its live part.
// The header of each must confirm it.
func (s *sessions) spawnedSessions(ctx context.Context, own firn.ID) map[firn.ID]Spawned {
	links := make(map[firn.ID]Spawned)
	path, err := window.Collect(s.Store.ReadBack(ctx, own, store.End))
	if err != nil {
		return links // a session that does not exist yet has spawned none
	}
	for _, e := range slices.Backward(path.Entries) {
		link, ok := spawnedIn(e)
		if !ok || len(links) == listMost {
			continue
		}
		if h, err := s.header(ctx, link.Session); err == nil && isSpawnedBy(h, own) {
			links[link.Session] = link
		}
	}
	return links
}

// isSpawnedBy reports whether a header belongs to a sub-agent of parent. A fork also names
// its parent, but is not one.
func isSpawnedBy(h firn.Header, parent firn.ID) bool {
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
	id, path, err := s.resolveOwn(ctx, args.Session)
	if err != nil {
		return tool.Result{}, err
	}
	lines, err := s.lastMessages(ctx, id, path, args)
	if err != nil {
		return tool.Result{}, fmt.Errorf("read session %s: %w", id, err)
	}
	if len(lines) == 0 {
		return tool.TextResult("No messages there yet."), nil
	}
	slices.Reverse(lines)
	return tool.TextResult(strings.Join(lines, "")), nil
}

// lastMessages returns the last messages of the current branch of a session, latest first,
// given its live part. It includes compacted messages and leaves out hidden ones.
func (s *sessions) lastMessages(ctx context.Context, id firn.ID, path window.Path, args historyArgs) ([]string, error) {
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
		// Read from the end again: a tombstone may be anywhere after the older message that
		// it hides.
		older, err := window.CollectFrom(s.Store.ReadBack(ctx, id, end), path.Entries[0].Parent)
		if errors.Is(err, firn.ErrNotFound) {
			break // a damaged log: the branch cannot be followed further
		}
		if err != nil {
			return nil, err
		}
		path = older
	}
	return lines, nil
}

// historyLine summarizes a message in one line. It returns an empty string if there is
// nothing to show.
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

// resolveOwn returns the session with that ID or key and its live part, if it belongs to
// this agent and is not hidden.
func (s *sessions) resolveOwn(ctx context.Context, name string) (firn.ID, window.Path, error) {
	name = strings.TrimSpace(name)
	id, own, err := s.resolveVisible(ctx, name)
	if err != nil {
		return "", window.Path{}, fmt.Errorf("find session %q: %w; sessions_list lists the sessions", firn.CutText(name, nameLen), err)
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

// resolveName returns the session of a key, or the name itself as an ID.
func (s *sessions) resolveName(ctx context.Context, name string) (firn.ID, error) {
	if keyed, ok := store.As[store.Keyed](s.Store); ok && strings.Contains(name, ":") {
		return keyed.Lookup(ctx, name)
	}
	if firn.ID(name).Check() != nil { // its error would repeat the whole name
		return "", failure.Of(firn.ErrInvalid, "not a valid session ID")
	}
	return firn.ID(name), nil
}

// owns reports whether a session belongs to this agent. Its header names the agent; for a
// session of another program, the store knows by its location.
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

// resolveVisible returns the session of a name and whether it belongs to this agent. A
// session outside the bounds of the turn gives the same error as an unknown name.
func (s *sessions) resolveVisible(ctx context.Context, name string) (id firn.ID, own bool, err error) {
	here, bounds, err := s.callerBounds(ctx)
	if err != nil {
		return "", false, err
	}
	var header firn.Header
	if id, err = s.resolveName(ctx, name); err == nil {
		header, err = s.header(ctx, id)
	}
	child := err == nil && isSpawnedBy(header, here)
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

// header reads the header of a session: its first record apart from gaps. It returns an
// empty header if there is none.
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
