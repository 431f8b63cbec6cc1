package fulltext

import (
	"cmp"
	"context"
	"database/sql"
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
	mostFound   = 2000
	mostRanked  = 600
	mostBeside  = 150
	besideReach = 8
	// mostPaired is how many common words are looked for two by two.
	mostPaired = 6
)

// finder answers one query from the index.
type finder struct {
	db    *database
	query search.Query
	terms []search.Term
	// low and high bound the numbers of rows: their times.
	low, high int64
	now       time.Time
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

// newFinder prepares a query. Top is the largest number of a row that counts:
// later ones came after the first page.
func newFinder(db *database, q search.Query, now time.Time, top int64) *finder {
	f := &finder{db: db, query: q, now: now, low: 0, high: top}
	if q.Want != nil {
		f.terms = q.Want.Positive()
	}
	if !q.Since.IsZero() {
		f.low = clampTime(q.Since) << idBits
	}
	if !q.Until.IsZero() {
		f.high = min(f.high, clampTime(q.Until)<<idBits-1)
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
		some, err := f.in(ctx, s, filters)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b *found) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.id, a.id)) })
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
	docs, words, err := f.census(ctx, s, f.low)
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
	slices.SortFunc(pool, func(a, b *found) int { return cmp.Or(cmp.Compare(b.hint, a.hint), cmp.Compare(b.id, a.id)) })
	pool = pool[:min(len(pool), mostRanked)]
	if pool, err = f.load(ctx, pool); err != nil {
		return nil, err
	}
	for _, c := range pool {
		c.counts = ranker.Count(c.text)
		c.score, c.coverage = ranker.Score(search.Weight(c.role, c.calls), c.counts, nil, time.UnixMilli(c.time))
	}
	if len(f.terms) > 0 && s == talk {
		err = f.lookBeside(ctx, ranker, pool)
	}
	return pool, err
}

// gather finds rows that fit, and how many have each term.
func (f *finder) gather(ctx context.Context, s space, filters []string) ([]*found, []float64, error) {
	frequency := make([]float64, len(f.terms))
	pool := make(map[int64]*found)
	if f.query.Want == nil {
		return f.latest(ctx, s, filters)
	}
	for i, t := range f.terms {
		ids, err := f.match(ctx, s, termExpr(t), mostFound)
		if err != nil {
			return nil, nil, err
		}
		if frequency[i], err = f.estimate(ctx, s, ids); err != nil {
			return nil, nil, err
		}
	}
	should, must, not := f.query.Want.Split()
	base := slices.Clone(filters)
	yes, no := spell(must)
	base = append(base, yes...)
	for _, id := range f.query.Except {
		no = append(no, facetExpr([]string{"s" + strconv.FormatInt(sessionKey(id), 36)}))
	}
	for _, n := range not {
		expr, negated := nodeExpr(n)
		if negated {
			base = append(base, expr)
		} else {
			no = append(no, expr)
		}
	}
	narrowed := func(expr string) string { return without(join(append(slices.Clone(base), expr), "AND"), no) }
	if len(should) == 0 {
		if len(base) == 0 {
			return nil, nil, nil
		}
		ids, err := f.match(ctx, s, without(join(base, "AND"), no), mostFound)
		take(pool, ids, 0)
		return values(pool), frequency, err
	}
	return f.gatherWords(ctx, s, should, pool, frequency, narrowed)
}

// gatherWords finds rows with some of several words: for each word the newest
// that have it. Of words that are so common that this leaves some out, those
// that have all, or two of them, are found too.
func (f *finder) gatherWords(ctx context.Context, s space, should []search.Term, pool map[int64]*found, frequency []float64, narrowed func(string) string) ([]*found, []float64, error) {
	var common []int
	for _, t := range should {
		i := slices.IndexFunc(f.terms, func(other search.Term) bool { return slices.Equal(other.Parts, t.Parts) && other.Prefix == t.Prefix })
		ids, err := f.match(ctx, s, narrowed(termExpr(t)), mostFound)
		if err != nil {
			return nil, nil, err
		}
		if len(ids) == mostFound {
			common = append(common, i)
		}
		take(pool, ids, 1<<i)
	}
	if len(common) < 2 {
		return values(pool), frequency, nil
	}
	slices.SortFunc(common, func(a, b int) int { return cmp.Compare(frequency[a], frequency[b]) })
	common = common[:min(len(common), mostPaired)]
	var all []string
	bits := uint64(0)
	for k, i := range common {
		all = append(all, termExpr(f.terms[i]))
		bits |= 1 << i
		for _, j := range common[:k] {
			ids, err := f.match(ctx, s, narrowed(join([]string{termExpr(f.terms[j]), termExpr(f.terms[i])}, "AND")), mostFound/len(common))
			if err != nil {
				return nil, nil, err
			}
			take(pool, ids, 1<<i|1<<j)
		}
	}
	ids, err := f.match(ctx, s, narrowed(join(all, "AND")), mostFound)
	take(pool, ids, bits)
	return values(pool), frequency, err
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
		ids, err = f.numbers(ctx, "select id from docs where space = ? and id between ? and ? order by id desc limit ?", int(s), f.low, f.high, mostRanked)
	}
	take(pool, ids, 0)
	return values(pool), nil, err
}

