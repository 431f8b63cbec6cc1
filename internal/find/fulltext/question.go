package fulltext

import (
	"cmp"
	"context"
	"slices"
	"time"

	"firn.dev/internal/find/search"
)

// The numbers of rows that are ranked as answers to a question, and of those whose neighbors
// are read.
const (
	mostAnswers = 300
	mostAround  = 60
)

// mostRelated is the number of rows found for a word that is similar to one of the question.
const mostRelated = 100

// relatedWeight is the weight of a similar word before rows are ranked.
const relatedWeight = 0.6

// withRelated adds rows with words that are similar to those of the question.
func (f *finder) withRelated(ctx context.Context, ranker *search.Ranker, pool []*found, filters []string) ([]*found, error) {
	byID := make(map[int64]*found, len(pool))
	for _, c := range pool {
		byID[c.id] = c
	}
	for _, related := range ranker.Related() {
		expr := without(join(append(slices.Clone(filters), quoteTerm("t", false, related.Word)), "AND"), f.excepted())
		ids, err := f.match(ctx, talk, expr, mostRelated)
		if err != nil {
			return nil, err
		}
		ids, machine, err := f.withPeople(ctx, talk, expr, ids, f.high, mostRelated)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			c := byID[id]
			if c == nil {
				c = &found{doc: doc{id: id}}
				byID[id] = c
				pool = append(pool, c)
			}
			if c.has&(1<<related.Term) == 0 {
				c.has |= 1 << related.Term
				hint := relatedWeight * related.Similarity * ranker.Rare(related.Term)
				if machine[id] {
					hint *= search.MachinePrior
				}
				c.hint += hint
			}
		}
	}
	return pool, nil
}

// rankQuestion ranks rows as answers to a question. Neighbors of the best rows are
// candidates too: an answer often has no word of the question that it follows.
func (f *finder) rankQuestion(ctx context.Context, ranker *search.Ranker, pool []*found) ([]*found, error) {
	slices.SortFunc(pool, func(a, b *found) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	best := pool[:min(len(pool), mostAround)]
	if err := f.loadNeighbors(ctx, best); err != nil {
		return nil, err
	}
	pool, sessions := f.withNeighbors(ranker, pool, best)
	all := make([]search.Candidate, len(pool))
	for i, c := range pool {
		before, after := around(sessions[c.session], c)
		all[i] = search.Candidate{
			Placed: search.Placed{Counts: c.counts, Session: c.session, N: c.n, Title: c.role == search.RoleTitle},
			Words:  c.words.Words, Weight: search.Weight(c.role, c.calls), Time: time.UnixMilli(c.time),
			Before: before, After: after, Similar: f.similarityOf(c), Asks: float64(c.asks) / 100,
		}
	}
	ranker.RankQuestion(all, f.query.Weights)
	for i, c := range pool {
		c.score, c.coverage, c.features = all[i].Score, all[i].Coverage, all[i].Features
	}
	return pool, nil
}

// withNeighbors returns the pool with the neighbors of the best rows, and the rows of each
// session in order. Neighbors that the filters of the query may exclude are used for
// ranking only.
func (f *finder) withNeighbors(ranker *search.Ranker, pool, best []*found) ([]*found, map[int64][]*found) {
	byID := make(map[int64]*found, len(pool))
	for _, c := range pool {
		byID[c.id] = c
	}
	sessions := make(map[int64][]*found)
	for _, c := range best {
		for k, d := range c.near {
			known := byID[d.id]
			if known == nil {
				d.words = d.text()
				d.counts = ranker.Count(d.words)
				byID[d.id], known = d, d
				if f.admits(d) {
					pool = append(pool, d)
				}
			}
			c.near[k] = known
		}
	}
	for _, d := range byID {
		if d.role != search.RoleTitle {
			sessions[d.session] = append(sessions[d.session], d)
		}
	}
	for _, rows := range sessions {
		slices.SortFunc(rows, func(a, b *found) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.id, b.id)) })
	}
	return pool, sessions
}

// admits reports whether a neighbor of a matching row may be a hit.
func (f *finder) admits(d *found) bool {
	q := &f.query
	switch q.Machines {
	case search.MachinesHide:
		if d.machine {
			return false
		}
	case search.MachinesOnly:
		if !d.machine {
			return false
		}
	}
	return len(q.Roles) == 0 && len(q.Tools) == 0 && len(q.Paths) == 0 && d.id >= f.low && d.id <= f.high
}

// around returns the counts of the rows near a row, nearest first.
func around(rows []*found, c *found) (before, after []search.Counts) {
	i, ok := slices.BinarySearchFunc(rows, c, func(a, b *found) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.id, b.id)) })
	if !ok {
		return nil, nil
	}
	for k := i - 1; k >= 0 && len(before) < 2 && c.n-rows[k].n <= besideReach; k-- {
		before = append(before, rows[k].counts)
	}
	for k := i + 1; k < len(rows) && len(after) < 2 && rows[k].n-c.n <= besideReach; k++ {
		after = append(after, rows[k].counts)
	}
	return before, after
}
