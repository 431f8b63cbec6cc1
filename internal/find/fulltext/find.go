package fulltext

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// Limits of a search. Matching is cheap, so many rows are matched per word, newest first.
// The most promising are ranked by their text, and the best of those again by their
// neighbors.
const (
	mostFound   = 1000
	mostRanked  = 400
	mostBeside  = 40
	besideReach = 4
)

// finder answers one query from the index.
type finder struct {
	db    *database
	query search.Query
	terms []search.Term
	// low and high bound the row IDs and so the times.
	low, high int64
	now       time.Time
	// calendar counts the rows of the space being searched.
	calendar calendar
	// loose are the terms left out of FTS expressions. Rows are checked for them after
	// loading.
	loose []search.Term
	// unsure is true if the matched rows must be checked against the query.
	unsure bool
	// vector is that of a question, nil if there is none; similar are the rows with similar
	// ones.
	vector  []float32
	similar map[int64]similarRow
	// lower is true if rows of programs rank lower.
	lower bool
}

// found is a row that may be a hit.
type found struct {
	doc
	// has is a bit set of the terms known to be in the row; hint is the resulting
	// preliminary score.
	has  uint64
	hint float64

	// words is the text of the row, once loaded.
	words           search.Text
	counts          search.Counts
	score, coverage float64
	relevance       float64
	features        search.Features
	// lowered is subtracted from the score of a row that a program wrote.
	lowered float64
	// near holds the neighboring rows and the row itself, if they were loaded.
	near []*found
}

// newFinder prepares a query. first is the lowest row id to include: rows with lower ids
// were added after the first page was served.
func newFinder(db *database, q search.Query, now time.Time, first int64) *finder {
	f := &finder{db: db, query: q, now: now, low: first, high: maxNumber}
	if q.Want != nil {
		f.terms = q.Want.Positive()
	}
	if !q.Since.IsZero() {
		f.high = firstNumber(clampTime(q.Since)-1) - 1
	}
	if !q.Until.IsZero() {
		f.low = max(f.low, firstNumber(clampTime(q.Until)-1))
	}
	return f
}

// find returns the matching rows, best first.
func (f *finder) find(ctx context.Context) ([]*found, error) {
	filters, ok, err := f.filters(ctx)
	if err != nil || !ok || f.low > f.high {
		return nil, err
	}
	var all []*found
	for _, s := range f.spaces() {
		f.loose, f.unsure = nil, false
		some, err := f.findIn(ctx, s, filters)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b *found) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	return all, nil
}

// spaces returns the spaces to search. A filter for the tool role includes the tool output.
func (f *finder) spaces() []space {
	in := f.query.In
	if in == "" && slices.Contains(f.query.Roles, search.RoleTool) {
		in = search.InAll
	}
	switch in {
	case search.InTools:
		return []space{tools}
	case search.InAll:
		return []space{talk, tools}
	}
	return []space{talk}
}

