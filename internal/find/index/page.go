package index

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// Page is a part of a list.
type Page struct {
	Infos []store.Info
	// More says that there is more to list, from Next on.
	More bool
	Next Cursor
	// Archived and Hidden count the sessions of the same owner that would have
	// stood among these if the query had asked for them.
	Archived, Hidden int
	// Total is how many sessions match in all, on whatever page; -1 if that is
	// not known, and must be asked of [Catalogue.Count].
	Total int
}

// Cursor is a place in the list of all sessions: behind the one that was
// updated at that time and has that id. The zero cursor is before the first.
type Cursor struct {
	Updated time.Time
	ID      firn.ID
}

// String spells the cursor as [ParseCursor] reads it.
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d.%s", c.Updated.Unix(), c.Updated.Nanosecond(), c.ID)
}

// ParseCursor reads what String spelt, or ErrInvalid.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	seconds, rest, _ := strings.Cut(s, ".")
	nanos, id, _ := strings.Cut(rest, ".")
	sec, err1 := strconv.ParseInt(seconds, 10, 64)
	nsec, err2 := strconv.ParseUint(nanos, 10, 30)
	if err := errors.Join(err1, err2, firn.ID(id).Check()); err != nil || nsec >= uint64(time.Second) {
		return Cursor{}, fmt.Errorf("%w cursor %.200q", firn.ErrInvalid, s)
	}
	return Cursor{Updated: time.Unix(sec, int64(nsec)).UTC(), ID: firn.ID(id)}, nil
}

func cursorOf(info *store.Info) Cursor { return Cursor{Updated: info.Updated, ID: info.ID} }

// before reports whether the cursor stands before a session.
func (c Cursor) before(info *store.Info) bool {
	return c == (Cursor{}) || store.CompareInfos(&store.Info{Updated: c.Updated, ID: c.ID}, info) < 0
}

// List is what a store's List promises, from the catalogue.
func (c *Catalogue) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return store.Infos(func() ([]store.Info, error) {
		page, err := c.Page(ctx, q, Cursor{})
		return page.Infos, err
	})
}

// Page lists the sessions that match, those with the latest entry first, from
// a place on, at most as many as the query's limit. It takes them from the end
// of the catalogue, and asks of each that it shows how it stands: those that
// changed are looked at, those that are gone are left out. Without a limit it
// asks for all sessions how they stand.
func (c *Catalogue) Page(ctx context.Context, q store.Query, after Cursor) (Page, error) {
	if err := c.usable(ctx); err != nil {
		return Page{}, err
	}
	after.Updated = plainTime(after.Updated)
	if q.Limit > 0 {
		page, err := c.quickPage(ctx, q, after)
		if err == nil {
			return page, nil
		}
		if fatal(ctx, err) {
			return Page{}, fmt.Errorf("list sessions: %w", err)
		}
	}
	s, err := c.refresh(ctx, nil)
	if err != nil {
		return Page{}, fmt.Errorf("list sessions: %w", err)
	}
	if s.unwritten != nil {
		c.report("the catalogue could not be brought up to date: %v", s.unwritten)
	}
	return s.page(q, after), nil
}

// page picks a page from what was found out about all sessions.
func (s *survey) page(q store.Query, after Cursor) Page {
	rows := make([]*row, 0, len(s.rows))
	for _, r := range s.rows {
		if after.before(&r.info) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *row) int { return store.CompareInfos(&a.info, &b.info) })
	page := Page{Total: s.count(q)}
	if q.Limit == 0 {
		page.Infos = make([]store.Info, 0, len(rows))
	}
	for _, r := range rows {
		if !q.Matches(r.info) {
			page.count(q, &r.info)
			continue
		}
		if q.Limit > 0 && len(page.Infos) == q.Limit {
			page.More = true
			break
		}
		page.Infos = append(page.Infos, r.info)
		page.Next = cursorOf(&r.info)
	}
	return page
}

// count tells how many of all sessions match.
func (s *survey) count(q store.Query) (n int) {
	for _, r := range s.rows {
		if q.Matches(r.info) {
			n++
		}
	}
	return n
}

// count takes notice of a session that the query leaves out.
func (p *Page) count(q store.Query, info *store.Info) {
	owned := q
	owned.Archived, owned.Hidden = info.Archived, info.Hidden
	switch {
	case !owned.Matches(*info):
	case info.Archived && !q.Archived:
		p.Archived++
	case info.Hidden && !q.Hidden:
		p.Hidden++
	}
}

// errSlow says that a page cannot be had from the end of the catalogue.
var errSlow = errors.New("all sessions must be looked at")

// A limit of many sessions, and of a good part of them all, is better served
// by counting all than by asking for each.
const (
	manyRows = 200
	goodPart = 4
)

