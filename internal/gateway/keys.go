package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// resetType is the type of the entry that records a reset, both in the session that ends
// and in the one that starts.
const resetType = "firn.reset"

// resetMark is the data of a reset entry.
type resetMark struct {
	Reason route.Cause `json:"reason"`
	// Key is the key of the session that ends.
	Key string `json:"key,omitempty"`
	// Next is set in the session that ends, Previous in the one that starts.
	Next     firn.ID `json:"next,omitempty"`
	Previous firn.ID `json:"previous,omitempty"`
	// Message is the ID of the inbound message that caused the reset, if it had one, so
	// that a retry does not reset again.
	Message string `json:"message,omitempty"`
	// Resumed is set if an ended session was resumed.
	Resumed bool `json:"resumed,omitempty"`
}

func (m resetMark) entry() firn.Entry {
	return firn.Entry{Body: &firn.Custom{Type: resetType, Data: toJSON(m)}}
}

// keyed returns the store's key table.
func (g *core) keyed() (store.Keyed, error) {
	k, ok := store.As[store.Keyed](g.Store)
	if !ok {
		return nil, fmt.Errorf("find the session of a key: the store has no keys: %w", firn.ErrUnsupported)
	}
	return k, nil
}

// canonical parses a key as a user may write it.
func (g *core) canonical(key string) (route.Key, error) {
	return g.setup.Load().Route.Key(key)
}

// Key returns the session that a key points at and all sessions it ever had.
func (g *keyTable) Key(ctx context.Context, key string) (wire.Key, error) {
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

// describeKey describes a key. infos are its sessions, newest first.
func (g *keyTable) describeKey(ctx context.Context, key string, infos []store.Info) (wire.Key, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Key{}, err
	}
	out := wire.Key{Key: k.String(), Agent: k.Agent(), Kind: string(k.Kind()), ChatType: string(k.ChatType())}
	channel := ""
	if k.Kind() == route.KindDirect && k.Channel() == "" {
		channel = "*" // one person on all channels
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
		return out, errUnboundKey(out.Key)
	}
	return out, nil
}

// PointKey points a key at an existing session. If the key pointed elsewhere, the session
// records that it was resumed, so that the next message does not treat it as expired. A
// read-only session is accepted too.
func (g *keyTable) PointKey(ctx context.Context, key string, id firn.ID) (wire.Key, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Key{}, err
	}
	defer g.locks.lock(k.String())()
	return g.pointKey(ctx, k, id)
}

// pointKey points a key at a session. The caller holds the key's lock.
func (g *keyTable) pointKey(ctx context.Context, k route.Key, id firn.ID) (wire.Key, error) {
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
	g.events.publish(event(wire.SessionUpdated, id, nil))
	return g.Key(ctx, k.String())
}

// RemoveKey unbinds a key. Its sessions remain and record it; the next message for the key
// starts a new session.
func (g *keyTable) RemoveKey(ctx context.Context, key string) (wire.Key, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Key{}, err
	}
	defer g.locks.lock(k.String())()
	id, err := store.Release(ctx, g.Store, k.String())
	if errors.Is(err, firn.ErrNotFound) {
		return wire.Key{}, errUnboundKey(k.String())
	}
	if err != nil {
		return wire.Key{}, err
	}
	g.events.publish(event(wire.SessionUpdated, id, nil))
	out, err := g.Key(ctx, k.String())
	if errors.Is(err, firn.ErrNotFound) { // no session was started for it
		return wire.Key{Key: k.String(), Agent: k.Agent(), Kind: string(k.Kind()), ChatType: string(k.ChatType())}, nil
	}
	return out, err
}

func errUnboundKey(key string) error {
	return &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("key %s has no session", key), Hint: "a key is created with its first message; to list keys: firn keys ls"}
}

// ResetKey starts a new session for a key on request.
func (g *keyTable) ResetKey(ctx context.Context, key string) (wire.Routed, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Routed{}, err
	}
	defer g.locks.lock(k.String())()
	id, err := g.startSession(ctx, k, sessionStart{cause: route.CauseRequest})
	return wire.Routed{Key: k.String(), Session: id, Reset: string(route.CauseRequest)}, err
}

// sessionStart describes how a new session of a key starts.
type sessionStart struct {
	cause route.Cause
	// message is the ID of the message that starts the session, if any.
	message string
	// cwd is the directory; empty means the agent's workspace.
	cwd string
	// defaults means that the settings of the previous session are not carried over.
	defaults bool
	// more are additional first entries.
	more []firn.Entry
}