var matchWords = [...]string{
	"select rowid from fts0 where fts0 match ? and rowid between ? and ? order by rowid desc limit ?",
	"select rowid from fts1 where fts1 match ? and rowid between ? and ? order by rowid desc limit ?",
}

// match finds the newest rows that fit an expression.
func (f *finder) match(ctx context.Context, s space, expr string, most int) ([]int64, error) {
	return f.numbers(ctx, matchWords[s], expr, f.low, f.high, most)
}

func (f *finder) numbers(ctx context.Context, query string, args ...any) ([]int64, error) {
	rows, err := f.db.read.QueryContext(ctx, query, args...)
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
	all, _, err := f.census(ctx, s, f.low)
	return n * all / max(since, n), err
}

// census counts the rows of one half since a time, and their words.
func (f *finder) census(ctx context.Context, s space, since int64) (docs, words float64, err error) {
	var d, w sql.NullFloat64
	err = f.db.read.QueryRowContext(ctx, "select sum(docs), sum(words) from days where space = ? and day >= ? and day <= ?",
		int(s), since>>idBits/dayLength, f.high>>idBits/dayLength).Scan(&d, &w)
	return d.Float64, w.Float64, explain("search", err)
}

const docColumns = "id, session, n, at, entry, space, role, calls, time, words, t, x"

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
	stmt, err := f.db.read.PrepareContext(ctx, "select "+docColumns+" from docs where id = ?")
	if err != nil {
		return nil, explain("search", err)
	}
	defer stmt.Close()
	kept := pool[:0]
	for _, c := range pool {
		switch err := scanDoc(stmt.QueryRowContext(ctx, c.id).Scan, c); err {
		case nil:
			kept = append(kept, c)
		case sql.ErrNoRows:
		default:
			return nil, explain("search", err)
		}
	}
	return kept, nil
}

// lookBeside ranks the best rows again with what stands beside them.
func (f *finder) lookBeside(ctx context.Context, ranker *search.Ranker, pool []*found) error {
	slices.SortFunc(pool, func(a, b *found) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.id, a.id)) })
	stmt, err := f.db.read.PrepareContext(ctx, "select "+docColumns+" from docs where session = ? and n between ? and ? and space = 0 order by n")
	if err != nil {
		return explain("search", err)
	}
	defer stmt.Close()
	for _, c := range pool[:min(len(pool), mostBeside)] {
		near, err := f.near(ctx, stmt, c)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(near, func(d *found) bool { return d.id == c.id })
		var beside []search.Beside
		for j, d := range near {
			if apart := max(i-j, j-i); i >= 0 && apart >= 1 && apart <= 2 {
				beside = append(beside, search.Beside{Counts: ranker.Count(d.text), Distance: apart})
			}
		}
		c.score, c.coverage = ranker.Score(search.Weight(c.role, c.calls), c.counts, beside, time.UnixMilli(c.time))
	}
	return nil
}

// near reads the rows around one, and itself, in order.
func (f *finder) near(ctx context.Context, stmt *sql.Stmt, c *found) ([]*found, error) {
	rows, err := stmt.QueryContext(ctx, c.session, c.n-besideReach, c.n+besideReach)
	if err != nil {
		return nil, explain("search", err)
	}
	defer rows.Close()
	var near []*found
	for rows.Next() {
		d := &found{}
		if err := scanDoc(rows.Scan, d); err != nil {
			return nil, explain("search", err)
		}
		if d.role != search.RoleTitle || d.id == c.id {
			near = append(near, d)
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