// findIn finds and ranks the rows of one space.
func (f *finder) findIn(ctx context.Context, s space, filters []string) ([]*found, error) {
	var err error
	if f.calendar, err = f.readCalendar(ctx, s); err != nil {
		return nil, err
	}
	if f.lower, err = f.lowers(ctx, s); err != nil {
		return nil, err
	}
	pool, frequency, err := f.gather(ctx, s, filters)
	most, question := mostRanked, s == talk && len(f.terms) > 0 && f.query.Want.IsQuestion()
	if err != nil || len(pool) == 0 && !question {
		return nil, err
	}
	docs, words := f.calendar.since(f.high)
	ranker := search.NewRanker(f.terms, frequency, docs, words/max(docs, 1), f.now)
	f.addHints(ranker, pool)
	if question {
		most = mostAnswers
		if pool, err = f.withRelated(ctx, ranker, pool, filters); err != nil {
			return nil, err
		}
		if pool, err = f.withSimilar(ctx, pool, filters); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(pool, func(a, b *found) int {
		return cmp.Or(cmp.Compare(b.hint, a.hint), cmp.Compare(asNumber(a.machine), asNumber(b.machine)), cmp.Compare(a.id, b.id))
	})
	pool = pool[:min(len(pool), most)]
	if pool, err = f.load(ctx, pool); err != nil {
		return nil, err
	}
	if f.unsure {
		pool = slices.DeleteFunc(pool, func(c *found) bool { return !f.query.Want.Holds(c.words) })
	}
	for _, c := range pool {
		c.counts = ranker.Count(c.words)
		c.score, c.coverage = ranker.Score(search.Weight(c.role, c.calls), c.counts, nil, time.UnixMilli(c.time))
	}
	if len(f.terms) == 0 || s != talk {
		f.lowerMachines(pool)
		return pool, nil
	}
	if question {
		pool, err = f.rankQuestion(ctx, ranker, pool)
	} else {
		err = f.rankWithNeighbors(ctx, ranker, pool)
		applyThemes(ranker, pool)
	}
	for _, c := range pool {
		score := c.score
		if question {
			score = c.features[search.FeatureWindow]
		}
		c.relevance = ranker.Relevance(c.coverage, score, docs)
	}
	f.lowerMachines(pool)
	return pool, err
}

// addHints adds the preliminary scores of rows.
func (f *finder) addHints(ranker *search.Ranker, pool []*found) {
	for _, c := range pool {
		for i := range f.terms {
			if c.has&(1<<i) != 0 {
				c.hint += ranker.Rare(i)
			}
		}
		if c.machine {
			c.hint *= search.MachinePrior
		}
	}
}

const docColumns = "docs.id, docs.session, docs.n, docs.at, docs.entry, docs.space, docs.role, docs.calls, docs.f glob '" + machineFacet + " *', docs.time, docs.words, docs.asks, docs.t, docs.x"

// placeColumns is docColumns without the words.
const placeColumns = "docs.id, docs.session, docs.n, docs.at, docs.entry, docs.space, docs.role, docs.calls, docs.f glob '" + machineFacet + " *', docs.time, docs.words, docs.asks, '', ''"

func scanDoc(scan func(...any) error, d *found) error {
	var at int64
	var entry, role string
	err := scan(&d.id, &d.session, &d.n, &at, &entry, &d.space, &role, &d.calls, &d.machine, &d.time, &d.doc.words, &d.asks, &d.t, &d.x)
	d.at, d.entry, d.role = firn.Pos(at), firn.EntryID(entry), search.Role(role)
	return err
}

// text returns the words of a row.
func (d *found) text() search.Text {
	return search.Text{Words: strings.Fields(d.t), Extra: strings.Fields(d.x)}
}

// load reads the rows. Rows that were deleted in the meantime are left out.
func (f *finder) load(ctx context.Context, pool []*found) ([]*found, error) {
	byID := make(map[int64]*found, len(pool))
	ids := make([]int64, len(pool))
	for i, c := range pool {
		byID[c.id], ids[i] = c, c.id
	}
	loaded := make([]*found, 0, len(pool))
	err := f.rows(ctx, "select "+docColumns+" from json_each(?) j join docs on docs.id = j.value", []any{list(ids)}, func(d *found) {
		c := byID[d.id]
		d.has, d.hint, d.words = c.has, c.hint, d.text()
		loaded = append(loaded, d)
	})
	return loaded, err
}

// rows runs a query and calls each for every row.
func (f *finder) rows(ctx context.Context, query string, args []any, each func(*found)) error {
	rows, err := f.db.query(ctx, query, args...)
	if err != nil {
		return explain("search", err)
	}
	defer rows.Close()
	for rows.Next() {
		d := &found{}
		if err := scanDoc(rows.Scan, d); err != nil {
			return explain("search", err)
		}
		each(d)
	}
	return explain("search", rows.Err())
}

// rankWithNeighbors ranks the best rows again, taking their neighbors into account.
func (f *finder) rankWithNeighbors(ctx context.Context, ranker *search.Ranker, pool []*found) error {
	slices.SortFunc(pool, func(a, b *found) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	best := pool[:min(len(pool), mostBeside)]
	if err := f.loadNeighbors(ctx, best); err != nil {
		return err
	}
	for _, c := range best {
		at := slices.IndexFunc(c.near, func(d *found) bool { return d.id == c.id })
		var beside []search.Neighbor
		for j, d := range c.near {
			if apart := max(at-j, j-at); at >= 0 && apart >= 1 && apart <= 2 {
				beside = append(beside, search.Neighbor{Counts: ranker.Count(d.text()), Distance: apart})
			}
		}
		c.score, c.coverage = ranker.Score(search.Weight(c.role, c.calls), c.counts, beside, time.UnixMilli(c.time))
	}
	return nil
}

// applyThemes ranks rows again by the topic of their surroundings, as far as other matching
// rows reveal it.
func applyThemes(ranker *search.Ranker, pool []*found) {
	placed := make([]search.Placed, len(pool))
	for i, c := range pool {
		placed[i] = search.Placed{Counts: c.counts, Session: c.session, N: c.n, Title: c.role == search.RoleTitle}
	}
	for i, theme := range ranker.Themes(placed) {
		pool[i].score = search.WithTheme(pool[i].score, theme)
	}
}

// loadNeighbors reads the rows around each row of pool, and the row itself, in order.
// Titles have no place in that order and are skipped.
func (f *finder) loadNeighbors(ctx context.Context, pool []*found) error {
	if len(pool) == 0 {
		return nil
	}
	places := make([][2]int64, len(pool))
	for i, c := range pool {
		places[i] = [2]int64{c.session, int64(c.n)}
	}
	data, err := json.Marshal(places)
	if err != nil {
		return err
	}
	const query = `select j.key, ` + docColumns + ` from json_each(?) j join docs on docs.session = j.value ->> 0
		and docs.n between (j.value ->> 1) - ? and (j.value ->> 1) + ? and docs.space = 0`
	rows, err := f.db.query(ctx, query, string(data), besideReach, besideReach)
	if err != nil {
		return explain("search", err)
	}
	defer rows.Close()
	for rows.Next() {
		d, i := &found{}, 0
		if err := scanDoc(func(into ...any) error { return rows.Scan(append([]any{&i}, into...)...) }, d); err != nil {
			return explain("search", err)
		}
		if c := pool[i]; d.role != search.RoleTitle || d.id == c.id {
			c.near = append(c.near, d)
		}
	}
	for _, c := range pool { // sorted here, since SQLite would sort with the full text
		slices.SortFunc(c.near, func(a, b *found) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.id, b.id)) })
	}
	return explain("search", rows.Err())
}
