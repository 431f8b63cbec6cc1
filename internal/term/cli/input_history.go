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
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// The gateway takes what is erased out of the history of its own home. Who asks it from
// another machine may have typed it there: what follows looks in the home of the command.

// typedIn collects what may have been typed of a session, or of some of its
// entries. Of one that cannot be read, as in the bin, nothing is known. A whole session
// can be erased also if it breaks off: unread is then why.
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

// addTyped adds what may have been typed of an entry: what was said, also if it only
// waited, names, labels and tags.
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
	_ = json.Unmarshal(raw, &custom) // what is odd was not typed
	all.Add(custom.Data.Text)
	for _, tag := range custom.Data.Tags {
		all.Add(tag)
	}
}

// queuedType is what entries are called by the gateway that hold a message while it
// waits.
const queuedType = "firn.queued"

// eraseTyped takes what is to be erased out of the history of the terminal, and
// returns how many lines went.
func (p *program) eraseTyped(t history.Typed) (int, error) {
	home, err := p.homeDir()
	if err != nil || len(t) == 0 {
		return 0, err
	}
	n, err := history.Erase(vfs.OS{}, history.Path(home), t.Has)
	if err != nil {
		err = fmt.Errorf("nothing of the session was erased yet: %w", err)
	}
	return n, err
}
