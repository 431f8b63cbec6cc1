package fulltext

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"firn"
	"firn/internal/search"
)

// window chooses the items around a row, and itself, in order: those before and
// after it on its branch.
func (t *teller) window(ctx context.Context, r *row, c *found) ([]*found, error) {
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

// around is the window of a row if enough of what stands around it was read
// before.
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

// within reports whether an entry is in one of some stretches.
func within(path [][2]int, n int) bool {
	return slices.ContainsFunc(path, func(p [2]int) bool { return p[0] <= n && n <= p[1] })
}

// walked bounds how many rows are looked at to find those of one branch.
const walked = 200

// walk reads rows on one side of another, those on its branch.
func (t *teller) walk(ctx context.Context, r *row, c *found, path [][2]int, most int, where string) ([]*found, error) {
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

// said is what an entry says, and by which tools.
type saidText struct {
	text  string
	tools []string
}

// How much is read of a session between two items, before it is read from the
// next one on instead.
const (
	mostSkipped = 64
	mostHops    = 2 * search.MaxItems
)

// texts reads what items say from their session.
func (t *teller) texts(ctx context.Context, r *row, items []*found) (map[placed]saidText, error) {
	texts := make(map[placed]saidText, len(items))
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
		if !found { // the session is not as it was read
			t.x.Touch(r.sid)
			wanted = wanted[1:]
		}
	}
	return texts, nil
}

// readSome reads from the first item on until the others are too far away. It
// reports whether it found the first.
func (t *teller) readSome(ctx context.Context, id firn.ID, wanted []*found, texts map[placed]saidText) (bool, error) {
	skipped, first := 0, false
	for rec, err := range t.x.src.Read(ctx, id, wanted[0].at) {
		if err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if !errors.Is(err, firn.ErrNotFound) { // it keeps no other session from being found
				t.x.report("session %s cannot be read, and is not shown: %v", id, err)
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
			texts[placed{e.ID, p.space}] = saidText{p.text, p.tools}
		}
		first = first || i == 0
		if wanted[len(wanted)-1].entry == e.ID {
			break
		}
	}
	return first, nil
}

// Window tells what stands around an entry of a session: one that is named by
// its id, or by # and its number. Of the query the size of the window counts,
// whose sessions may be seen, and whether what is hidden may. What is not there is
// ErrNotFound.
func (x *Index) Window(ctx context.Context, id firn.ID, entry string, q search.Query) (search.Hit, error) {
	if err := x.ready(ctx); err != nil {
		return search.Hit{}, err
	}
	db, done, err := x.use(ctx)
	if err != nil {
		return search.Hit{}, err
	}
	defer done()
	t := &teller{x: x, f: newFinder(db, q, x.opts.Clock(), 0), rows: make(map[int64]*row), fates: make(map[int64]*fate), long: true}
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
	hit, ok, err := t.tell(ctx, group{best: c})
	if err == nil && !ok {
		err = missing
	}
	return hit, err
}
