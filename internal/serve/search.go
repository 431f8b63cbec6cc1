package serve

import (
	"cmp"
	"context"
	"slices"
	"time"

	"firn"
	"firn/internal/prose"
	"firn/memory"
	"firn/store"
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

// past finds what was said in sessions of the agent, with a person if there is
// one, but for the session that asks.
func (n *notebook) past(at place, asking firn.ID) memory.Search {
	if n.staff.past != nil {
		return n.staff.past(n.agent, at.person, asking)
	}
	return func(ctx context.Context, query string, limit int) ([]memory.Past, error) {
		return n.scan(ctx, query, at, asking, limit)
	}
}

// found is a message that has some of the words.
type found struct {
	memory.Past
	score float64
}

// scan looks for messages that have many of the words, the best first and of
// equals the latest.
func (n *notebook) scan(ctx context.Context, query string, at place, asking firn.ID, limit int) ([]memory.Past, error) {
	words := prose.Words(query)
	if len(words) == 0 {
		return nil, nil
	}
	var all []found
	left := searchEntries
	for info, err := range n.staff.store.List(ctx, store.Query{Agent: n.agent, Limit: searchSessions}) {
		if err != nil {
			return nil, err
		}
		if left <= 0 {
			break
		}
		if person(info.Key) != at.person {
			continue // what others said is theirs
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
	hits := make([]memory.Past, min(limit, len(all)))
	for i := range hits {
		hits[i] = all[i].Past
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
			hits = append(hits, found{memory.Past{
				Session: info.ID, Entry: e.ID, Title: cmp.Or(info.Title, prose.OneLine(info.Prompt, 60)), Text: string(m.Role) + ": " + prose.Around(m.Text(), at, snippet), Time: timeOf(e, m),
			}, score})
		}
	}
	return hits, read, nil
}

func timeOf(e firn.Entry, m *firn.Message) time.Time {
	if m.Time.IsZero() {
		return e.Time
	}
	return m.Time
}
