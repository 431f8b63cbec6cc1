package fulltext

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// window returns the rows around a row on its branch, and the row itself, in order.
func (t *hitBuilder) window(ctx context.Context, r *row, c *found) ([]*found, error) {
	before, after := t.f.query.Window()
	spaces := "space = 0"
	if c.space == tools {
		spaces = "space <= 1"
	}
	path := t.fate(r).lineage(c.n, r.count)
	if items, ok := c.around(path, before, after, r.count); ok {
		return items, nil
	}
	earlier, err := t.walk(ctx, r, c, path, before, "n < ? and "+spaces+" order by n desc, space desc")
	if err != nil {
		return nil, err
	}
	later, err := t.walk(ctx, r, c, path, after, "n > ? and "+spaces+" order by n, space")
	if err != nil {
		return nil, err
	}
	slices.Reverse(earlier)
	return append(append(earlier, c), later...), nil
}

// around returns the window of a row from the neighbors loaded for ranking. It returns
// false if too few were loaded.
func (d *found) around(path [][2]int, before, after, count int) ([]*found, bool) {
	if d.near == nil {
		return nil, false
	}
	var earlier, later []*found
	for _, other := range d.near {
		switch {
		case !within(path, other.n) || other.n == d.n:
		case other.n < d.n:
			earlier = append(earlier, other)
		default:
			later = append(later, other)
		}
	}
	if len(earlier) < before && d.n-besideReach > 1 || len(later) < after && d.n+besideReach < count {
		return nil, false
	}
	earlier, later = earlier[max(0, len(earlier)-before):], later[:min(len(later), after)]
	return append(append(slices.Clone(earlier), d), later...), true
}

// within reports whether entry n is in one of the ranges.
func within(path [][2]int, n int) bool {
	return slices.ContainsFunc(path, func(p [2]int) bool { return p[0] <= n && n <= p[1] })
}

// walked limits the number of rows read to find those of one branch.
const walked = 200

// walk reads the rows of a branch before or after a row.
func (t *hitBuilder) walk(ctx context.Context, r *row, c *found, path [][2]int, most int, where string) ([]*found, error) {
	if most == 0 {
		return nil, nil
	}
	rows, err := t.f.db.query(ctx, "select "+placeColumns+" from docs where session = ? and "+where+" limit ?", r.id, c.n, walked)
	if err != nil {
		return nil, explain("search", err)
	}
	defer rows.Close()
	var near []*found
	for rows.Next() && len(near) < most {
		d := &found{}
		if err := scanDoc(rows.Scan, d); err != nil {
			return nil, explain("search", err)
		}
		if within(path, d.n) && d.role != search.RoleTitle {
			near = append(near, d)
		}
	}
	return near, explain("search", rows.Err())
}

// entryText is the text of an entry and the tools it concerns.
type entryText struct {
	text  string
	tools []string
}

// Limits on the part of a session read between two items. Beyond them, reading restarts at
// the next item.
const (
	mostSkipped = 64
	mostHops    = 2 * search.MaxItems
)

// texts reads the texts of items from their session.
func (t *hitBuilder) texts(ctx context.Context, r *row, items []*found) (map[placed]entryText, error) {
	texts := make(map[placed]entryText, len(items))
	wanted := slices.Clone(items)
	slices.SortFunc(wanted, func(a, b *found) int { return a.n - b.n })
	for range mostHops {
		wanted = slices.DeleteFunc(wanted, func(d *found) bool { _, ok := texts[placeOf(d)]; return ok })
		if len(wanted) == 0 {
			break
		}
		found, err := t.readSome(ctx, r.sid, wanted, texts)
		if err != nil {
			return nil, err
		}
		if !found { // the session changed since it was indexed
			t.x.MarkChanged(r.sid)
			wanted = wanted[1:]
		}
	}
	return texts, nil
}

// readSome reads from the first item until the next one is too far away. It reports whether
// it found the first.
func (t *hitBuilder) readSome(ctx context.Context, id firn.ID, wanted []*found, texts map[placed]entryText) (bool, error) {
	skipped, first := 0, false
	for rec, err := range t.x.src.Read(ctx, id, wanted[0].at) {
		if err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if !errors.Is(err, firn.ErrNotFound) { // one unreadable session does not block the others
				t.x.report("session %s cannot be read and is not shown: %v", id, err)
			}
			return false, nil
		}
		i := slices.IndexFunc(wanted, func(d *found) bool { return rec.Gap == nil && rec.Glance.ID == d.entry })
		if i < 0 {
			if skipped++; skipped > mostSkipped {
				break
			}
			continue
		}
		skipped = 0
		e, err := rec.Entry()
		if err != nil {
			continue
		}
		for _, p := range piecesOf(e) {
			texts[placed{e.ID, p.space}] = entryText{p.text, p.tools}
		}
		first = first || i == 0
		if wanted[len(wanted)-1].entry == e.ID {
			break
		}
	}
	return first, nil
}

// Window returns an entry and its context. The entry is given by its ID, or by # and its
// number. The query supplies the size of the window, the sessions that may be seen and
// whether hidden entries are included. Window fails with ErrNotFound if there is no such
// entry.
func (x *Index) Window(ctx context.Context, id firn.ID, entry string, q search.Query) (search.Hit, error) {
	if err := x.ready(ctx); err != nil {
		return search.Hit{}, err
	}
	db, done, err := x.use(ctx)
	if err != nil {
		return search.Hit{}, err
	}
	defer done()
	t := &hitBuilder{x: x, f: newFinder(db, q, x.opts.Clock(), 0), rows: make(map[int64]*row), fates: make(map[int64]*fate), long: true}
	missing := fmt.Errorf("read around entry %.80q of session %.80q: %w", entry, id, firn.ErrNotFound)
	r, err := t.row(ctx, sessionKey(id))
	if err != nil || r == nil || q.Owners != nil && !q.Owners(r.agent, r.key) {
		return search.Hit{}, errors.Join(err, missing)
	}
	where, arg := "entry = ?", any(entry)
	if number, ok := strings.CutPrefix(entry, "#"); ok {
		where, arg = "n = ?", number
	}
	c := &found{}
	err = scanDoc(db.queryRow(ctx, "select "+docColumns+" from docs where session = ? and "+where+" order by space limit 1", r.id, arg).Scan, c)
	if errors.Is(err, sql.ErrNoRows) {
		return search.Hit{}, missing
	}
	if err != nil {
		return search.Hit{}, explain("read a window", err)
	}
	hit, ok, err := t.buildHit(ctx, group{best: c})
	if err == nil && !ok {
		err = missing
	}
	return hit, err
}
