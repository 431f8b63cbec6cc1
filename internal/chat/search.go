package chat

import (
	"cmp"
	"context"
	"slices"

	"firn/client"
	"firn/internal/prose"
	"firn/wire"
)

// The bounds of a search. It reads the ends of the latest sessions, and so
// finds what was said lately; a search of all that was ever said needs the
// index, and comes with it.
const (
	searchSessions = 50
	searchEntries  = 2000
	// searchEach is how many entries of one session are read, so that a long one
	// does not use up all.
	searchEach = 400
	// snippet is how much is shown of what was found, in bytes.
	snippet = 400
)

// search looks in the notes and in what was said lately, in this session and
// others of the agent. The best of each come first, notes before talk.
func (c *chat) search(ctx context.Context, query string, limit int) ([]Hit, error) {
	var notes []Hit
	if c.o.Notes != nil {
		var err error
		if notes, err = c.o.Notes(ctx, c.name, query, limit); err != nil {
			return nil, err
		}
	}
	said, err := c.scan(ctx, query, limit)
	if err != nil {
		return nil, err
	}
	// Half for each, unless one needs less.
	n := min(len(notes), max(limit-len(said), (limit+1)/2))
	return append(notes[:n:n], said[:min(len(said), limit-n)]...), nil
}

// found is a message that has some of the words.
type found struct {
	Hit
	score float64
}

// scan looks for messages that have many of the words, the best first and of
// equals the latest.
func (c *chat) scan(ctx context.Context, query string, limit int) ([]Hit, error) {
	words := prose.Words(query)
	if len(words) == 0 {
		return nil, nil
	}
	var all []found
	left := searchEntries
	for s, err := range c.client.Sessions(ctx, client.Query{Agent: c.name, Limit: searchSessions}) {
		if err != nil {
			return nil, err
		}
		if left <= 0 {
			break
		}
		hits, read, err := c.scanSession(ctx, s, words, min(left, searchEach))
		if err != nil {
			return nil, err
		}
		left -= read
		all = append(all, hits...)
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.Time.Compare(a.Time))
	})
	hits := make([]Hit, min(limit, len(all)))
	for i := range hits {
		hits[i] = all[i].Hit
	}
	return hits, nil
}

// scanSession looks through the end of one session.
func (c *chat) scanSession(ctx context.Context, s wire.Session, words []string, most int) (hits []found, read int, err error) {
	for e, err := range c.client.Entries(ctx, s.ID, client.EntryQuery{Back: true, Limit: most}) {
		if ctx.Err() != nil {
			return nil, read, context.Cause(ctx)
		}
		if err != nil {
			return hits, read, nil // it may be damaged or just gone; the others count
		}
		read++
		l, ok := prose.ReadLine(e.Line)
		if !ok || l.Message == nil || l.Message.Role != "user" && l.Message.Role != "assistant" {
			continue // what tools found is no source of its own
		}
		text := l.Message.Text()
		if score, at := prose.Rate(text, words); score > 0 {
			hits = append(hits, found{Hit{Source: sourceOf(s), Where: l.Message.Role + " " + string(l.ID), Text: prose.Around(text, at, snippet), Time: l.Timestamp}, score})
		}
	}
	return hits, read, nil
}

func sourceOf(s wire.Session) string {
	title := cmp.Or(s.Title, s.Prompt)
	if title == "" {
		return "session " + prose.Short(s.ID)
	}
	return "session " + prose.Short(s.ID) + " “" + prose.OneLine(title, 60) + "”"
}
