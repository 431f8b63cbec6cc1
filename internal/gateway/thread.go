package gateway

import (
	"cmp"
	"context"
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/window"
)

// threadStart is the first message of a thread: it creates the session of the thread's key
// as a copy of the live part of the conversation that contains the thread.
type threadStart struct {
	g       *sessionEditor
	setup   *Setup
	route   route.Route
	subject string
	// parent is the session of the conversation.
	parent firn.ID
}

// threadSession returns the session of a routed message, creating it if its key is unbound.
func (g *sessionEditor) threadSession(ctx context.Context, setup *Setup, r route.Route, subject string) (firn.ID, error) {
	return (&threadStart{g: g, setup: setup, route: r, subject: subject}).session(ctx)
}

// session returns the session of a message's key, creating it if the key is unbound.
func (t *threadStart) session(ctx context.Context) (firn.ID, error) {
	if t.setup.ThreadHistory > 0 && !t.route.Parent.IsZero() {
		if id, err := t.create(ctx); err != nil || id != "" {
			return id, err
		}
	}
	return store.LoadOrCreateIn(ctx, t.g.Store, t.route.Key.String(), t.g.workspaceOf(t.route.Key.Agent()))
}

// create creates the session of a thread. It returns "" if the key has a session, or if
// there is nothing to copy. The caller holds the key's lock.
func (t *threadStart) create(ctx context.Context) (firn.ID, error) {
	if bound, err := t.g.keyHolder(ctx, t.route.Key.String()); err != nil || bound != "" {
		return "", err
	}
	var err error
	if t.parent, err = t.g.keyHolder(ctx, t.route.Parent.String()); err != nil || t.parent == "" {
		return "", err
	}
	history, err := t.history(ctx)
	if err != nil { // the message is more important than the history
		t.g.Log.Warn("starting a thread without the history of its conversation", "key", t.route.Key, "parent", t.parent, "error", err)
		return "", nil
	}
	if len(history) == 0 {
		return "", nil
	}
	header, err := t.g.forkHeader(ctx, t.parent, t.route.Key.String())
	if err != nil {
		return "", err
	}
	title, err := t.title(ctx)
	if err != nil {
		return "", err
	}
	header.Session = firn.NewID()
	if err := t.copy(ctx, history, header, title); err != nil {
		return "", err
	}
	return claimKey(ctx, t.g, header.Key, header.Session)
}

// history returns the live part of the conversation. It is empty if the asker may not read
// the conversation, or if it is removed or too large.
func (t *threadStart) history(ctx context.Context) ([]firn.Entry, error) {
	header, err := t.g.header(ctx, t.parent)
	if err != nil {
		return nil, ignoreGone(err)
	}
	bounds, err := t.g.access.boundsIn(ctx, askerOf(ctx).outside(t.route.Key), t.route.Key.String())
	if err != nil {
		return nil, err
	}
	in := t.route.Parent
	if !bounds.Admits(in.Agent(), in.String()) || !bounds.Admits(cmp.Or(header.Agent, t.setup.Default), header.Key) {
		return nil, nil
	}
	if away, err := t.g.remover.removed(ctx, t.parent); err != nil || away {
		return nil, ignoreGone(err)
	}
	path, err := t.g.Path(ctx, t.parent)
	if err != nil {
		return nil, ignoreGone(err)
	}
	entries := path.Entries
	if t.g.lanes.running(t.parent) || agent.Unfinished(path) {
		entries = withoutOpenTurn(entries)
	}
	if !slices.ContainsFunc(entries, isSent) || tokensOf(entries) > t.setup.ThreadHistory {
		return nil, nil
	}
	return entries, nil
}

// isSent reports whether a model is sent an entry.
func isSent(e firn.Entry) bool {
	switch e.Body.(type) {
	case *firn.Message, *firn.CustomMessage, *firn.Compaction, *firn.BranchSummary:
		return true
	}
	return false
}

// tokensOf estimates the tokens of a live part.
func tokensOf(entries []firn.Entry) (n int64) {
	var counter window.Chars
	for i := range entries {
		switch b := entries[i].Body.(type) {
		case *firn.Message:
			n += counter.CountMessage(b)
		case *firn.CustomMessage:
			n += counter.CountMessage(&firn.Message{Role: firn.RoleUser, Parts: b.Parts})
		case *firn.BranchSummary:
			n += counter.CountText(b.Summary)
		case *firn.Compaction:
			n += counter.CountText(b.Summary)
		}
	}
	return n
}

// withoutOpenTurn returns the entries up to what a running turn has answered so far: its
// question is kept, its unfinished answer, its calls and their results are not.
func withoutOpenTurn(entries []firn.Entry) []firn.Entry {
	end := len(entries)
	for i, e := range slices.Backward(entries) {
		switch b := e.Body.(type) {
		case *firn.Message:
			if b.Role == firn.RoleAssistant && isComplete(b) {
				return entries[:end]
			}
			if b.Role == firn.RoleAssistant || b.Role == firn.RoleToolResult {
				end = i
			}
		case *firn.Custom:
			if b.Type == firn.DraftType {
				end = i
			}
		}
	}
	return entries[:end]
}

// isComplete reports whether an answer ends a turn.
func isComplete(m *firn.Message) bool {
	return m.StopReason != firn.StopError && m.StopReason != firn.StopAborted &&
		!slices.ContainsFunc(m.Parts, func(p firn.Part) bool { _, call := p.(firn.ToolCall); return call })
}

// title returns an automatic title derived from the conversation; none if the session will
// be titled after the subject.
func (t *threadStart) title(ctx context.Context) ([]firn.Entry, error) {
	if t.subject != "" && t.route.ChatType != route.ChatDirect {
		return nil, nil
	}
	info, err := t.g.Info(ctx, t.parent)
	if err != nil {
		return nil, err
	}
	name := "(thread in " + view.Preview(cmp.Or(info.Title, info.Prompt, string(t.parent)), view.PreviewRunes) + ")"
	return []firn.Entry{firn.NewEntry(&firn.Title{Name: name, Source: firn.SourceAuto})}, nil
}

// copy copies a live part into a new session. Like a fork it keeps IDs and times and names
// its origin. Hidden entries and labels are not copied.
func (t *threadStart) copy(ctx context.Context, history []firn.Entry, header firn.Header, title []firn.Entry) error {
	c := &copier{
		g: t.g, from: t.parent, point: history[len(history)-1].ID, ids: make(map[firn.EntryID]bool),
		copied: make(map[firn.EntryID]bool), replacedBy: make(map[firn.EntryID]firn.EntryID),
	}
	for _, e := range history {
		c.ids[e.ID] = true
	}
	c.start(header)
	first := firn.EntryID("")
	for _, e := range history {
		if b, ok := e.Body.(*firn.Compaction); ok && !c.ids[b.FirstKept] && first != "" {
			c.replacedBy[b.FirstKept] = first // it is hidden: what follows it is kept
		}
		if err := c.take(ctx, e, int(view.SizeOf(window.Path{Entries: []firn.Entry{e}}))); err != nil {
			return err
		}
		first = cmp.Or(first, c.last)
	}
	return c.finish(ctx, title)
}