// quickPage takes a page from the end of the catalogue.
func (c *Catalogue) quickPage(ctx context.Context, q store.Query, after Cursor) (Page, error) {
	others, err := c.strangers()
	if err != nil {
		return Page{}, err
	}
	others.close()
	if others.any() || c.unwritable() {
		return Page{}, errSlow
	}
	if stamped, err := c.stamped(ctx); err != nil || !stamped {
		return Page{}, cmp.Or(err, errSlow)
	}
	if err := c.flush(ctx); err != nil {
		return Page{}, err
	}
	b, err := c.open()
	if err != nil {
		return Page{}, err
	}
	if b == nil || q.Limit > manyRows && q.Limit*goodPart > b.head.lines {
		b.close()
		return Page{}, errSlow
	}
	defer b.close()
	p := &pager{c: c, q: q, after: after, back: b.back()}
	err = p.run(ctx)
	if err != nil {
		return Page{}, err
	}
	if err := c.commit(ctx, b, p.changes); err != nil {
		c.report("the catalogue could not be brought up to date: %v", err)
	}
	p.page.Total = -1
	if !p.page.More && after == (Cursor{}) { // all of them were looked at
		p.page.Total = len(p.page.Infos)
	}
	return p.page, nil
}

// unwritable reports whether there are notes that cannot be written down.
func (c *Catalogue) unwritable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opts.ReadOnly && len(c.notes) > 0
}

// pager makes a page from rows that come roughly in the order of the list.
type pager struct {
	c     *Catalogue
	q     store.Query
	after Cursor
	back  *backReader
	// pool holds the rows that were read and not used yet.
	pool pool
	// reached is the last place in the catalogue that was used.
	reached Cursor
	page    Page
	changes []change
}

// candidate is a row that may be shown; sure if it was just looked at.
type candidate struct {
	*row
	sure bool
}

func (p *pager) run(ctx context.Context) error {
	for len(p.page.Infos) < p.q.Limit {
		next, err := p.next(ctx)
		if err != nil {
			return err
		}
		if next == nil {
			break
		}
		p.reached = cursorOf(&next.info)
		if !p.q.Matches(next.info) {
			p.page.count(p.q, &next.info)
			continue
		}
		if err := p.show(ctx, *next); err != nil {
			return err
		}
	}
	more, err := p.more(ctx)
	p.page.More = more
	store.SortByUpdate(p.page.Infos)
	p.page.Next = p.reached
	return err
}

// next returns the next row in the order of the list, or nil. A row is the next
// when none that is still to be read can come before it.
func (p *pager) next(ctx context.Context) (*candidate, error) {
	for {
		if len(p.pool) > 0 && (p.back.done || p.pool[0].info.Updated.After(p.back.bound)) {
			next := heap.Pop(&p.pool).(candidate)
			return &next, nil
		}
		if p.back.done {
			return nil, nil
		}
		r, err := p.back.next()
		if err != nil {
			p.c.reportDamage(err)
			return nil, errSlow
		}
		if r == nil {
			continue
		}
		read := candidate{row: r}
		if r.info.Fault != "" { // its time may be wrong
			if read, err = p.look(ctx, r); err != nil {
				return nil, err
			}
		}
		if read.row != nil && p.after.before(&read.info) {
			heap.Push(&p.pool, read)
		}
	}
}

// look finds out how a session is now, and notes if that is news. The
// candidate has no row if it is gone.
func (p *pager) look(ctx context.Context, r *row) (candidate, error) {
	now, err := p.verify(ctx, r)
	if err == nil && (now == nil || *now != *r) {
		p.changes = append(p.changes, change{id: r.info.ID, was: r, now: now})
	}
	return candidate{row: now, sure: true}, err
}

// more reports whether there is another row that matches.
func (p *pager) more(ctx context.Context) (bool, error) {
	for {
		next, err := p.next(ctx)
		if next == nil || err != nil {
			return false, err
		}
		if p.q.Matches(next.info) {
			return true, nil
		}
	}
}

// show puts a row on the page after a look at how the session stands. If it
// turns out to come later in the list, it is put back for its time. If it
// should have come before, it is shown here: it was not shown there.
func (p *pager) show(ctx context.Context, next candidate) error {
	if !next.sure {
		now, err := p.look(ctx, next.row)
		if now.row == nil || err != nil {
			return err
		}
		if store.CompareInfos(&next.info, &now.info) < 0 {
			heap.Push(&p.pool, now)
			return nil
		}
		next = now
	}
	if p.q.Matches(next.info) {
		p.page.Infos = append(p.page.Infos, next.info)
	}
	return nil
}

// verify returns how a session is now: the row itself if it is still true.
func (p *pager) verify(ctx context.Context, r *row) (*row, error) {
	s, err := p.c.src.Stand(ctx, r.info.ID)
	switch {
	case err == nil && s.Parts > 0 && r.fresh(s):
		return r, nil
	case err == nil && s.Parts > 0:
		return p.c.inspect(ctx, s)
	case err == nil || isGone(err):
		return nil, nil
	case fatal(ctx, err):
		return nil, err
	}
	s.ID = r.info.ID
	return faulty(s, err), nil
}

// pool is a heap of rows, the first of the list on top.
type pool []candidate

func (p pool) Len() int           { return len(p) }
func (p pool) Less(i, j int) bool { return store.CompareInfos(&p[i].info, &p[j].info) < 0 }
func (p pool) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

// Push is for package heap.
func (p *pool) Push(x any) { *p = append(*p, x.(candidate)) }

// Pop is for package heap.
func (p *pool) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	(*p)[last] = candidate{}
	*p = (*p)[:last]
	return x
}
