package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/find/index"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// SessionQuery selects sessions. The zero query selects all that are neither archived nor
// hidden nor empty.
type SessionQuery struct {
	// Agent and Key select by owner, Sender by the person in a direct conversation.
	Agent, Key, Sender string
	// Text must occur in the title, the prompt or the key, ignoring case.
	Text string
	// Source selects by origin, "firn" for native sessions; Tag selects by tag.
	Source, Tag string
	// Directory selects sessions that were started in the directory or have a message sent
	// from it.
	Directory string
	// Under is like Directory, for a directory and all below it.
	Under string
	// Since and Until select by the time of the latest entry: not before Since, and before
	// Until.
	Since, Until time.Time
	// Archived and Hidden select those sessions instead; both set selects sessions that are
	// both.
	Archived, Hidden bool
	// Empty includes empty sessions, see [store.Info.Empty].
	Empty bool
	// Live selects sessions with a running turn.
	Live bool
	// Limit is the page size: 100 if zero, at most 1,000.
	Limit int
	// Cursor is the cursor of the previous page.
	Cursor string
	// Count requests the total even if that requires reading the whole list.
	Count bool
	// State includes the state of each session; it limits the page to 100.
	State bool
	// Sort is the field to sort by: updated (the default), created, title, turns, size or
	// cost. Direction is asc or desc; the default is asc for titles and desc for others.
	Sort, Direction string
	// Group sorts by project, source or day first.
	Group string
}

// everywhere reports whether a query must read the whole list.
func (q *SessionQuery) everywhere() bool { return q.Sender != "" || q.Count }

// ask returns the part of the query that the store evaluates.
func (q *SessionQuery) ask() store.Query {
	return store.Query{
		Agent: q.Agent, Key: q.Key, Archived: q.Archived, Hidden: q.Hidden, Source: q.Source, Tag: q.Tag,
		Since: q.Since, Until: q.Until, Text: q.Text, Directory: q.Directory, Under: q.Under, NonEmpty: !q.Empty && !q.Live,
	}
}

// Sessions lists sessions, the most recently updated first. Pages are ordered by update
// time and ID: a session without new entries is on exactly one page. A session that gets
// new entries moves to the front, which a walk in progress does not see; the events report
// it.
func (g *sessionReader) Sessions(ctx context.Context, q SessionQuery) (wire.Page[wire.Session], error) {
	if !q.State {
		return g.sessions(ctx, q)
	}
	q.Limit = min(view.PageSize(q.Limit), view.StandardPage)
	page, err := g.sessions(ctx, q)
	for i := range page.Items {
		g.addState(ctx, &page.Items[i])
	}
	return page, err
}

// addState adds the state of a session and its parent. An unreadable session gets a fault
// instead.
func (g *sessionReader) addState(ctx context.Context, s *wire.Session) {
	now, err := g.Glimpse(ctx, s.ID)
	if err == nil {
		s.State, err = g.State(ctx, s.ID, now, g.lanes.atWork(s.ID))
	}
	countUnread(s)
	if header, headErr := g.header(ctx, s.ID); headErr == nil {
		s.Parent = g.ancestor(ctx, header.ParentSession)
	}
	if err != nil && s.Fault == "" {
		s.Fault = err.Error()
	}
}

