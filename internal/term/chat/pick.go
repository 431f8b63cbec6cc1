package chat

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"unicode"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
	"firn.dev/internal/term/match"
	"firn.dev/wire"
)

const (
	// contentHits is the number of search hits that are added to the matches.
	contentHits = 40
	// minContent is the length of a text for which contents are searched.
	minContent = 3
)

// sessionPicker lets the user choose a session by title, first message, directory and
// content: of the project first, and with Tab of all.
type sessionPicker struct {
	c *chat
	// agent limits the choice to the sessions of an agent; empty means all.
	agent string

	mu sync.Mutex
	// lists are the latest sessions of the project and of all; nil if not loaded.
	lists [2][]wire.Session
	// known are all sessions that were shown, and hits the passages that matched.
	known map[firn.ID]wire.Session
	hits  map[firn.ID]string
}

// pick shows the picker. It returns false if no session was chosen.
func (p *sessionPicker) pick(ctx context.Context) (wire.Session, bool) {
	p.known, p.hits = make(map[firn.ID]wire.Session), make(map[firn.ID]string)
	f := line.Finder{Title: "Resume", Find: p.find, Preview: p.preview, Wide: "all sessions", Selected: string(p.c.id)}
	if p.c.o.Project != "" {
		f.Narrow = "this project"
	}
	id, ok := p.c.term.PickFrom(ctx, f)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[firn.ID(id)], ok
}

// find shows the sessions that match a text: first of the latest ones, then with those that
// the gateway finds.
func (p *sessionPicker) find(ctx context.Context, text string, wide bool, show func([]line.FoundRow)) {
	all, err := p.list(ctx, wide)
	if err != nil {
		return
	}
	p.mu.Lock()
	clear(p.hits) // of another text
	p.mu.Unlock()
	found := match.Sessions(all, text)
	show(p.rows(found))
	if len([]rune(strings.TrimSpace(text))) < minContent {
		return
	}
	show(p.rows(match.AppendNew(found, p.search(ctx, text, wide))))
}

// isForeign reports whether a session is of another tool and was not continued by firn.
func isForeign(s wire.Session) bool { return s.Source != "" && s.Source != "firn" }

// query returns the query for a scope.
func (p *sessionPicker) query(wide bool) client.Query {
	q := client.Query{Agent: p.agent}
	if !wide {
		q.Under = p.c.o.Project
	}
	return q
}

// list returns the latest sessions of a scope.
func (p *sessionPicker) list(ctx context.Context, wide bool) ([]wire.Session, error) {
	scope := 0
	if wide {
		scope = 1
	}
	p.mu.Lock()
	all := p.lists[scope]
	p.mu.Unlock()
	if all != nil {
		return all, nil
	}
	q := p.query(wide)
	q.Limit = match.Latest
	page, err := p.c.client.SessionsPage(ctx, q)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists[scope] = page.Items
	return page.Items, nil
}

// search returns sessions that the gateway finds by a text of their title, first message or
// content. Errors are ignored: the other matches are shown.
func (p *sessionPicker) search(ctx context.Context, text string, wide bool) []wire.Session {
	q := p.query(wide)
	q.Text, q.Limit = text, contentHits
	page, _ := p.c.client.SessionsPage(ctx, q)
	all := page.Items
	none := 0
	hits, err := p.c.client.Search(ctx, wire.SearchQuery{Query: prefixQuery(text), Agent: p.agent, Limit: contentHits, Before: &none, After: &none})
	if err != nil {
		return all
	}
	for _, h := range hits.Items {
		if !wide && !isBelow(h.CWD, p.c.o.Project) {
			continue
		}
		p.mu.Lock()
		p.hits[h.Session] = h.Snippet
		p.mu.Unlock()
		all = append(all, wire.Session{ID: h.Session, Agent: h.Agent, Key: h.Key, Title: h.Title, CWD: h.CWD, Source: h.Source, Updated: h.Time})
	}
	return all
}

// prefixQuery returns the query for a text that is still being typed: each word, or words that
// begin with it. A text with other characters than letters and digits, such as quotes or
// filters, is a query already.
func prefixQuery(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > maxPrefixes {
		return text
	}
	for i, w := range words {
		other := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
		switch {
		case strings.ContainsFunc(w, other), w == "AND", w == "OR", w == "NOT":
			return text
		case len([]rune(w)) >= minPrefix:
			words[i] = "(" + w + " OR " + w + "*)"
		}
	}
	return strings.Join(words, " ")
}

const (
	// minPrefix is the length of a word whose continuations are searched too, and maxPrefixes
	// the number of words of a text for which that is done.
	minPrefix   = 2
	maxPrefixes = 8
)

// rows formats sessions.
func (p *sessionPicker) rows(sessions []wire.Session) []line.FoundRow {
	cells := make([][]string, len(sessions))
	p.mu.Lock()
	for i, s := range sessions {
		if _, known := p.known[s.ID]; !known {
			p.known[s.ID] = s
		}
		place := Place(s, p.c.o.User, 28)
		if isForeign(s) {
			place = prose.OneLine(s.Source, 28)
		}
		cells[i] = []string{prose.OneLine(cmp.Or(s.Title, s.Prompt, string(s.ID)), 40), prose.Ago(s.Updated, p.c.now()), place}
	}
	p.mu.Unlock()
	rows := make([]line.FoundRow, len(sessions))
	for i, text := range prose.Columns(cells, "lll") {
		rows[i] = line.FoundRow{ID: string(sessions[i].ID), Text: text}
	}
	return rows
}

// preview returns the first message of a session, the passage that matched, and its last
// exchange.
func (p *sessionPicker) preview(ctx context.Context, id string) []string {
	p.mu.Lock()
	s, hit := p.known[firn.ID(id)], p.hits[firn.ID(id)]
	p.mu.Unlock()
	var lines []string
	if s.Prompt != "" {
		lines = append(lines, "  first: "+prose.OneLine(s.Prompt, 200))
	}
	if hit != "" {
		lines = append(lines, "  match: "+prose.OneLine(hit, 200))
	}
	recent, err := recentOf(ctx, p.c.client, s.ID, previewEntries)
	if err != nil {
		return append(lines, "  "+prose.OneLine(err.Error(), 200))
	}
	return append(lines, exchanges(recent, 1)...)
}

// previewEntries is the number of entries that are searched for the last exchange.
const previewEntries = 12

// isBelow reports whether a directory is root or below it.
func isBelow(dir, root string) bool {
	rest, ok := strings.CutPrefix(dir, strings.TrimRight(root, `/\`))
	return ok && (rest == "" || strings.ContainsAny(rest[:1], `/\`))
}
