package fulltext

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"firn"
	"firn/internal/search"
)

// How much of the index a search looks at. Finding is cheap, so many are found
// of each word, the newest; of those the most promising are ranked by what they
// say, and the best of those by what stands beside them.
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
	// low and high bound the numbers of rows: their times.
	low, high int64
	now       time.Time
	// calendar counts the rows of the half that is looked in.
	calendar calendar
	// loose are the terms that are not looked for by the engine; who has them is
	// seen when it is read.
	loose []search.Term
	// unsure says that not all that is found need be what was asked for.
	unsure bool
}

// found is a row that may be a hit.
type found struct {
	doc
	// has are the terms that are known to be in it, as bits; hint is how
	// promising that makes it.
	has  uint64
	hint float64

	// words are those of the text, once it is read.
	words           search.Text
	counts          search.Counts
	score, coverage float64
	// near are the rows around it, and itself, if they were looked at.
	near []*found
}

// newFinder prepares a query. First is the least number of a row that counts:
// newer ones came after the first page.
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

// find finds the rows that fit, the best first.
func (f *finder) find(ctx context.Context) ([]*found, error) {
	filters, ok, err := f.filters(ctx)
	if err != nil || !ok || f.low > f.high {
		return nil, err
	}
	var all []*found
	for _, s := range f.spaces() {
		f.loose, f.unsure = nil, false
		some, err := f.in(ctx, s, filters)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b *found) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	return all, nil
}

// spaces are the halves of the index to look in. Who asks for what tools put
// out by its role means that half.
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

// in finds and ranks the rows of one half.
func (f *finder) in(ctx context.Context, s space, filters []string) ([]*found, error) {
	var err error
	if f.calendar, err = f.readCalendar(ctx, s); err != nil {
		return nil, err
	}
	pool, frequency, err := f.gather(ctx, s, filters)
	if err != nil || len(pool) == 0 {
		return nil, err
	}
	docs, words := f.calendar.since(f.high)
	ranker := search.NewRanker(f.terms, frequency, docs, words/max(docs, 1), f.now)
	for _, c := range pool {
		for i := range f.terms {
			if c.has&(1<<i) != 0 {
				c.hint += ranker.Rare(i)
			}
		}
	}
	slices.SortFunc(pool, func(a, b *found) int { return cmp.Or(cmp.Compare(b.hint, a.hint), cmp.Compare(a.id, b.id)) })
	pool = pool[:min(len(pool), mostRanked)]
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
	if len(f.terms) > 0 && s == talk {
		err = f.lookBeside(ctx, ranker, pool)
		themed(ranker, pool)
	}
	return pool, err
}

const docColumns = "docs.id, docs.session, docs.n, docs.at, docs.entry, docs.space, docs.role, docs.calls, docs.time, docs.words, docs.t, docs.x"

// placeColumns are docColumns without the words.
const placeColumns = "docs.id, docs.session, docs.n, docs.at, docs.entry, docs.space, docs.role, docs.calls, docs.time, docs.words, '', ''"

func scanDoc(scan func(...any) error, d *found) error {
	var at int64
	var entry, role string
	err := scan(&d.id, &d.session, &d.n, &at, &entry, &d.space, &role, &d.calls, &d.time, &d.doc.words, &d.t, &d.x)
	d.at, d.entry, d.role = firn.Pos(at), firn.EntryID(entry), search.Role(role)
	return err
}

// text is what a row says.
func (d *found) text() search.Text {
	return search.Text{Words: strings.Fields(d.t), Extra: strings.Fields(d.x)}
}

// load reads the rows. Those that went meanwhile are left out.
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

// rows reads rows.
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

// lookBeside ranks the best rows again with what stands beside them.
func (f *finder) lookBeside(ctx context.Context, ranker *search.Ranker, pool []*found) error {
	slices.SortFunc(pool, func(a, b *found) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	best := pool[:min(len(pool), mostBeside)]
	if err := f.look(ctx, best); err != nil {
		return err
	}
	for _, c := range best {
		at := slices.IndexFunc(c.near, func(d *found) bool { return d.id == c.id })
		var beside []search.Beside
		for j, d := range c.near {
			if apart := max(at-j, j-at); at >= 0 && apart >= 1 && apart <= 2 {
				beside = append(beside, search.Beside{Counts: ranker.Count(d.text()), Distance: apart})
			}
		}
		c.score, c.coverage = ranker.Score(search.Weight(c.role, c.calls), c.counts, beside, time.UnixMilli(c.time))
	}
	return nil
}

// themed ranks rows once more with what is talked about around them, as far as
// other rows tell that fit as well.
func themed(ranker *search.Ranker, pool []*found) {
	placed := make([]search.Placed, len(pool))
	for i, c := range pool {
		placed[i] = search.Placed{Counts: c.counts, Session: c.session, N: c.n, Title: c.role == search.RoleTitle}
	}
	for i, theme := range ranker.Themes(placed) {
		pool[i].score = search.Themed(pool[i].score, theme)
	}
}

// look reads the rows around some, and themselves, in order. Titles stand
// nowhere.
func (f *finder) look(ctx context.Context, pool []*found) error {
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
	for _, c := range pool { // which the engine would do with all they say
		slices.SortFunc(c.near, func(a, b *found) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.id, b.id)) })
	}
	return explain("search", rows.Err())
}