// ancestor resolves the parent of a fork. Other tools name it by the path of its file,
// possibly of another machine; if that session is known, its ID is returned.
func (g *sessionReader) ancestor(ctx context.Context, parent string) string {
	cut := strings.LastIndexAny(parent, `/\`)
	if cut < 0 {
		return parent
	}
	name := strings.TrimSuffix(parent[cut+1:], ".jsonl")
	for _, id := range []string{name, name[strings.LastIndexByte(name, '_')+1:]} {
		if id == "" {
			continue
		}
		if _, err := g.Info(ctx, firn.ID(id)); err == nil {
			return id
		}
	}
	return parent
}

// sessions returns a page without states.
func (g *sessionReader) sessions(ctx context.Context, q SessionQuery) (wire.Page[wire.Session], error) {
	if q.Direction != "" && q.Direction != "asc" && q.Direction != "desc" {
		return wire.Page[wire.Session]{}, Invalid("unknown order %q: expected asc or desc", view.Clip(q.Direction))
	}
	if order := q.order(); !order.IsDefault() {
		return g.orderedSessions(ctx, &q, order)
	}
	page := wire.Page[wire.Session]{Items: []wire.Session{}, Total: -1}
	after, err := index.ParseCursor(q.Cursor)
	if err != nil {
		return page, errSessionCursor(q.Cursor)
	}
	limit := view.PageSize(q.Limit)
	ask := q.ask()
	if pager, ok := store.As[pager](g.Store); ok && !q.everywhere() && !q.Live {
		ask.Limit = limit
		return g.pageOf(ctx, pager, ask, after)
	}
	whole := q.Cursor != "" || q.everywhere()
	if !whole { // a limited list need not read all sessions
		ask.Limit = limit + 1
	}
	picked, more := 0, false
	total := 0
	list := g.List
	if q.Live {
		list = g.atWorkNow
	}
	for info, err := range list(ctx, ask) {
		if err != nil {
			return page, fmt.Errorf("list sessions: %w", err)
		}
		if !g.selects(&q, &info) {
			continue
		}
		if total++; !afterCursor(after, &info) {
			continue
		}
		if picked == limit {
			more = true
			continue
		}
		picked++
		page.Items = append(page.Items, g.listed(ctx, &info))
		page.Cursor = index.Cursor{Updated: info.Updated, ID: info.ID}.String()
	}
	if !more {
		page.Cursor = ""
	}
	g.addUnread(ctx, page.Items)
	if whole || !more {
		page.Total = total
	}
	return page, nil
}

// pager is a store that finds any page without reading the whole list.
type pager interface {
	Page(ctx context.Context, q store.Query, after index.Cursor) (index.Page, error)
	// Count returns the number of sessions on all pages.
	Count(ctx context.Context, q store.Query) (int, error)
}

// atWorkNow lists the matching sessions that have a running or queued turn. It reads no
// others.
func (g *sessionReader) atWorkNow(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return store.Infos(func() ([]store.Info, error) {
		var infos []store.Info
		for _, l := range g.lanes.allLanes() {
			info, err := g.Info(ctx, l.id)
			if err != nil && ctx.Err() != nil {
				return nil, err
			}
			if err == nil && q.Matches(info) { // a removed session is not running
				infos = append(infos, info)
			}
		}
		store.SortByUpdate(infos)
		return infos, nil
	})
}

// pageOf returns a page from the store. The store knows the total, or all sessions are on
// the page.
func (g *sessionReader) pageOf(ctx context.Context, from pager, q store.Query, after index.Cursor) (wire.Page[wire.Session], error) {
	page := wire.Page[wire.Session]{Items: []wire.Session{}, Total: -1}
	found, err := from.Page(ctx, q, after)
	if err != nil {
		return page, fmt.Errorf("list sessions: %w", err)
	}
	if page.Total = found.Total; page.Total < 0 {
		if page.Total, err = from.Count(ctx, q); err != nil {
			return page, err
		}
	}
	for i := range found.Infos {
		page.Items = append(page.Items, g.listed(ctx, &found.Infos[i]))
	}
	if found.More {
		page.Cursor = found.Next.String()
	}
	g.addUnread(ctx, page.Items)
	return page, nil
}

// afterCursor reports whether a session follows a cursor in the list.
func afterCursor(after index.Cursor, info *store.Info) bool {
	return after == (index.Cursor{}) || store.CompareInfos(&store.Info{Updated: after.Updated, ID: after.ID}, info) < 0
}

// selects evaluates the part of a query that the store does not know.
func (g *sessionReader) selects(q *SessionQuery, info *store.Info) bool {
	return (!q.Live || g.lanes.atWork(info.ID)) && (q.Sender == "" || isWith(info.Key, q.Sender))
}

// isWith reports whether a key is of a direct conversation with the sender, on any channel.
func isWith(key, sender string) bool {
	k, err := route.Parse(key)
	if err != nil {
		return false
	}
	p := k.Parts()
	return p.Kind == route.KindDirect && strings.EqualFold(route.DecodeID(p.Peer), sender)
}

// listed returns the list row of a session.
func (g *sessionReader) listed(ctx context.Context, info *store.Info) wire.Session {
	s := wire.Session{
		ID: info.ID, Agent: info.Agent, Key: info.Key, Title: view.OneLine(info.Title), Prompt: view.OneLine(info.Prompt), CWD: info.CWD,
		Created: info.Created, Updated: info.Updated, Bytes: info.Bytes, Parts: info.Parts, End: info.End,
		Archived: info.Archived, Hidden: info.Hidden, Empty: info.Empty, Fault: info.Fault, Source: info.Source, Imported: info.Imported, Tags: store.SplitTags(info.Tags),
	}
	if info.Directories != "" {
		s.Directories = strings.Split(info.Directories, "\n")
	}
	if info.Counts != (store.Counts{}) {
		counts := wire.Counts(info.Counts)
		s.Counts = &counts
	}
	s.Parent = route.ParentSession(info.Key)
	s.Subagent = s.Parent != ""
	s.Live, s.Queued = g.lanes.load(info.ID)
	s.Key, s.Current = g.keyFor(ctx, info)
	return s
}

// keyFor returns a key that points at a session and true; otherwise the key the session was
// started for and false.
func (g *sessionReader) keyFor(ctx context.Context, info *store.Info) (string, bool) {
	keyed, ok := store.As[store.Keyed](g.Store)
	if !ok {
		return info.Key, false
	}
	for _, c := range info.Claims() {
		if current, err := keyed.Lookup(ctx, c.Key); err == nil && current == info.ID {
			return c.Key, true
		}
	}
	if info.Key == "" || info.BoundKeys == "" {
		return info.Key, false
	}
	current, err := keyed.Lookup(ctx, info.Key) // a key table edited by hand takes precedence
	return info.Key, err == nil && current == info.ID
}

// unreadCounter is an index that records unreadable places.
type unreadCounter interface {
	// Unread returns the number of places that could not be read when the sessions were
	// last indexed.
	Unread(ctx context.Context, ids []firn.ID) (map[firn.ID]int, error)
}

// addUnread sets the number of unreadable places of sessions, as far as the index or their
// state knows it. An index error is ignored: the list is correct without it.
func (g *sessionReader) addUnread(ctx context.Context, sessions []wire.Session) {
	if index, ok := g.Index.(unreadCounter); ok {
		ids := make([]firn.ID, len(sessions))
		for i := range sessions {
			ids[i] = sessions[i].ID
		}
		if known, err := index.Unread(ctx, ids); err == nil {
			for i := range sessions {
				sessions[i].Unread = known[sessions[i].ID]
			}
		}
	}
	for i := range sessions {
		countUnread(&sessions[i])
	}
}

// countUnread adds the unreadable places in the state of a session.
func countUnread(s *wire.Session) {
	if s.State != nil {
		s.Unread = max(s.Unread, view.CountLosses(s.State.Damage))
	}
}

// load reports whether a turn of a session is running and how many messages are queued. A
// lane that has given all its answers counts as idle even before it has ended.
func (g *lanes) load(id firn.ID) (live bool, queued int) {
	l := g.laneOf(id)
	if l == nil {
		return g.events.runsElsewhere(id), 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return g.events.runsElsewhere(id), 0
	}
	return !l.allAnswered(), len(l.queue)
}

// atWork reports whether a turn of a session is running or queued.
func (g *lanes) atWork(id firn.ID) bool {
	live, _ := g.load(id)
	return live
}

// Session returns the details of a session, named as in [Gateway.Resolve]. An unreadable
// session has a fault and no state.
func (g *sessionReader) Session(ctx context.Context, ref string) (wire.Session, error) {
	id, err := g.Resolve(ctx, ref)
	if err != nil {
		return wire.Session{}, err
	}
	return g.session(ctx, id)
}

// filer is a store that keeps sessions in files.
type filer interface {
	Files(ctx context.Context, id firn.ID) ([]string, error)
}

// session returns the details of a session by ID.
func (g *sessionReader) session(ctx context.Context, id firn.ID) (wire.Session, error) {
	info, err := g.Info(ctx, id)
	if errors.Is(err, firn.ErrNotFound) {
		return wire.Session{}, g.CheckExists(ctx, id)
	}
	if err != nil {
		return wire.Session{}, fmt.Errorf("read session %s: %w", id, err)
	}
	s := g.listed(ctx, &info)
	s.Waiting = g.lanes.waitingIn(id)
	if files, ok := store.As[filer](g.Store); ok {
		if s.Files, err = files.Files(ctx, id); err != nil {
			return s, fmt.Errorf("read session %s: %w", id, err)
		}
	}
	now, err := g.Glimpse(ctx, id)
	if err == nil {
		s.Hidden = now.Hidden || s.Hidden && !now.Whole
		s.End = now.End
		s.State, err = g.State(ctx, id, now, g.lanes.atWork(id))
	}
	one := []wire.Session{s}
	g.addUnread(ctx, one)
	s = one[0]
	if header, headErr := g.header(ctx, id); headErr == nil {
		s.Parent = g.ancestor(ctx, header.ParentSession)
	}
	if err != nil {
		if ctx.Err() != nil {
			return s, err
		}
		s.Fault = err.Error()
	}
	return s, nil
}

// updated publishes the changed session to listeners.
func (g *sessionReader) updated(s wire.Session, err error) (wire.Session, error) {
	if err == nil {
		g.events.publish(event(wire.SessionUpdated, s.ID, s))
	}
	return s, err
}

// header reads the header of a session: its first readable record. If that is not a header,
// it returns an empty one.
func (g *core) header(ctx context.Context, id firn.ID) (firn.Header, error) {
	for rec, err := range g.Store.Read(ctx, id, store.Start) {
		if err != nil {
			return firn.Header{}, fmt.Errorf("read header of session %s: %w", id, err)
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

// forks lists the forks of a session. It reads the headers of all sessions.
func (g *sessionReader) forks(ctx context.Context, id firn.ID) iter.Seq2[firn.ID, error] {
	return func(yield func(firn.ID, error) bool) {
		for info, err := range g.Every(ctx, store.Query{}) {
			if err != nil {
				yield("", err)
				return
			}
			header, err := g.header(ctx, info.ID)
			if err != nil || header.ParentSession != string(id) {
				continue // skip unreadable sessions
			}
			if !yield(info.ID, nil) {
				return
			}
		}
	}
}

// Size returns the approximate number of bytes after a position, and the end position.
func (g *sessionReader) Size(ctx context.Context, id firn.ID, after firn.Pos) (bytes int64, end firn.Pos, err error) {
	if st, ok := store.As[extents](g.Store); ok {
		bytes, end, err = st.Extent(ctx, id)
	} else {
		var info store.Info
		info, err = g.Info(ctx, id)
		bytes, end = info.Bytes, info.End
	}
	if err != nil || after == 0 || end < after {
		return bytes, end, err
	}
	return min(bytes, int64(end-after)), end, nil
}

// extents is a store that knows the size of a session without reading it.
type extents interface {
	Extent(ctx context.Context, id firn.ID) (bytes int64, end firn.Pos, err error)
}