// startSession starts a new session for a key. The previous session records its successor
// and keeps its entries. The caller holds the key's lock.
func (g *keyTable) startSession(ctx context.Context, k route.Key, s sessionStart) (firn.ID, error) {
	keyed, err := g.keyed()
	if err != nil {
		return "", err
	}
	old, err := keyed.Lookup(ctx, k.String())
	if err != nil && !errors.Is(err, firn.ErrNotFound) {
		return "", err
	}
	id := newID(ctx)
	entries := []firn.Entry{{Body: &firn.Header{Session: id, Agent: k.Agent(), Key: k.String(), CWD: cmp.Or(s.cwd, g.workspaceOf(k.Agent()))}}}
	if old != "" || s.message != "" {
		entries = append(entries, resetMark{Reason: s.cause, Previous: old, Message: s.message}.entry())
	}
	if old != "" && !s.defaults {
		carried, err := g.carriedSettings(ctx, old)
		if err != nil {
			return "", err
		}
		entries = append(entries, carried...)
	}
	if old != "" {
		claim, err := store.ReplaceClaim(ctx, g.Store, k.String(), old, g.now())
		if err != nil {
			return "", err
		}
		entries = append(entries, claim...)
	}
	if _, err := g.Store.Append(ctx, id, store.Start, append(entries, s.more...)...); err != nil {
		return "", err
	}
	if err := keyed.Bind(ctx, k.String(), id); err != nil { // recorded by the header and by the mark below
		return "", halfDone(err)
	}
	if old != "" {
		if _, err := g.Store.Append(ctx, old, store.Any, resetMark{Reason: s.cause, Key: k.String(), Next: id}.entry()); err != nil {
			return "", halfDone(err)
		}
	}
	g.events.publish(event(wire.SessionUpdated, id, nil))
	return id, nil
}

// carriedSettings returns entries that carry over the settings of a session: model,
// thinking, verbose, send and auth. They are the same for all causes of a reset.
func (g *keyTable) carriedSettings(ctx context.Context, old firn.ID) ([]firn.Entry, error) {
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
		entries = append(entries, firn.Entry{Body: &firn.Custom{Type: firn.VerboseType, Data: toJSON(map[string]string{"level": kept.Verbose})}})
	}
	if kept.Send != "" {
		entries = append(entries, firn.Entry{Body: &firn.Custom{Type: firn.SendType, Data: toJSON(map[string]string{"policy": string(kept.Send)})}})
	}
	if kept.AuthProfile != "" {
		entries = append(entries, firn.Entry{Body: &firn.Custom{Type: firn.AuthType, Data: toJSON(map[string]string{"profile": kept.AuthProfile})}})
	}
	return entries, nil
}

// ContinuePrevious undoes a reset: the key points again at its previous session, which
// records it.
func (g *keyTable) ContinuePrevious(ctx context.Context, key string) (wire.Key, error) {
	k, err := g.canonical(key)
	if err != nil {
		return wire.Key{}, err
	}
	defer g.locks.lock(k.String())()
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
		if ours, err = g.isPredecessor(ctx, previous, current, k.String()); err != nil {
			return wire.Key{}, err
		}
	}
	if !ours {
		return wire.Key{}, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("key %s has no previous session", k), Hint: "to list the sessions of a key: firn keys show"}
	}
	return g.pointKey(ctx, k, previous)
}

// isPredecessor reports whether the session previous precedes current under a key: its
// header has that key, or it names current as its successor. The claim of the later session
// alone is not trusted, since others may have written it.
func (g *keyTable) isPredecessor(ctx context.Context, previous, current firn.ID, key string) (bool, error) {
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

// previous returns the session that precedes id after a reset, or "". The mark is among the
// first entries.
func (g *keyTable) previous(ctx context.Context, id firn.ID) (firn.ID, error) {
	mark, err := g.startingReset(ctx, id)
	return mark.Previous, err
}

// startingReset returns the reset mark at the start of a session, or an empty mark.
func (g *keyTable) startingReset(ctx context.Context, id firn.ID) (resetMark, error) {
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

// lifetimes returns when a session started and when a person last wrote in it. Resuming a
// session counts as both. Messages copied from another session do not count.
func (g *keyTable) lifetimes(ctx context.Context, id firn.ID) (route.Times, error) {
	var t route.Times
	path, err := g.Path(ctx, id)
	if err != nil {
		return t, err
	}
	for _, e := range slices.Backward(path.Entries) {
		if view.IsCopy(&e) {
			break
		}
		mark, ok := readReset(e)
		resumed := ok && mark.Resumed
		if resumed && t.Started.IsZero() {
			t.Started = e.Time
		}
		if (resumed || isUserMessage(e)) && t.Interaction.IsZero() {
			t.Interaction = e.Time
		}
	}
	if n := len(path.Entries); n > 0 {
		t.Updated = path.Entries[n-1].Time
	}
	if t.Started.IsZero() {
		t.Started, err = g.createdAt(ctx, id)
	}
	return t, err
}

func isUserMessage(e firn.Entry) bool {
	m, ok := e.Body.(*firn.Message)
	return ok && m.Role == firn.RoleUser && !byMachine(e)
}

// createdAt returns the time of a session's first entry.
func (g *keyTable) createdAt(ctx context.Context, id firn.ID) (time.Time, error) {
	for rec, err := range g.Store.Read(ctx, id, store.Start) {
		if err != nil {
			return time.Time{}, err
		}
		entry, err := rec.Entry()
		if err != nil {
			return time.Time{}, nil // unknown
		}
		return entry.Time, nil
	}
	return time.Time{}, nil
}

// CanonicalKey returns the canonical form of a key.
func (g *keyTable) CanonicalKey(key string) (string, error) {
	k, err := g.canonical(key)
	if err != nil {
		return "", err
	}
	return k.String(), nil
}
