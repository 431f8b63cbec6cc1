package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/find/index"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// A reset is an entry of this type, in the session that ends and in the one
// that begins.
const resetType = "firn.reset"

// resetMark is what it says.
type resetMark struct {
	Reason route.Cause `json:"reason"`
	// Key is the key whose session it is, in the session that ends.
	Key string `json:"key,omitempty"`
	// Next is set in the session that ends, Previous in the one that begins.
	Next     firn.ID `json:"next,omitempty"`
	Previous firn.ID `json:"previous,omitempty"`
	// Message is the id of the message from outside that began it, if it had one:
	// when it is sent again, nothing more begins.
	Message string `json:"message,omitempty"`
	// Resumed says that a session which had ended was taken up again.
	Resumed bool `json:"resumed,omitempty"`
}

func (m resetMark) entry() firn.Entry {
	return firn.Entry{Body: &firn.Custom{Type: resetType, Data: spell(m)}}
}

// keyed is the part of the store that knows keys.
func (g *Gateway) keyed() (store.Keyed, error) {
	k, ok := store.As[store.Keyed](g.Store)
	if !ok {
		return nil, fmt.Errorf("find the session of a key: the store keeps no keys: %w", firn.ErrUnsupported)
	}
	return k, nil
}

// canonical reads a key as a person may write it.
func (g *Gateway) canonical(key string) (route.Key, error) {
	return g.setup.Load().Route.Key(key)
}

// KeyQuery asks for a page of keys.
type KeyQuery struct {
	// Agent selects those of an agent, Text those that contain it in whatever
	// case; empty selects all.
	Agent, Text string
	// Limit is how many a page has: 100 if zero, never more than 1,000.
	Limit int
	// Cursor is that of the page before.
	Cursor string
	// Visible, if not nil, reports whether a key may be shown.
	Visible func(agent, key string) bool
}

// keySessions are the sessions of one key, newest first.
type keySessions struct {
	key   string
	infos []store.Info
}

// Keys returns a page of the keys that point at a session, those used last first. It
// reads the list of sessions once, and the table of keys if the store can show it; else
// it looks up the keys of the page. So a key that was taken away, or whose row was
// deleted from the table by hand, is not listed.
func (g *Gateway) Keys(ctx context.Context, q KeyQuery) (wire.Page[wire.Key], error) {
	page := wire.Page[wire.Key]{Items: []wire.Key{}}
	after, err := index.ParseCursor(q.Cursor)
	if err != nil {
		return page, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("%q is not the cursor of a list of keys", view.Clip(q.Cursor))}
	}
	list := keyList{q: q, after: after, limit: view.PageSize(q.Limit), text: strings.ToLower(q.Text), seen: make(map[string]*keySessions)}
	keys, err := g.keysOfSessions(ctx)
	if err != nil {
		return page, fmt.Errorf("list keys: %w", err)
	}
	for info, err := range g.everyByUpdate(ctx, store.Query{Agent: q.Agent}) {
		if err != nil {
			return page, fmt.Errorf("list keys: %w", err)
		}
		for _, key := range keys(&info) {
			list.add(key, &info)
		}
	}
	page.Total, page.Cursor = list.total, list.cursor
	for _, one := range list.picked {
		key, err := g.describeKey(ctx, one.key, one.infos)
		if err != nil {
			return page, err
		}
		if key.Session == "" { // its row is gone
			page.Total--
			continue
		}
		key.History = nil
		page.Items = append(page.Items, key)
	}
	return page, nil
}

// keysOfSessions returns a function that tells which keys point at a session: by the
// table of keys if the store can show that as a whole, else by what the session says.
func (g *Gateway) keysOfSessions(ctx context.Context) (func(info *store.Info) []string, error) {
	table, ok := store.As[bindings](g.Store)
	if !ok {
		return claimed, nil
	}
	all, err := table.Bindings(ctx)
	if err != nil {
		return nil, err
	}
	of := make(map[firn.ID][]string, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		of[all[key]] = append(of[all[key]], key)
	}
	return func(info *store.Info) []string { return of[info.ID] }, nil
}

// bindings is a store that shows where all keys point.
type bindings interface {
	Bindings(ctx context.Context) (map[string]firn.ID, error)
}

// claimed are the keys that a session says point at it.
func claimed(info *store.Info) []string {
	var keys []string
	for _, c := range info.Claims() {
		keys = append(keys, c.Key)
	}
	return keys
}

// everyByUpdate yields all sessions that match, archived and hidden ones too, those with
// the latest entry first. A key routes to a session also if lists do not show that.
func (g *Gateway) everyByUpdate(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return store.Infos(func() ([]store.Info, error) {
		var all []store.Info
		for info, err := range g.Every(ctx, q) {
			if err != nil {
				return nil, err
			}
			all = append(all, info)
		}
		store.SortByUpdate(all)
		return all, nil
	})
}

