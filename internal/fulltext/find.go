package fulltext

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// mostPaired is how many common words are looked for two by two.
	mostPaired = 4
)

// finder answers one query from the index.
type finder struct {
	db    *database
	query search.Query
	terms []search.Term
	// low and high bound the numbers of rows: their times.
	low, high int64
	now       time.Time
	// loose are the terms that are not looked for by the engine; who has them is
	// seen when it is read.
	loose []search.Term
}

// found is a row that may be a hit.
type found struct {
	doc
	// has are the terms that are known to be in it, as bits; hint is how
	// promising that makes it.
	has  uint64
	hint float64

	text            search.Text
	counts          search.Counts
	score, coverage float64
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
		f.loose = nil
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
	pool, frequency, err := f.gather(ctx, s, filters)
	if err != nil || len(pool) == 0 {
		return nil, err
	}
	docs, words, err := f.census(ctx, s, f.high)
	if err != nil {
		return nil, err
	}
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
	if len(f.loose) > 0 {
		pool = slices.DeleteFunc(pool, func(c *found) bool { return !f.query.Want.Holds(c.text) })
	}
	for _, c := range pool {
		c.counts = ranker.Count(c.text)
		c.score, c.coverage = ranker.Score(search.Weight(c.role, c.calls), c.counts, nil, time.UnixMilli(c.time))
	}
	if len(f.terms) > 0 && s == talk {
		err = f.lookBeside(ctx, ranker, pool)
		themed(ranker, pool)
	}
	return pool, err
}

