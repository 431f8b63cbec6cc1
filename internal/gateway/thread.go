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

// sessionOf returns the session of a message's key, creating it if the key is unbound. The
// session of a new thread starts with the history of the conversation that contains it.
func (g *Gateway) sessionOf(ctx context.Context, setup *Setup, r route.Route, subject string) (firn.ID, error) {
	if setup.ThreadHistory > 0 && !r.Parent.IsZero() {
		if id, err := g.startThread(ctx, setup, r, subject); err != nil || id != "" {
			return id, err
		}
	}
	return store.LoadOrCreateIn(ctx, g.Store, r.Key.String(), g.workspaceOf(r.Key.Agent()))
}

// startThread creates the session of a thread's key as a copy of the live part of its
// parent conversation. It returns "" if the key has a session, or if there is nothing to
// copy. The caller holds the key's lock.
func (g *Gateway) startThread(ctx context.Context, setup *Setup, r route.Route, subject string) (firn.ID, error) {
	if bound, err := g.keyHolder(ctx, r.Key.String()); err != nil || bound != "" {
		return "", err
	}
	parent, err := g.keyHolder(ctx, r.Parent.String())
	if err != nil || parent == "" {
		return "", err
	}
	path, err := g.threadHistory(ctx, setup, r, parent)
	if err != nil { // the message is more important than the history
		g.Log.Warn("a thread starts without the history of its conversation", "key", r.Key, "parent", parent, "error", err)
		return "", nil
	}
	if len(path.Entries) == 0 {
		return "", nil
	}
	header, err := g.forkHeader(ctx, parent, r.Key.String())
	if err != nil {
		return "", err
	}
	var title []firn.Entry
	if subject == "" || r.ChatType == route.ChatDirect { // else it is titled after the subject
		if title, err = g.threadTitle(ctx, parent); err != nil {
			return "", err
		}
	}
	header.Session = firn.NewID()
	if err := g.copyThread(ctx, parent, path, header, title); err != nil {
		return "", err
	}
	return g.claimKey(ctx, header.Key, header.Session)
}

// threadHistory returns the part of a conversation that a thread in it starts with. It is
// empty if the asker may not read the conversation, or if it is removed or too large.
func (g *Gateway) threadHistory(ctx context.Context, setup *Setup, r route.Route, parent firn.ID) (window.Path, error) {
	var none window.Path
	header, err := g.header(ctx, parent)
	if err != nil {
		return none, ignoreGone(err)
	}
	bounds, err := g.boundsIn(ctx, askerOf(ctx).outside(r.Key), r.Key.String())
	if err != nil {
		return none, err
	}
	if !bounds.Admits(r.Parent.Agent(), r.Parent.String()) || !bounds.Admits(cmp.Or(header.Agent, setup.Default), header.Key) {
		return none, nil
	}
	if away, err := g.removed(ctx, parent); err != nil || away {
		return none, ignoreGone(err)
	}
	path, err := g.Path(ctx, parent)
	if err != nil {
		return none, ignoreGone(err)
	}
	if g.running(parent) || agent.Unfinished(path) {
		path.Entries = withoutOpenTurn(path.Entries)
	}
	if !slices.ContainsFunc(path.Entries, isSent) || tokensOf(path.Entries) > setup.ThreadHistory {
		return none, nil
	}
	return path, nil
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

// threadTitle returns an automatic title derived from the parent conversation.
func (g *Gateway) threadTitle(ctx context.Context, parent firn.ID) ([]firn.Entry, error) {
	info, err := g.Info(ctx, parent)
	if err != nil {
		return nil, err
	}
	name := "(thread in " + view.Preview(cmp.Or(info.Title, info.Prompt, string(parent)), view.PreviewRunes) + ")"
	return []firn.Entry{firn.NewEntry(&firn.Title{Name: name, Source: firn.SourceAuto})}, nil
}

// copyThread copies a live part into a new session. Like a fork it keeps IDs and times and
// names its origin. Hidden entries and labels are not copied.
func (g *Gateway) copyThread(ctx context.Context, parent firn.ID, path window.Path, header firn.Header, title []firn.Entry) error {
	c := &copier{
		g: g, from: parent, point: path.Entries[len(path.Entries)-1].ID, ids: make(map[firn.EntryID]bool),
		copied: make(map[firn.EntryID]bool), replacedBy: make(map[firn.EntryID]firn.EntryID),
	}
	for _, e := range path.Entries {
		c.ids[e.ID] = true
	}
	c.start(header)
	first := firn.EntryID("")
	for _, e := range path.Entries {
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
