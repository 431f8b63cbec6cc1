package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"firn"
	"firn/client"
	"firn/internal/line"
	"firn/internal/prose"
	"firn/internal/vfs"
	"firn/wire"
)

// typed is what somebody may have typed of what is to be erased: messages, titles,
// labels and tags, each on one line. It is looked for in the history of the
// terminal, which is not the gateway's but of this home.
type typed []string

// typedIn collects what may have been typed of a session, or of some of its
// entries. Of one that cannot be read, as in the bin, nothing is known.
func typedIn(ctx context.Context, c *client.Client, id firn.ID, entries []firn.EntryID) (typed, error) {
	var all typed
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
			all.add(l.Message.Text())
		}
		all.add(l.Name)
		all.add(l.Label)
		if l.Custom == firn.TagsType {
			var tags struct {
				Data struct {
					Tags []string `json:"tags"`
				} `json:"data"`
			}
			_ = json.Unmarshal(e.Line, &tags) // what is odd was not typed
			for _, tag := range tags.Data.Tags {
				all.add(tag)
			}
		}
	}
	return all, nil
}

func (t *typed) add(text string) {
	if text = strings.Join(strings.Fields(text), " "); text != "" {
		*t = append(*t, text)
	}
}

// telling is how long a text must be for a line to be taken for the same because
// one is a part of the other.
const telling = 5

// has reports whether a line that was typed is something of it, a part of it, or
// has it in it, as a command has.
func (t typed) has(line string) bool {
	line = strings.Join(strings.Fields(line), " ")
	return slices.ContainsFunc(t, func(text string) bool {
		return line == text || len(text) >= telling && strings.Contains(line, text) || len(line) >= telling && strings.Contains(text, line)
	})
}

// eraseTyped takes what is to be erased out of the history of the terminal, and
// returns how many lines went.
func (p *program) eraseTyped(t typed) (int, error) {
	home, err := p.homeDir()
	if err != nil || len(t) == 0 {
		return 0, err
	}
	n, err := line.EraseHistory(vfs.OS{}, filepath.Join(home, historyFile), t.has)
	if err != nil {
		err = fmt.Errorf("nothing was erased yet: %w", err)
	}
	return n, err
}