// keyList makes a page of keys from sessions, which are added newest first.
type keyList struct {
	q      KeyQuery
	after  index.Cursor
	limit  int
	text   string
	seen   map[string]*keySessions
	picked []*keySessions
	total  int
	cursor string
}

// add takes a session of a key.
func (l *keyList) add(key string, info *store.Info) {
	if one, ok := l.seen[key]; ok {
		if one != nil {
			one.infos = append(one.infos, *info)
		}
		return
	}
	l.seen[key] = nil
	if l.text != "" && !strings.Contains(strings.ToLower(key), l.text) || l.q.Visible != nil && !l.q.Visible(cmp.Or(info.Agent, store.AgentOf(key)), key) {
		return
	}
	l.total++
	if !behindCursor(l.after, info) {
		return
	}
	if n := len(l.picked); n >= l.limit && l.picked[n-1].infos[0].ID != info.ID { // the keys of a session stay together
		latest := l.picked[n-1].infos[0]
		l.cursor = index.Cursor{Updated: latest.Updated, ID: latest.ID}.String()
		return
	}
	one := &keySessions{key: key, infos: []store.Info{*info}}
	l.seen[key] = one
	l.picked = append(l.picked, one)
}

// Key tells of a key where it points, and every session it ever had.
func (g *Gateway) Key(ctx context.Context, key string) (wire.Key, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Key{}, err
	}
	var infos []store.Info
	for info, err := range g.everyByUpdate(ctx, store.Query{Key: k.String()}) {
		if err != nil {
			return wire.Key{}, fmt.Errorf("list the sessions of key %s: %w", key, err)
		}
		infos = append(infos, info)
	}
	return g.describeKey(ctx, k.String(), infos)
}

// describeKey describes a key whose sessions are given, newest first.
func (g *Gateway) describeKey(ctx context.Context, key string, infos []store.Info) (wire.Key, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Key{}, err
	}
	out := wire.Key{Key: k.String(), Agent: k.Agent(), Kind: string(k.Kind()), ChatType: string(k.ChatType())}
	channel := ""
	if k.Kind() == route.KindDirect && k.Channel() == "" {
		channel = "*" // it is one person's over all channels
	}
	out.Reset = g.setup.Load().resets(k.Agent()).For(k, channel).String()
	keyed, err := g.keyed()
	if err != nil {
		return out, err
	}
	if out.Session, err = keyed.Lookup(ctx, out.Key); err != nil && !errors.Is(err, firn.ErrNotFound) {
		return out, err
	}
	for _, info := range infos {
		s := wire.Session{ID: info.ID, Agent: info.Agent, Key: info.Key, Title: view.OneLine(info.Title), Prompt: view.OneLine(info.Prompt), Created: info.Created,
			Updated: info.Updated, Bytes: info.Bytes, Parts: info.Parts, End: info.End, Current: info.ID == out.Session}
		if info.Updated.After(out.Updated) {
			out.Updated = info.Updated
		}
		if s.Current {
			out.Title = cmp.Or(s.Title, s.Prompt)
		}
		out.History = append(out.History, s)
	}
	if out.Session == "" && len(out.History) == 0 {
		return out, pointsNowhere(out.Key)
	}
	return out, nil
}

// PointKey points a key at a session that exists. If the key pointed elsewhere the
// session says that it was taken up again, so that the next message does not find
// it over; one that cannot be added to is pointed at all the same.
func (g *Gateway) PointKey(ctx context.Context, key string, id firn.ID) (wire.Key, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Key{}, err
	}
	defer g.doors.lock(k.String())()
	return g.point(ctx, k, id)
}

// point points a key at a session, with its door held.
func (g *Gateway) point(ctx context.Context, k route.Key, id firn.ID) (wire.Key, error) {
	keyed, err := g.keyed()
	if err != nil {
		return wire.Key{}, err
	}
	current, err := keyed.Lookup(ctx, k.String())
	if err != nil && !errors.Is(err, firn.ErrNotFound) {
		return wire.Key{}, err
	}
	if err := store.Bind(ctx, g.Store, k.String(), id); err != nil {
		return wire.Key{}, err
	}
	if current != id {
		mark := resetMark{Reason: route.CauseRequest, Previous: current, Resumed: true}.entry()
		if _, err := g.Store.Append(ctx, id, store.Any, mark); err != nil && !errors.Is(err, firn.ErrUnsupported) {
			return wire.Key{}, err
		}
	}
	g.events.tell(event(wire.SessionUpdated, id, nil))
	return g.Key(ctx, k.String())
}

