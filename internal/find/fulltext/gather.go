package fulltext

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"firn.dev/internal/find/search"
)

// gather returns candidate rows and the frequency of each term.
func (f *finder) gather(ctx context.Context, s space, filters []string) ([]*found, []float64, error) {
	if f.query.Want == nil {
		return f.latest(ctx, s, filters)
	}
	lists, frequency, err := f.lists(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	g := &rowGatherer{f: f, space: s, base: slices.Clone(filters), pool: make(map[int64]*found), lists: lists, frequency: frequency}
	g.no = f.excepted()
	should, must, not := f.query.Want.Split()
	if key := f.keyOf(must, lists); key >= 0 {
		err = g.withTerm(ctx, key)
		return values(g.pool), frequency, err
	}
	g.buildExprs(must, not)
	if len(should) > 0 {
		err = g.words(ctx, should)
	} else {
		err = g.matchAll(ctx)
	}
	return values(g.pool), frequency, err
}

// excepted returns the expressions of the excluded sessions, those of programs included.
func (f *finder) excepted() (no []string) {
	for _, id := range f.query.Except {
		no = append(no, facetExpr([]string{"s" + strconv.FormatInt(sessionKey(id), 36)}))
	}
	if f.query.Machines == search.MachinesHide {
		no = append(no, facetExpr([]string{machineFacet}))
	}
	return no
}

// keyOf returns the index of a required term that few rows have, or -1.
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

// lists returns the newest rows that have each term, and the frequency of each term.
func (f *finder) lists(ctx context.Context, s space) ([][]int64, []float64, error) {
	lists, frequency := make([][]int64, len(f.terms)), make([]float64, len(f.terms))
	for i, t := range f.terms {
		var err error
		if t.Prefix {
			lists[i], frequency[i], err = f.prefixRows(ctx, s, t)
		}
		if err == nil && !f.isLoose(t) {
			lists[i], err = f.termRows(ctx, s, t)
			frequency[i] = f.estimate(lists[i])
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return lists, frequency, nil
}

// termRows returns the newest rows that have a term. If one word of a phrase is rare, only
// the rows with that word are checked for the phrase.
func (f *finder) termRows(ctx context.Context, s space, t search.Term) ([]int64, error) {
	if len(t.Parts) > 1 && t.Whole == "" && !t.Prefix {
		for _, part := range t.Parts {
			ids, err := f.match(ctx, s, quoteTerm("t", false, part), mostRanked)
			if err != nil {
				return nil, err
			}
			if len(ids) < mostRanked {
				return f.rowIDs(ctx, withPhrase, list(ids), " "+strings.Join(t.Parts, " ")+" ")
			}
		}
	}
	return f.match(ctx, s, termExpr(t), mostFound)
}

const withPhrase = "select docs.id from json_each(?) j join docs on docs.id = j.value where instr(' ' || docs.t, ?) > 0"

// list encodes ids as a JSON array.
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

// estimate returns the number of rows that have a term, given the newest of them. If the
// list was cut off, the term is assumed to be equally frequent in older rows.
func (f *finder) estimate(ids []int64) float64 {
	n := float64(len(ids))
	if len(ids) < mostFound {
		return n
	}
	newer, _ := f.calendar.since(ids[len(ids)-1])
	all, _ := f.calendar.since(f.high)
	return n * all / max(newer, n)
}

// For a prefix query, FTS collects all matches before it returns the first. So the newest
// rows are scanned first, and if manyNewest of them match, those are used.
const (
	newest     = 1500
	manyNewest = 150
)

var lookAtNewest = "select id from (select id, t, x from docs where space = ? and id between ? and ? order by id limit ?) where instr(' ' || t, ?) > 0 or instr(' ' || x, ?) > 0"

// prefixRows returns the newest rows with a word that has the given prefix. If there are
// many, it marks the term as loose.
func (f *finder) prefixRows(ctx context.Context, s space, t search.Term) ([]int64, float64, error) {
	parts, whole := prefixTexts(t)
	ids, err := f.rowIDs(ctx, lookAtNewest, int(s), f.low, f.high, newest, parts, whole)
	if err != nil || len(ids) < manyNewest {
		return nil, 0, err
	}
	f.loose, f.unsure = append(f.loose, t), true
	all, _ := f.calendar.since(f.high)
	return ids, float64(len(ids)) / newest * all, nil
}

// prefixTexts returns the texts to look for in the words of a row, and in their other forms.
func prefixTexts(t search.Term) (parts, whole string) {
	parts = " " + strings.Join(t.Parts, " ")
	if t.Whole == "" {
		return parts, parts // which the other forms do not contain either
	}
	return parts, " " + t.Whole
}

// isLoose reports whether a term is left out of FTS expressions.
func (f *finder) isLoose(t search.Term) bool {
	return slices.ContainsFunc(f.loose, t.Is)
}

// rowGatherer collects candidate rows in one space.
type rowGatherer struct {
	f     *finder
	space space
	// base must hold, no must not.
	base, no  []string
	pool      map[int64]*found
	lists     [][]int64
	frequency []float64
}

// buildExprs builds the expressions for the required and the excluded nodes.
func (g *rowGatherer) buildExprs(must, not []*search.Node) {
	sp := exprBuilder{g.f.isLoose}
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

// withTerm collects the rows that have a rare term. The rest of the query is checked when
// they are loaded.
func (g *rowGatherer) withTerm(ctx context.Context, term int) (err error) {
	g.f.unsure = true
	ids := g.lists[term]
	if len(g.base)+len(g.no) > 0 {
		ids, err = g.f.match(ctx, g.space, g.narrowed(termExpr(g.f.terms[term])), mostRanked)
	}
	take(g.pool, ids, 1<<term)
	return err
}

func (g *rowGatherer) narrowed(exprs ...string) string {
	return without(join(append(slices.Clone(g.base), exprs...), "AND"), g.no)
}

// matchAll collects the rows that match all required expressions.
func (g *rowGatherer) matchAll(ctx context.Context) error {
	if len(g.base) > 0 {
		return g.collect(ctx, g.narrowed(), nil, g.f.high, mostFound, 0)
	}
	for i, t := range g.f.terms { // only very common words
		if g.f.isLoose(t) {
			if err := g.newestWith(ctx, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// words collects rows that have any of several words: for each word the newest rows. If a
// word is so common that its list was cut off, rows with all the common words, or two of
// them, are collected as well.
func (g *rowGatherer) words(ctx context.Context, should []search.Term) error {
	var common []int
	for _, t := range should {
		i := slices.IndexFunc(g.f.terms, t.Is)
		ids := g.lists[i]
		switch {
		case g.f.isLoose(t) && len(g.base) > 0:
			if err := g.collect(ctx, g.narrowed(), nil, g.f.high, mostFound, 0); err != nil {
				return err
			}
			continue
		case g.f.isLoose(t):
			if err := g.newestWith(ctx, i); err != nil {
				return err
			}
			continue
		case len(g.base)+len(g.no) > 0:
			var err error
			if ids, err = g.f.match(ctx, g.space, g.narrowed(termExpr(t)), mostFound); err != nil {
				return err
			}
		}
		if len(ids) == mostFound {
			common = append(common, i)
		}
		if err := g.collect(ctx, g.narrowed(termExpr(t)), ids, g.f.high, mostFound, 1<<i); err != nil {
			return err
		}
	}
	if len(common) < 2 {
		return nil
	}
	return g.coOccurring(ctx, common)
}

// Limits on finding common words together: mostPaired is the number of words combined in
// pairs, and each pair is searched in a limited number of places.
const (
	mostPaired = 4
	mostWalked = 16_000
)

// coOccurring collects rows that have several of the common words: the rarest with each of
// the next ones, and all together.
func (g *rowGatherer) coOccurring(ctx context.Context, common []int) error {
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

// pair collects rows that have all the given words. FTS walks both posting lists to
// intersect them, so the range of ids depends on how common the words are. Words that occur
// nearly everywhere say little about a text.
func (g *rowGatherer) pair(ctx context.Context, terms ...int) error {
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
	return g.collect(ctx, g.narrowed(exprs...), nil, high, mostRanked, bits)
}

// collect adds the newest rows that match an expression to the pool, and the newest that
// people wrote. ids are the former, if they are known.
func (g *rowGatherer) collect(ctx context.Context, expr string, ids []int64, high int64, most int, has uint64) (err error) {
	if ids == nil {
		if ids, err = g.f.rowIDs(ctx, matchWords[g.space], expr, g.f.low, high, most); err != nil {
			return err
		}
	}
	all, machine, err := g.f.withPeople(ctx, g.space, expr, ids, high, most)
	take(g.pool, all, has)
	for id := range machine {
		g.pool[id].machine = true
	}
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

// latest returns the newest rows, for a query that has only filters.
func (f *finder) latest(ctx context.Context, s space, filters []string) ([]*found, []float64, error) {
	pool := make(map[int64]*found)
	var ids []int64
	var err error
	if no := f.excepted(); len(filters)+len(no) > 0 {
		if len(filters) == 0 { // FTS has no unary NOT, and every row has a role
			filters = []string{facetExpr(everyRole())}
		}
		ids, err = f.match(ctx, s, without(join(filters, "AND"), no), mostRanked)
	} else {
		ids, err = f.rowIDs(ctx, "select id from docs where space = ? and id between ? and ? order by id limit ?", int(s), f.low, f.high, mostRanked)
	}
	take(pool, ids, 0)
	return values(pool), nil, err
}

// everyRole returns the facets of all roles.
func everyRole() (facets []string) {
	for _, role := range search.Roles() {
		facets = append(facets, "r"+string(role))
	}
	return facets
}

var matchWords = [...]string{
	"select rowid from fts0 where fts0 match ? and rowid between ? and ? order by rowid limit ?",
	"select rowid from fts1 where fts1 match ? and rowid between ? and ? order by rowid limit ?",
}

// match returns the newest rows that match an expression.
func (f *finder) match(ctx context.Context, s space, expr string, most int) ([]int64, error) {
	return f.rowIDs(ctx, matchWords[s], expr, f.low, f.high, most)
}

func (f *finder) rowIDs(ctx context.Context, query string, args ...any) ([]int64, error) {
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
