package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/history"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// The gateway removes erased text from the input history of its own home. A remote user may
// have typed the text on another machine, so the functions below do the same in the local
// home.

// typedIn collects the text of a session, or of some entries, that may have been typed. It
// is empty for sessions that cannot be read, such as those in the trash bin. A whole session can
// be erased even if reading it fails; unread is that error.
func typedIn(ctx context.Context, c *client.Client, id firn.ID, entries []firn.EntryID) (all history.Typed, unread, err error) {
	for e, err := range c.Entries(ctx, id, client.EntryQuery{View: wire.ViewDisk}) {
		switch {
		case err == nil:
		case errors.Is(err, firn.ErrNotFound):
			return nil, nil, nil
		case len(entries) > 0 || ctx.Err() != nil:
			return nil, nil, err
		default:
			return all, err, nil
		}
		l, ok := prose.ReadLine(e.Line)
		if ok && (len(entries) == 0 || slices.Contains(entries, l.ID)) {
			addTyped(&all, l, e.Line)
		}
	}
	return all, nil, nil
}

// addTyped adds the text of an entry that may have been typed: messages, including queued
// ones, names, labels and tags.
func addTyped(all *history.Typed, l prose.Line, raw json.RawMessage) {
	if l.Message != nil && l.Message.Role == "user" {
		all.Add(l.Message.Text())
	}
	all.Add(l.Name)
	all.Add(l.Label)
	if l.Custom != firn.TagsType && l.Custom != queuedType {
		return
	}
	var custom struct {
		Data struct {
			Tags []string `json:"tags"`
			Text string   `json:"text"`
		} `json:"data"`
	}
	_ = json.Unmarshal(raw, &custom) // malformed data was not typed
	all.Add(custom.Data.Text)
	for _, tag := range custom.Data.Tags {
		all.Add(tag)
	}
}

// queuedType is the type of the gateway's entries for queued messages.
const queuedType = "firn.queued"

// eraseTyped removes text from the input history, and returns the number of removed lines.
func (p chatCommands) eraseTyped(t history.Typed) (int, error) {
	home, err := p.homeDir()
	if err != nil || len(t) == 0 {
		return 0, err
	}
	n, err := history.Erase(sealfs.Home(home), history.Path(home), t.Has)
	if err != nil {
		err = fmt.Errorf("no part of the session was erased: %w", err)
	}
	return n, err
}