// gather finds rows that fit, and how many have each term.
func (f *finder) gather(ctx context.Context, s space, filters []string) ([]*found, []float64, error) {
	if f.query.Want == nil {
		return f.latest(ctx, s, filters)
	}
	lists, frequency, err := f.lists(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	should, must, not := f.query.Want.Split()
	sp := speller{f.isLoose}
	yes, no, _ := sp.all(must)
	base := append(slices.Clone(filters), yes...)
	for _, n := range not {
		switch one := sp.node(n); {
		case one.anything:
		case one.negated:
			base = append(base, one.expr)
		default:
			no = append(no, one.expr)
		}
	}
	for _, id := range f.query.Except {
		no = append(no, facetExpr([]string{"s" + strconv.FormatInt(sessionKey(id), 36)}))
	}
	g := &gathering{f: f, space: s, base: base, no: no, pool: make(map[int64]*found), lists: lists, frequency: frequency}
	if len(should) > 0 {
		err = g.words(ctx, should)
	} else {
		err = g.rest(ctx)
	}
	return values(g.pool), frequency, err
}

// lists finds the newest rows that have each term, and how many have it.
func (f *finder) lists(ctx context.Context, s space) ([][]int64, []float64, error) {
	lists, frequency := make([][]int64, len(f.terms)), make([]float64, len(f.terms))
	for i, t := range f.terms {
		var err error
		if t.Prefix {
			lists[i], frequency[i], err = f.begun(ctx, s, t)
		}
		if err == nil && !f.isLoose(t) {
			if lists[i], err = f.match(ctx, s, termExpr(t), mostFound); err == nil {
				frequency[i], err = f.estimate(ctx, s, lists[i])
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return lists, frequency, nil
}

// Of words that begin in a certain way the engine gathers all before it tells
// the first. So the newest rows are looked at first, and if that many of them
// have such a word, those will do.
const (
	newest     = 1500
	manyNewest = 150
)

var lookAtNewest = "select id from (select id, t, x from docs where space = ? and id between ? and ? order by id limit ?) where instr(' ' || t, ?) > 0 or instr(' ' || x, ?) > 0"

// begun finds the newest rows with a word that begins in a certain way; if there
// are many the term is loose from then on.
func (f *finder) begun(ctx context.Context, s space, t search.Term) ([]int64, float64, error) {
	whole := t.Whole
	if whole == "" {
		whole = strings.Join(t.Parts, " ") // which x does not have either
	}
	ids, err := f.numbers(ctx, lookAtNewest, int(s), f.low, f.high, newest, " "+strings.Join(t.Parts, " "), " "+whole)
	if err != nil || len(ids) < manyNewest {
		return nil, 0, err
	}
	f.loose = append(f.loose, t)
	all, _, err := f.census(ctx, s, f.high)
	return ids, float64(len(ids)) / newest * all, err
}

// isLoose reports whether a term is not looked for by the engine.
func (f *finder) isLoose(t search.Term) bool {
	return slices.ContainsFunc(f.loose, func(other search.Term) bool { return other.Prefix == t.Prefix && slices.Equal(other.Parts, t.Parts) })
}

// gathering is rows being found in one half.
type gathering struct {
	f     *finder
	space space
	// base must hold, and no must not.
	base, no  []string
	pool      map[int64]*found
	lists     [][]int64
	frequency []float64
}

func (g *gathering) narrowed(exprs ...string) string {
	return without(join(append(slices.Clone(g.base), exprs...), "AND"), g.no)
}

// rest finds rows for which all that must hold does.
func (g *gathering) rest(ctx context.Context) error {
	if len(g.base) > 0 {
		ids, err := g.f.match(ctx, g.space, g.narrowed(), mostFound)
		take(g.pool, ids, 0)
		return err
	}
	for i, t := range g.f.terms { // only words that very many have
		if g.f.isLoose(t) {
			take(g.pool, g.lists[i], 1<<i)
		}
	}
	return nil
}

// words finds rows with some of several words: for each word the newest that
// have it. Of words that are so common that this leaves some out, those that
// have all, or two of them, are found too.
func (g *gathering) words(ctx context.Context, should []search.Term) error {
	var common []int
	for _, t := range should {
		i := slices.IndexFunc(g.f.terms, func(other search.Term) bool { return slices.Equal(other.Parts, t.Parts) && other.Prefix == t.Prefix })
		ids := g.lists[i]
		switch {
		case g.f.isLoose(t) && len(g.base) > 0:
			var err error
			if ids, err = g.f.match(ctx, g.space, g.narrowed(), mostFound); err != nil {
				return err
			}
			take(g.pool, ids, 0)
			continue
		case len(g.base)+len(g.no) > 0 && !g.f.isLoose(t):
			var err error
			if ids, err = g.f.match(ctx, g.space, g.narrowed(termExpr(t)), mostFound); err != nil {
				return err
			}
		}
		if len(ids) == mostFound {
			common = append(common, i)
		}
		take(g.pool, ids, 1<<i)
	}
	if len(common) < 2 {
		return nil
	}
	return g.together(ctx, common)
}

// together finds rows that have several of the common words: the rarest of them
// with each of the next, and all.
func (g *gathering) together(ctx context.Context, common []int) error {
	slices.SortFunc(common, func(a, b int) int { return cmp.Compare(g.frequency[a], g.frequency[b]) })
	common = common[:min(len(common), mostPaired)]
	var all []string
	bits := uint64(0)
	for k, i := range common {
		expr := termExpr(g.f.terms[i])
		all = append(all, expr)
		bits |= 1 << i
		if k == 0 || len(common) == 2 {
			continue
		}
		ids, err := g.f.match(ctx, g.space, g.narrowed(all[0], expr), mostRanked)
		if err != nil {
			return err
		}
		take(g.pool, ids, 1<<i|1<<common[0])
	}
	ids, err := g.f.match(ctx, g.space, g.narrowed(all...), mostRanked)
	take(g.pool, ids, bits)
	return err
}

func take(pool map[int64]*found, ids []int64, has uint64) {
	for _, id := range ids {
		c := pool[id]
		if c == nil {
			c = &found{doc: doc{id: id}}
			pool[id] = c
		}
		c.has |= has
	}
}

func values(pool map[int64]*found) []*found {
	all := make([]*found, 0, len(pool))
	for _, c := range pool {
		all = append(all, c)
	}
	return all
}

// latest finds the newest rows, when nothing but filters is asked for.
func (f *finder) latest(ctx context.Context, s space, filters []string) ([]*found, []float64, error) {
	pool := make(map[int64]*found)
	var ids []int64
	var err error
	if len(filters) > 0 {
		ids, err = f.match(ctx, s, join(filters, "AND"), mostRanked)
	} else {
		ids, err = f.numbers(ctx, "select id from docs where space = ? and id between ? and ? order by id limit ?", int(s), f.low, f.high, mostRanked)
	}
	take(pool, ids, 0)
	return values(pool), nil, err
}

var matchWords = [...]string{
	"select rowid from fts0 where fts0 match ? and rowid between ? and ? order by rowid limit ?",
	"select rowid from fts1 where fts1 match ? and rowid between ? and ? order by rowid limit ?",
}

// match finds the newest rows that fit an expression.
func (f *finder) match(ctx context.Context, s space, expr string, most int) ([]int64, error) {
	return f.numbers(ctx, matchWords[s], expr, f.low, f.high, most)
}

func (f *finder) numbers(ctx context.Context, query string, args ...any) ([]int64, error) {
	rows, err := f.db.query(ctx, query, args...)
	if err != nil {
		return nil, explain("search", err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, explain("search", err)
		}
		ids = append(ids, id)
	}
	return ids, explain("search", rows.Err())
}

// estimate says how many rows have a term of which the newest are known. If
// there may be more, it is taken to have been as common before.
func (f *finder) estimate(ctx context.Context, s space, ids []int64) (float64, error) {
	n := float64(len(ids))
	if len(ids) < mostFound {
		return n, nil
	}
	since, _, err := f.census(ctx, s, ids[len(ids)-1])
	if err != nil {
		return 0, err
	}
	all, _, err := f.census(ctx, s, f.high)
	return n * all / max(since, n), err
}

// census counts the rows of one half, and their words, from the newest to the
// day of a number.
func (f *finder) census(ctx context.Context, s space, last int64) (docs, words float64, err error) {
	var d, w sql.NullFloat64
	err = f.db.queryRow(ctx, "select sum(docs), sum(words) from days where space = ? and day >= ? and day <= ?",
		int(s), timeOfNumber(last)/dayLength, timeOfNumber(f.low)/dayLength).Scan(&d, &w)
	return d.Float64, w.Float64, explain("search", err)
}

const docColumns = "docs.id, docs.session, docs.n, docs.at, docs.entry, docs.space, docs.role, docs.calls, docs.time, docs.words, docs.t, docs.x"

// placeColumns are docColumns without the words.
const placeColumns = "docs.id, docs.session, docs.n, docs.at, docs.entry, docs.space, docs.role, docs.calls, docs.time, docs.words, '', ''"

func scanDoc(scan func(...any) error, d *found) error {
	var at int64
	var entry, role, t, x string
	if err := scan(&d.id, &d.session, &d.n, &at, &entry, &d.space, &role, &d.calls, &d.time, &d.words, &t, &x); err != nil {
		return err
	}
	d.setText(at, entry, role, t, x)
	return nil
}

// load reads the rows. Those that went meanwhile are left out.
func (f *finder) load(ctx context.Context, pool []*found) ([]*found, error) {
	byID := make(map[int64]*found, len(pool))
	numbers := make([]string, len(pool))
	for i, c := range pool {
		byID[c.id] = c
		numbers[i] = strconv.FormatInt(c.id, 10)
	}
	loaded := make([]*found, 0, len(pool))
	err := f.rows(ctx, "select "+docColumns+" from json_each(?) j join docs on docs.id = j.value", []any{"[" + strings.Join(numbers, ",") + "]"}, func(d *found) {
		c := byID[d.id]
		d.has, d.hint = c.has, c.hint
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
	near, err := f.near(ctx, best)
	if err != nil {
		return err
	}
	for i, c := range best {
		at := slices.IndexFunc(near[i], func(d *found) bool { return d.id == c.id })
		var beside []search.Beside
		for j, d := range near[i] {
			if apart := max(at-j, j-at); at >= 0 && apart >= 1 && apart <= 2 {
				beside = append(beside, search.Beside{Counts: ranker.Count(d.text), Distance: apart})
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

// near reads the rows around some, and themselves, in order.
func (f *finder) near(ctx context.Context, pool []*found) ([][]*found, error) {
	near := make([][]*found, len(pool))
	if len(pool) == 0 {
		return near, nil
	}
	places := make([][3]int64, len(pool))
	for i, c := range pool {
		places[i] = [3]int64{int64(i), c.session, int64(c.n)}
	}
	data, err := json.Marshal(places)
	if err != nil {
		return nil, err
	}
	const query = `select j.value ->> 0, ` + docColumns + ` from json_each(?) j join docs on docs.session = j.value ->> 1
		and docs.n between (j.value ->> 2) - ? and (j.value ->> 2) + ? and docs.space = 0 order by j.key, docs.n`
	rows, err := f.db.query(ctx, query, string(data), besideReach, besideReach)
	if err != nil {
		return nil, explain("search", err)
	}
	defer rows.Close()
	for rows.Next() {
		d, i := &found{}, 0
		if err := scanDoc(func(into ...any) error { return rows.Scan(append([]any{&i}, into...)...) }, d); err != nil {
			return nil, explain("search", err)
		}
		if d.role != search.RoleTitle || d.id == pool[i].id {
			near[i] = append(near[i], d)
		}
	}
	return near, explain("search", rows.Err())
}

// words parts what a row holds.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Fields(text)
}
