package fulltext

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// literalCursor is the cursor of a literal search: the number of the last entry of the page before.
type literalCursor struct {
	Query uint64 `json:"q"`
	N     int    `json:"n"`
}

// firstPlace is before all rows: those of the end of a session come first.
const firstPlace = 1 << 53

func parseLiteralCursor(text string, query uint64) (literalCursor, error) {
	p := literalCursor{Query: query, N: firstPlace}
	if text == "" {
		return p, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil || p.Query != query || p.N < 0 {
		return p, fmt.Errorf("search: %w: the cursor is not of an earlier answer to this query", firn.ErrInvalid)
	}
	return p, nil
}

func (p literalCursor) String() string {
	data, err := json.Marshal(p)
	if err != nil {
		return "" // cannot happen: numbers always marshal
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// searchLiteral finds every entry of one session that contains the literal, the latest first. It
// reads the rows of the session until the page is full.
func searchLiteral(ctx context.Context, x *Index, q search.Query) (search.Answer, *database, error) {
	from, err := parseLiteralCursor(q.Cursor, digest(q))
	if err != nil {
		return search.Answer{}, nil, err
	}
	db, done, err := x.use(ctx)
	if err != nil {
		return search.Answer{}, nil, err
	}
	defer done()
	t := &hitBuilder{x: x, f: newFinder(db, q, x.opts.Clock(), 0), rows: make(map[int64]*row), fates: make(map[int64]*fate)}
	t.f.terms = q.Literal.Terms
	answer := search.Answer{State: x.State(), Hits: []search.Hit{}, Unsearched: x.unsearched(q)}
	r, err := t.row(ctx, sessionKey(firn.ID(q.Sessions[0])))
	if err != nil || r == nil || q.Owners != nil && !q.Owners(r.agent, r.key) || len(q.Agents) > 0 && !slices.Contains(q.Agents, r.agent) {
		return answer, db, err
	}
	answer.Unread = r.unread
	limit := q.Limit
	if limit == 0 {
		limit = search.DefaultLimit
	}
	limit = min(limit, search.MaxLimit)
	answer.Hits, from.N, err = t.literalHits(ctx, r, from.N, limit)
	if from.N > 0 {
		answer.Cursor = from.String()
	}
	return answer, db, err
}

// literalHits returns at most limit hits in the entries before number n, and the number
// where the next page begins; zero if there is none.
func (t *hitBuilder) literalHits(ctx context.Context, r *row, n, limit int) ([]search.Hit, int, error) {
	hits := []search.Hit{}
	for {
		some, err := t.f.literalRows(ctx, r.id, n)
		if err != nil || len(some) == 0 {
			return hits, 0, err
		}
		for _, c := range some {
			if c.n >= n {
				continue // another text of the same entry is a hit
			}
			hit, ok, err := t.literalHit(ctx, r, c)
			if err != nil {
				return nil, 0, err
			}
			if !ok {
				continue
			}
			if len(hits) == limit {
				return hits, hits[limit-1].N, nil
			}
			hits, n = append(hits, hit), c.n
		}
		if len(some) < literalStep {
			return hits, 0, nil
		}
		n = min(n, some[len(some)-1].n+1) // the last entry may have more rows
		if some[0].n == some[len(some)-1].n {
			n = some[0].n
		}
	}
}

// literalStep is the number of rows read at once. An entry has fewer.
const literalStep = 500

// literalHit returns the hit of a row, or false if its text does not contain the literal.
func (t *hitBuilder) literalHit(ctx context.Context, r *row, c *found) (search.Hit, bool, error) {
	texts, err := t.texts(ctx, r, []*found{c})
	if err != nil || !t.f.query.Literal.In(texts[placeOf(c)].text) {
		return search.Hit{}, false, err
	}
	return t.buildHit(ctx, group{best: c})
}

// literalRows returns the next rows of a session whose words may contain the literal. Titles
// are not part of the log.
func (f *finder) literalRows(ctx context.Context, session int64, n int) ([]*found, error) {
	where := "docs.session = ? and docs.n < ? and docs.role <> ?"
	args := []any{session, n, string(search.RoleTitle)}
	spaces := f.spaces()
	if len(spaces) == 1 {
		where += " and docs.space = ?"
		args = append(args, int(spaces[0]))
	}
	for _, needle := range f.query.Literal.Needles() {
		where += " and (instr(' ' || docs.t, ?) > 0 or instr(' ' || docs.t, ?) > 0 or instr(' ' || docs.x, ?) > 0)"
		args = append(args, needle[0], needle[1], needle[1])
	}
	var all []*found
	err := f.rows(ctx, "select "+placeColumns+" from docs where "+where+" order by docs.n desc limit ?", append(args, literalStep), func(d *found) {
		all = append(all, d)
	})
	return all, err
}