// RemoveKey makes a key point nowhere. Its sessions stay, and say so; the next message
// for the key begins a new one.
func (g *Gateway) RemoveKey(ctx context.Context, key string) (wire.Key, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Key{}, err
	}
	defer g.doors.lock(k.String())()
	id, err := store.Release(ctx, g.Store, k.String())
	if errors.Is(err, firn.ErrNotFound) {
		return wire.Key{}, pointsNowhere(k.String())
	}
	if err != nil {
		return wire.Key{}, err
	}
	g.events.tell(event(wire.SessionUpdated, id, nil))
	out, err := g.Key(ctx, k.String())
	if errors.Is(err, firn.ErrNotFound) { // no session was begun for it
		return wire.Key{Key: k.String(), Agent: k.Agent(), Kind: string(k.Kind()), ChatType: string(k.ChatType())}, nil
	}
	return out, err
}

func pointsNowhere(key string) error {
	return &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("key %s points nowhere", key), Hint: "it comes to be with its first message"}
}

// ResetKey begins a new session for a key, because somebody asked for it.
func (g *Gateway) ResetKey(ctx context.Context, key string) (wire.Routed, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Routed{}, err
	}
	defer g.doors.lock(k.String())()
	id, err := g.begin(ctx, k, route.CauseRequest, "", "")
	return wire.Routed{Key: k.String(), Session: id, Reset: string(route.CauseRequest)}, err
}

// begin begins a new session for a key. The one it had is told where it goes
// on, and keeps everything; what was chosen for it is carried over. The door of the key is held. Message is the id of the message that
// begins it, if it has one; cwd is the directory, empty means that of the agent; more are entries that it begins with.
func (g *Gateway) begin(ctx context.Context, k route.Key, cause route.Cause, message, cwd string, more ...firn.Entry) (firn.ID, error) {
	keyed, err := g.keyed()
	if err != nil {
		return "", err
	}
	old, err := keyed.Lookup(ctx, k.String())
	if err != nil && !errors.Is(err, firn.ErrNotFound) {
		return "", err
	}
	id := newID(ctx)
	entries := []firn.Entry{{Body: &firn.Header{Session: id, Agent: k.Agent(), Key: k.String(), CWD: cmp.Or(cwd, g.workspaceOf(k.Agent()))}}}
	if old != "" || message != "" {
		entries = append(entries, resetMark{Reason: cause, Previous: old, Message: message}.entry())
	}
	if old != "" {
		carried, err := g.carry(ctx, old)
		if err != nil {
			return "", err
		}
		entries = append(entries, carried...)
	}
	if _, err := g.Store.Append(ctx, id, store.Start, append(entries, more...)...); err != nil {
		return "", err
	}
	if err := keyed.Bind(ctx, k.String(), id); err != nil { // the header and the mark below say so
		return "", halfDone(err)
	}
	if old != "" {
		if _, err := g.Store.Append(ctx, old, store.Any, resetMark{Reason: cause, Key: k.String(), Next: id}.entry()); err != nil {
			return "", halfDone(err)
		}
	}
	g.events.tell(event(wire.SessionUpdated, id, nil))
	return id, nil
}

// carry makes the entries that carry over what was chosen in a session: the model,
// thinking, verbose, send and auth. It is the same for all kinds of reset.
func (g *Gateway) carry(ctx context.Context, old firn.ID) ([]firn.Entry, error) {
	path, err := window.Collect(g.Store.ReadBack(ctx, old, store.End))
	if err != nil {
		return nil, err
	}
	c := path.Chosen
	kept := route.Toggles{Provider: c.Provider, Model: c.Model, Thinking: c.ThinkingLevel, Verbose: c.Verbose, Send: route.Override(c.Send), AuthProfile: c.Auth}.Carry()
	var entries []firn.Entry
	if kept.Model != "" {
		entries = append(entries, firn.Entry{Body: &firn.ModelChange{Provider: kept.Provider, Model: kept.Model}})
	}
	if kept.Thinking != "" {
		entries = append(entries, firn.Entry{Body: &firn.ThinkingChange{Level: kept.Thinking}})
	}
	if kept.Verbose != "" {
		entries = append(entries, firn.Entry{Body: &firn.Custom{Type: firn.VerboseType, Data: spell(map[string]string{"level": kept.Verbose})}})
	}
	if kept.Send != "" {
		entries = append(entries, firn.Entry{Body: &firn.Custom{Type: firn.SendType, Data: spell(map[string]string{"policy": string(kept.Send)})}})
	}
	if kept.AuthProfile != "" {
		entries = append(entries, firn.Entry{Body: &firn.Custom{Type: firn.AuthType, Data: spell(map[string]string{"profile": kept.AuthProfile})}})
	}
	return entries, nil
}

