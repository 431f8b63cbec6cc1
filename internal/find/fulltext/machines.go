package fulltext

import (
	"context"

	"firn.dev/internal/find/search"
)

// lowers reports whether rows of programs rank lower in this search: unless the query says
// otherwise, and if there are any.
func (f *finder) lowers(ctx context.Context, s space) (bool, error) {
	if f.query.Machines != "" && f.query.Machines != search.MachinesLower {
		return false, nil
	}
	ids, err := f.match(ctx, s, facetExpr([]string{machineFacet}), 1)
	return len(ids) > 0, err
}

// withPeople returns the newest rows that match an expression together with the newest of
// them that people wrote, which programs would otherwise displace. ids are the newest rows
// of the expression; machine holds those of programs. The rest is as for match.
func (f *finder) withPeople(ctx context.Context, s space, expr string, ids []int64, high int64, most int) (all []int64, machine map[int64]bool, err error) {
	if !f.lower || len(ids) == 0 {
		return ids, nil, nil
	}
	people, err := f.rowIDs(ctx, matchWords[s], without(expr, []string{facetExpr([]string{machineFacet})}), f.low, high, most)
	if err != nil {
		return nil, nil, err
	}
	machine = make(map[int64]bool, len(ids))
	for _, id := range ids {
		machine[id] = true
	}
	for _, id := range people {
		if !machine[id] {
			ids = append(ids, id)
		}
		delete(machine, id)
	}
	return ids, machine, nil
}

// withPrefix finds words with a prefix in given rows.
const withPrefix = "select docs.id from json_each(?) j join docs on docs.id = j.value where instr(' ' || docs.t, ?) > 0 or instr(' ' || docs.x, ?) > 0"

// newestWith adds the newest rows with a frequent prefix to the pool, and the newest of
// people.
func (g *rowGatherer) newestWith(ctx context.Context, term int) error {
	f, t := g.f, g.f.terms[term]
	take(g.pool, g.lists[term], 1<<term)
	if !f.lower {
		return nil
	}
	expr := without(facetExpr(everyRole()), []string{facetExpr([]string{machineFacet})})
	ids, err := f.match(ctx, g.space, expr, newest)
	if err != nil {
		return err
	}
	parts, whole := prefixTexts(t)
	people, err := f.rowIDs(ctx, withPrefix, list(ids), parts, whole)
	if err != nil {
		return err
	}
	for _, id := range g.lists[term] {
		g.pool[id].machine = true
	}
	take(g.pool, people, 1<<term)
	for _, id := range people {
		g.pool[id].machine = false
	}
	return nil
}

// asNumber returns 1 for true.
func asNumber(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lowerMachines lowers the scores of rows that programs wrote.
func (f *finder) lowerMachines(pool []*found) {
	if !f.lower {
		return
	}
	for _, c := range pool {
		if c.machine && c.score > 0 {
			c.lowered = c.score * (1 - search.MachinePrior)
			c.score -= c.lowered
		}
	}
}

// parts returns the parts of the score of a hit: the features of an answer to a question, and
// the subtracted share of a row that a program wrote.
func (c *found) parts() map[string]float64 {
	var parts map[string]float64
	if c.features != (search.Features{}) {
		parts = c.features.Parts()
	}
	if c.lowered > 0 {
		if parts == nil {
			parts = make(map[string]float64)
		}
		parts[search.PartMachine] = -c.lowered
	}
	return parts
}
