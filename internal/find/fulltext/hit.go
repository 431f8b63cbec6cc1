package fulltext

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/internal/find/mask"
	"firn.dev/internal/find/search"
)

// cursor is the position where a page of results ended.
type cursor struct {
	// Query is a digest of the query, so that a cursor is not used with a different one.
	Query uint64 `json:"q"`
	// From is the number of hits on earlier pages. First is the id of the newest row to
	// include, so that later messages do not shift the pages.
	From  int   `json:"n"`
	First int64 `json:"t"`
}

func (c cursor) String() string {
	data, err := json.Marshal(c)
	if err != nil {
		return "" // cannot happen: numbers always marshal
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// maxHits limits the number of hits of a query over all pages.
const maxHits = 500

func parseCursor(text string, query uint64) (cursor, error) {
	c := cursor{Query: query}
	if text == "" {
		return c, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.Query != query || c.From < 0 || c.From > maxHits || c.First < 0 {
		return c, fmt.Errorf("search: %w: the cursor is not of an earlier answer to this query", firn.ErrInvalid)
	}
	return c, nil
}

// digest returns a hash that identifies a query.
func digest(q search.Query) uint64 {
	q.Cursor, q.Limit, q.Before, q.After, q.Owners = "", 0, nil, nil, nil
	data, err := json.Marshal(q)
	if err != nil {
		return 0
	}
	return hash(string(data))
}

// Search returns the hits of a query, best first. If the index is not up to date, Search
// waits briefly and then answers from the current state; the answer's State shows this.
func (x *Index) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	if q.Limit < 0 || q.Before != nil && *q.Before < 0 || q.After != nil && *q.After < 0 {
		return search.Answer{}, fmt.Errorf("search: %w: limits must not be negative", firn.ErrInvalid)
	}
	var at cursor
	if q.Literal == nil {
		var err error
		if at, err = parseCursor(q.Cursor, digest(q)); err != nil {
			return search.Answer{}, err
		}
	}
	if err := x.ready(ctx); err != nil {
		return search.Answer{}, err
	}
	for tries := 0; ; tries++ {
		answer, db, err := x.search(ctx, q, at)
		if ctx.Err() != nil || err == nil && (tries > 0 || x.compared(db)) {
			return answer, err
		}
		if err != nil && (!x.damaged(db, err) || tries > 0) {
			return search.Answer{}, err
		}
		x.request(func(d *due) { d.census = true }, true)
		if err := x.ready(ctx); err != nil {
			return search.Answer{}, err
		}
	}
}

// censusInterval is how long a census is valid. Changes by other processes, or to mirrors,
// are noticed by the next one.
const censusInterval = 15 * time.Second

// patience returns how long a search waits for running work. It is zero if a search has
// waited for that work before, or if a new index is being built next to the current one.
func (x *Index) patience() time.Duration {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.state.Rebuilding:
		return 0
	case w.began.IsZero():
		return x.opts.Patience
	}
	return x.opts.Patience - time.Since(w.began)
}

// ready waits briefly for the index to be up to date. Failures are only reported, since the
// current state can still be searched.
func (x *Index) ready(ctx context.Context) error {
	other := x.isOther() || x.hasNews(ctx)
	number := x.request(func(d *due) {
		d.census = d.census || other || x.opts.Clock().Sub(x.work.looked) > censusInterval
	}, true)
	if number == 0 {
		return fmt.Errorf("search: %w", firn.ErrClosed)
	}
	patience := x.patience()
	if patience <= 0 {
		return nil
	}
	if _, err := x.await(ctx, number, patience); err != nil && (ctx.Err() != nil || errors.Is(err, firn.ErrClosed)) {
		return err
	}
	return nil
}

func (x *Index) search(ctx context.Context, q search.Query, at cursor) (search.Answer, *database, error) {
	if q.Literal != nil {
		return searchLiteral(ctx, x, q)
	}
	db, done, err := x.use(ctx)
	if err != nil {
		return search.Answer{}, nil, err
	}
	defer done()
	f := newFinder(db, q, x.opts.Clock(), at.First)
	f.vector = x.embedding.queryVector(ctx, db, q)
	all, err := f.find(ctx)
	if err != nil {
		return search.Answer{}, db, err
	}
	if at.From == 0 && len(all) > 0 {
		at.First = slices.MinFunc(all, func(a, b *found) int { return cmp.Compare(a.id, b.id) }).id
	}
	t := &hitBuilder{x: x, f: f, rows: make(map[int64]*row), fates: make(map[int64]*fate)}
	limit := q.Limit
	if limit == 0 {
		limit = search.DefaultLimit
	}
	limit = min(limit, search.MaxLimit)
	groups, more, err := t.choose(ctx, all, at.From, limit)
	if err != nil {
		return search.Answer{}, db, err
	}
	answer := search.Answer{State: x.State()}
	if answer.Hits, err = t.buildHits(ctx, groups); err != nil {
		return search.Answer{}, db, err
	}
	if answer.Unread, err = unreadOf(ctx, db, q); err != nil {
		return search.Answer{}, db, err
	}
	answer.Unsearched = x.unsearched(q)
	if more {
		at.From += limit
		answer.Cursor = at.String()
	}
	return answer, db, nil
}

// hitBuilder turns rows into hits.
type hitBuilder struct {
	x *Index
	f *finder
	// mu guards the cached session data.
	mu    sync.Mutex
	rows  map[int64]*row
	fates map[int64]*fate
	// long includes as much text of every item as of the hit itself.
	long bool
}

// group is a hit and its copies.
type group struct {
	best   *found
	copies []*found
}

func (t *hitBuilder) row(ctx context.Context, id int64) (*row, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.rows[id]; ok {
		return r, nil
	}
	r, err := rowOf(ctx, t.f.db, id)
	if err != nil {
		return nil, err
	}
	t.rows[id] = r
	return r, nil
}

// choose groups copies and returns the groups of one page.
func (t *hitBuilder) choose(ctx context.Context, all []*found, from, limit int) ([]group, bool, error) {
	var groups []group
	for _, c := range all {
		r, err := t.row(ctx, c.session)
		if err != nil {
			return nil, false, err
		}
		if r == nil || slices.Contains(t.f.query.Except, r.sid) || t.f.query.Owners != nil && !t.f.query.Owners(r.agent, r.key) {
			continue // being read at the moment, or not visible to the caller
		}
		if t.f.query.Shown && t.fate(r).hides(c.n) {
			continue
		}
		i := slices.IndexFunc(groups, func(g group) bool {
			return g.best.session != c.session && search.IsCopy(g.best.passage(), c.passage())
		})
		if i >= 0 {
			if err := t.join(ctx, &groups[i], c, r); err != nil {
				return nil, false, err
			}
			continue
		}
		if len(groups) > from+limit || len(groups) > maxHits {
			break
		}
		groups = append(groups, group{best: c})
	}
	more := len(groups) > from+limit && from+limit < maxHits
	return groups[min(from, len(groups)):min(from+limit, len(groups))], more, nil
}

// join adds a copy to a group. Of a session and its forks, the original session is shown.
func (t *hitBuilder) join(ctx context.Context, g *group, c *found, r *row) error {
	best, err := t.row(ctx, g.best.session)
	if err != nil {
		return err
	}
	if best != nil && r.source == best.source && c.time == g.best.time && r.created < best.created {
		c, g.best = g.best, c
	}
	g.copies = append(g.copies, c)
	return nil
}

func (d *found) passage() search.Passage {
	return search.Passage{Role: d.role, Words: d.words.Words, Time: time.UnixMilli(d.time)}
}

// fate returns the state of the entries of a session.
func (t *hitBuilder) fate(r *row) *fate {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok := t.fates[r.id]
	if !ok {
		f = r.shape.fate(r.count)
		t.fates[r.id] = f
	}
	return f
}

// buildWorkers is the number of hits built in parallel.
const buildWorkers = 2

// buildHits turns groups into hits, in order.
func (t *hitBuilder) buildHits(ctx context.Context, groups []group) ([]search.Hit, error) {
	hits, reported, errs := make([]search.Hit, len(groups)), make([]bool, len(groups)), make([]error, len(groups))
	var next atomic.Int64
	var work sync.WaitGroup
	for range min(buildWorkers, len(groups)) {
		work.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(groups)); i = next.Add(1) - 1 {
				hits[i], reported[i], errs[i] = t.buildHit(ctx, groups[i])
			}
		})
	}
	work.Wait()
	all := make([]search.Hit, 0, len(groups))
	for i, hit := range hits {
		if reported[i] {
			all = append(all, hit)
		}
	}
	return all, firstError(errs)
}