// ContinuePrevious undoes a reset: the key points again at the session it
// pointed at before, which says so.
func (g *Gateway) ContinuePrevious(ctx context.Context, key string) (wire.Key, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Key{}, err
	}
	defer g.doors.lock(k.String())()
	keyed, err := g.keyed()
	if err != nil {
		return wire.Key{}, err
	}
	current, err := keyed.Lookup(ctx, k.String())
	if err != nil {
		return wire.Key{}, err
	}
	previous, err := g.previous(ctx, current)
	if err != nil {
		return wire.Key{}, err
	}
	ours := previous != ""
	if ours {
		if ours, err = g.preceded(ctx, previous, current, k.String()); err != nil {
			return wire.Key{}, err
		}
	}
	if !ours {
		return wire.Key{}, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("the session of key %s has none before it", k), Hint: "firn keys show lists the sessions of a key"}
	}
	return g.point(ctx, k, previous)
}

// preceded reports whether a session is one that another goes on from under a key: it
// is of that key, or says so itself. What the later one says is not enough, which
// others may have written there.
func (g *Gateway) preceded(ctx context.Context, previous, current firn.ID, key string) (bool, error) {
	h, err := g.header(ctx, previous)
	if err != nil || h.Key == key {
		return err == nil, err
	}
	for rec, err := range g.Store.ReadBack(ctx, previous, store.End) {
		if err != nil {
			return false, err
		}
		if mark, ok := resetOf(&rec); ok && mark.Next == current {
			return true, nil
		}
	}
	return false, nil
}

// previous is the session that one goes on from after a reset; empty if there
// is none. It stands near the beginning.
func (g *Gateway) previous(ctx context.Context, id firn.ID) (firn.ID, error) {
	mark, err := g.begun(ctx, id)
	return mark.Previous, err
}

// begun is the mark of the reset that a session began with; an empty one if it
// did not begin with one.
func (g *Gateway) begun(ctx context.Context, id firn.ID) (resetMark, error) {
	const near = 8
	n := 0
	for rec, err := range g.Store.Read(ctx, id, store.Start) {
		if err != nil {
			return resetMark{}, err
		}
		if mark, ok := resetOf(&rec); ok && mark.Next == "" && !mark.Resumed {
			return mark, nil
		}
		if n++; n == near {
			break
		}
	}
	return resetMark{}, nil
}

func resetOf(rec *firn.Record) (resetMark, bool) {
	if rec.Gap != nil || rec.Glance.Kind != firn.KindCustom {
		return resetMark{}, false
	}
	entry, err := rec.Entry()
	if err != nil {
		return resetMark{}, false
	}
	return readReset(entry)
}

func readReset(e firn.Entry) (resetMark, bool) {
	c, ok := e.Body.(*firn.Custom)
	if !ok || c.Type != resetType {
		return resetMark{}, false
	}
	var mark resetMark
	return mark, json.Unmarshal(c.Data, &mark) == nil
}

// lifetimes tells when a session began, and when a person last said something
// in it. Taking it up again is both.
func (g *Gateway) lifetimes(ctx context.Context, id firn.ID) (route.Times, error) {
	var t route.Times
	path, err := g.Path(ctx, id)
	if err != nil {
		return t, err
	}
	for _, e := range slices.Backward(path.Entries) {
		mark, ok := readReset(e)
		resumed := ok && mark.Resumed
		if resumed && t.Started.IsZero() {
			t.Started = e.Time
		}
		if (resumed || saidByAPerson(e)) && t.Interaction.IsZero() {
			t.Interaction = e.Time
		}
	}
	if n := len(path.Entries); n > 0 {
		t.Updated = path.Entries[n-1].Time
	}
	if t.Started.IsZero() {
		t.Started, err = g.beginning(ctx, id)
	}
	return t, err
}

func saidByAPerson(e firn.Entry) bool {
	m, ok := e.Body.(*firn.Message)
	return ok && m.Role == firn.RoleUser && !byMachine(e)
}

// beginning is when a session began.
func (g *Gateway) beginning(ctx context.Context, id firn.ID) (time.Time, error) {
	for rec, err := range g.Store.Read(ctx, id, store.Start) {
		if err != nil {
			return time.Time{}, err
		}
		entry, err := rec.Entry()
		if err != nil {
			return time.Time{}, nil // not known
		}
		return entry.Time, nil
	}
	return time.Time{}, nil
}

// CanonicalKey is a key as it is kept, however it is spelt.
func (g *Gateway) CanonicalKey(key string) (string, error) {
	k, err := g.canonical(key)
	if err != nil {
		return "", err
	}
	return k.String(), nil
}
