package serve

import (
	"cmp"
	"context"
	"slices"
	"time"

	"firn"
	"firn/agent"
	"firn/internal/prose"
	"firn/store"
	"firn/tool"
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
func (n *notebook) search(ctx context.Context, query string, limit int) ([]tool.Hit, error) {
	dir, err := n.open()
	if err != nil {
		return nil, err
	}
	notes, err := tool.SearchNotes(dir)(ctx, query, limit)
	if err != nil {
		return nil, err
	}
	said, err := n.scan(ctx, query, limit)
	if err != nil {
		return nil, err
	}
	// Half for each, unless one needs less.
	most := min(len(notes), max(limit-len(said), (limit+1)/2))
	return append(notes[:most:most], said[:min(len(said), limit-most)]...), nil
}

// found is a message that has some of the words.
type found struct {
	tool.Hit
	score float64
}

// scan looks for messages that have many of the words, the best first and of
// equals the latest.
func (n *notebook) scan(ctx context.Context, query string, limit int) ([]tool.Hit, error) {
	words := prose.Words(query)
	if len(words) == 0 {
		return nil, nil
	}
	asking, _ := agent.SessionOf(ctx)
	var all []found
	left := searchEntries
	for info, err := range n.staff.store.List(ctx, store.Query{Agent: n.agent, Limit: searchSessions}) {
		if err != nil {
			return nil, err
		}
		if left <= 0 {
			break
		}
		hits, read, err := n.scanSession(ctx, info, words, min(left, searchEach), info.ID == asking)
		if err != nil {
			return nil, err
		}
		left -= read
		all = append(all, hits...)
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.Time.Compare(a.Time))
	})
	hits := make([]tool.Hit, min(limit, len(all)))
	for i := range hits {
		hits[i] = all[i].Hit
	}
	return hits, nil
}

// scanSession looks through the end of one session. Of a session that is
// asking, the question itself is not an answer.
func (n *notebook) scanSession(ctx context.Context, info store.Info, words []string, most int, asking bool) (hits []found, read int, err error) {
	for rec, err := range n.staff.store.ReadBack(ctx, info.ID, store.End) {
		if ctx.Err() != nil {
			return nil, read, context.Cause(ctx)
		}
		if err != nil {
			return hits, read, nil // it may be damaged or just gone; the others count
		}
		if read++; read > most {
			break
		}
		if rec.Gap != nil || rec.Glance.Kind != firn.KindMessage {
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			continue
		}
		m, ok := e.Body.(*firn.Message)
		if !ok || m.Role != firn.RoleUser && m.Role != firn.RoleAssistant {
			continue // what tools found is no source of its own
		}
		if asking {
			asking = m.Role != firn.RoleUser
			continue
		}
		if score, at := prose.Rate(m.Text(), words); score > 0 {
			hits = append(hits, found{tool.Hit{
				Source: sourceOf(info), Where: string(m.Role) + " " + string(e.ID), Text: prose.Around(m.Text(), at, snippet), Time: timeOf(e, m),
			}, score})
		}
	}
	return hits, read, nil
}

func sourceOf(info store.Info) string {
	title := cmp.Or(info.Title, info.Prompt)
	if title == "" {
		return "session " + prose.Short(info.ID)
	}
	return "session " + prose.Short(info.ID) + " “" + prose.OneLine(title, 60) + "”"
}

func timeOf(e firn.Entry, m *firn.Message) time.Time {
	if m.Time.IsZero() {
		return e.Time
	}
	return m.Time
}
