package chat

import (
	"context"
	"strings"

	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// search searches the notes and all messages in the agent's sessions. Notes precede
// messages, each ordered by score.
func (c *chat) search(ctx context.Context, query string, limit int) ([]Hit, error) {
	var notes []Hit
	if c.o.Notes != nil {
		var err error
		if notes, err = c.o.Notes(ctx, c.name, query, limit); err != nil {
			return nil, err
		}
	}
	messages, err := c.searchMessages(ctx, query, limit)
	if err != nil {
		return nil, err
	}
	// Half for each, unless one has fewer.
	n := min(len(notes), max(limit-len(messages), (limit+1)/2))
	return append(notes[:n:n], messages[:min(len(messages), limit-n)]...), nil
}

// searchMessages searches the messages of sessions.
func (c *chat) searchMessages(ctx context.Context, query string, limit int) ([]Hit, error) {
	none := 0
	found, err := c.client.Search(ctx, wire.SearchQuery{Query: query, Agent: c.name, Limit: limit, Before: &none, After: &none})
	if err != nil {
		return nil, err
	}
	hits := make([]Hit, len(found.Items))
	for i, h := range found.Items {
		hits[i] = Hit{Source: sourceOf(h), Where: strings.Join(append([]string{h.Role, string(h.Entry)}, h.Marks...), " "), Text: h.Snippet, Time: h.Time}
	}
	return hits, nil
}

func sourceOf(h wire.Hit) string {
	if h.Title == "" {
		return "session " + prose.Short(h.Session)
	}
	return "session " + prose.Short(h.Session) + " “" + prose.OneLine(h.Title, 60) + "”"
}
