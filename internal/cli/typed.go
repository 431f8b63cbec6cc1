package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"firn"
	"firn/client"
	"firn/internal/line"
	"firn/internal/prose"
	"firn/internal/vfs"
	"firn/wire"
)

// The gateway takes what is erased out of the history of its own home. Who asks it from
// another machine may have typed it there: what follows looks in the home of the command.

// typedIn collects what may have been typed of a session, or of some of its
// entries. Of one that cannot be read, as in the bin, nothing is known.
func typedIn(ctx context.Context, c *client.Client, id firn.ID, entries []firn.EntryID) (line.Typed, error) {
	var all line.Typed
	for e, err := range c.Entries(ctx, id, client.EntryQuery{View: wire.ViewDisk}) {
		if errors.Is(err, firn.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		l, ok := prose.ReadLine(e.Line)
		if !ok || len(entries) > 0 && !slices.Contains(entries, l.ID) {
			continue
		}
		if l.Message != nil && l.Message.Role == "user" {
			all.Add(l.Message.Text())
		}
		all.Add(l.Name)
		all.Add(l.Label)
		if l.Custom == firn.TagsType {
			var tags struct {
				Data struct {
					Tags []string `json:"tags"`
				} `json:"data"`
			}
			_ = json.Unmarshal(e.Line, &tags) // what is odd was not typed
			for _, tag := range tags.Data.Tags {
				all.Add(tag)
			}
		}
	}
	return all, nil
}

// eraseTyped takes what is to be erased out of the history of the terminal, and
// returns how many lines went.
func (p *program) eraseTyped(t line.Typed) (int, error) {
	home, err := p.homeDir()
	if err != nil || len(t) == 0 {
		return 0, err
	}
	n, err := line.EraseHistory(vfs.OS{}, line.HistoryPath(home), t.Has)
	if err != nil {
		err = fmt.Errorf("nothing was erased yet: %w", err)
	}
	return n, err
}