// mostCopies limits the number of copies listed with a hit.
const mostCopies = 10

// buildHit returns a hit with its context. It returns false if the session changed since it
// was indexed.
func (t *hitBuilder) buildHit(ctx context.Context, g group) (search.Hit, bool, error) {
	r, err := t.row(ctx, g.best.session)
	if err != nil || r == nil {
		return search.Hit{}, false, err
	}
	c := g.best
	hit := search.Hit{
		Session: r.sid, Entry: c.entry, At: c.at, N: c.n, Agent: r.agent, Key: r.key, Source: r.source, Title: mask.Text(titleOf(r)), CWD: r.cwd,
		Role: c.role, Time: time.UnixMilli(c.time).UTC(), Score: c.score, Coverage: c.coverage, Relevance: c.relevance, Features: c.features, Marks: t.fate(r).marks(c.n, c.role),
	}
	hit.Parts = c.parts()
	if r.archived {
		hit.Marks = append(hit.Marks, search.MarkArchived)
	}
	for _, other := range g.copies[:min(len(g.copies), mostCopies)] {
		if or, err := t.row(ctx, other.session); err == nil && or != nil {
			hit.Copies = append(hit.Copies, search.Place{Session: or.sid, Entry: other.entry})
		}
	}
	items, err := t.window(ctx, r, c)
	if err != nil {
		return hit, false, err
	}
	if t.f.query.Shown {
		items = slices.DeleteFunc(items, func(d *found) bool { return t.fate(r).hides(d.n) })
	}
	texts, err := t.texts(ctx, r, items)
	if err != nil {
		return hit, false, err
	}
	for _, d := range items {
		entryText, ok := texts[placeOf(d)]
		if !ok {
			continue
		}
		item := search.Item{Entry: d.entry, At: d.at, N: d.n, Role: d.role, Tools: entryText.tools, Time: time.UnixMilli(d.time).UTC(), Hit: d.id == c.id}
		if item.Hit {
			hit.Snippet, hit.Matches = search.Excerpt(entryText.text, t.f.terms, search.MaxSnippet, mask.Text)
			hit.Tools, item.Text = entryText.tools, hit.Snippet
		} else {
			most := search.MaxItem
			if t.long {
				most = search.MaxSnippet
			}
			item.Text, _ = search.Excerpt(entryText.text, nil, most, mask.Text)
		}
		hit.Window = append(hit.Window, item)
	}
	return hit, hit.Snippet != "", nil
}

func titleOf(r *row) string {
	if r.title.Name != "" {
		return r.title.Name
	}
	title, _, _ := strings.Cut(r.prompt, "\n")
	return title
}

// placed is the position of a text in its session.
type placed struct {
	entry firn.EntryID
	space space
}

func placeOf(d *found) placed { return placed{d.entry, d.space} }
