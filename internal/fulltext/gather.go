package fulltext

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"firn/internal/search"
)

// gather finds rows that fit, and how many have each term.
func (f *finder) gather(ctx context.Context, s space, filters []string) ([]*found, []float64, error) {
	if f.query.Want == nil {
		return f.latest(ctx, s, filters)
	}
	lists, frequency, err := f.lists(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	g := &gathering{f: f, space: s, base: slices.Clone(filters), pool: make(map[int64]*found), lists: lists, frequency: frequency}
	for _, id := range f.query.Except {
		g.no = append(g.no, facetExpr([]string{"s" + strconv.FormatInt(sessionKey(id), 36)}))
	}
	should, must, not := f.query.Want.Split()
	if key := f.keyOf(must, lists); key >= 0 {
		err = g.having(ctx, key)
		return values(g.pool), frequency, err
	}
	g.spell(must, not)
	if len(should) > 0 {
		err = g.words(ctx, should)
	} else {
		err = g.rest(ctx)
	}
	return values(g.pool), frequency, err
}

// keyOf chooses a term that must be there and that few rows have, and returns
// its number, or -1.
func (f *finder) keyOf(must []*search.Node, lists [][]int64) int {
	required := slices.Clone(must)
	for i := 0; i < len(required); i++ {
		if required[i].Op == search.OpAnd {
			required = append(required, required[i].Kids...)
		}
	}
	key := -1
	for _, n := range required {
		if n.Op != search.OpTerm || f.isLoose(n.Term) {
			continue
		}
		i := slices.IndexFunc(f.terms, n.Term.Is)
		if f.terms[i].Whole == n.Term.Whole && len(lists[i]) <= mostRanked && (key < 0 || len(lists[i]) < len(lists[key])) {
			key = i
		}
	}
	return key
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
			lists[i], err = f.list(ctx, s, t)
			frequency[i] = f.estimate(lists[i])
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return lists, frequency, nil
}

// list finds the newest rows that have a term. The words of a phrase are not
// looked for together if few rows have one of them.
func (f *finder) list(ctx context.Context, s space, t search.Term) ([]int64, error) {
	if len(t.Parts) > 1 && t.Whole == "" && !t.Prefix {
		for _, part := range t.Parts {
			ids, err := f.match(ctx, s, quoteTerm("t", false, part), mostRanked)
			if err != nil {
				return nil, err
			}
			if len(ids) < mostRanked {
				return f.numbers(ctx, withPhrase, list(ids), " "+strings.Join(t.Parts, " ")+" ")
			}
		}
	}
	return f.match(ctx, s, termExpr(t), mostFound)
}

const withPhrase = "select docs.id from json_each(?) j join docs on docs.id = j.value where instr(' ' || docs.t, ?) > 0"

// list spells numbers for the engine.
func list(ids []int64) string {
	text := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return string(append(text, ']'))
}

// estimate says how many rows have a term of which the newest are known. If
// there may be more, it is taken to have been as common before.
func (f *finder) estimate(ids []int64) float64 {
	n := float64(len(ids))
	if len(ids) < mostFound {
		return n
	}
	newer, _ := f.calendar.since(ids[len(ids)-1])
	all, _ := f.calendar.since(f.high)
	return n * all / max(newer, n)
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
	f.loose, f.unsure = append(f.loose, t), true
	all, _ := f.calendar.since(f.high)
	return ids, float64(len(ids)) / newest * all, nil
}

// isLoose reports whether a term is not looked for by the engine.
func (f *finder) isLoose(t search.Term) bool {
	return slices.ContainsFunc(f.loose, t.Is)
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

// spell spells what must hold and what must not.
func (g *gathering) spell(must, not []*search.Node) {
	sp := speller{g.f.isLoose}
	yes, no, _ := sp.all(must)
	g.base, g.no = append(g.base, yes...), append(g.no, no...)
	for _, n := range not {
		switch one := sp.node(n); {
		case one.anything:
		case one.negated:
			g.base = append(g.base, one.expr)
		default:
			g.no = append(g.no, one.expr)
		}
	}
}

// having finds the rows that have a term that few have. Whatever else is asked
// for is seen when they are read.
func (g *gathering) having(ctx context.Context, term int) (err error) {
	g.f.unsure = true
	ids := g.lists[term]
	if len(g.base)+len(g.no) > 0 {
		ids, err = g.f.match(ctx, g.space, g.narrowed(termExpr(g.f.terms[term])), mostRanked)
	}
	take(g.pool, ids, 1<<term)
	return err
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
		i := slices.IndexFunc(g.f.terms, t.Is)
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

// How much is looked at to find words together: mostPaired words two by two,
// and of each pair so many places of the two.
const (
	mostPaired = 4
	mostWalked = 16_000
)

// together finds rows that have several of the common words: the rarest of them
// with each of the next, and all.
func (g *gathering) together(ctx context.Context, common []int) error {
	slices.SortFunc(common, func(a, b int) int { return cmp.Compare(g.frequency[a], g.frequency[b]) })
	common = common[:min(len(common), mostPaired)]
	if len(common) > 2 {
		for _, i := range common[1:] {
			if err := g.pair(ctx, common[0], i); err != nil {
				return err
			}
		}
	}
	return g.pair(ctx, common...)
}

// pair finds rows that have all of some words. To find out where two meet the
// engine goes along both, so how far back it looks depends on how common they
// are: words that are nearly everywhere say little of a text.
func (g *gathering) pair(ctx context.Context, terms ...int) error {
	bits, exprs, places := uint64(0), make([]string, len(terms)), 0.0
	for k, i := range terms {
		exprs[k] = termExpr(g.f.terms[i])
		bits |= 1 << i
		places += g.frequency[i]
	}
	high := g.f.high
	if all, _ := g.f.calendar.since(high); places > mostWalked {
		high = min(high, g.f.calendar.reach(all*mostWalked/places))
	}
	ids, err := g.f.numbers(ctx, matchWords[g.space], g.narrowed(exprs...), g.f.low, high, mostRanked)
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
