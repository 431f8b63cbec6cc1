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
	// More is set if there are more results after Next.
	More bool
	Next Cursor
	// Total is the number of matching sessions on all pages; -1 if unknown, see
	// [Catalogue.Count].
	Total int
}

// Cursor is a position in the list of all sessions: after the session with that time and
// ID. The zero cursor is before the first one.
type Cursor struct {
	Updated time.Time
	ID      firn.ID
}

// String encodes the cursor for [ParseCursor].
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d.%s", c.Updated.Unix(), c.Updated.Nanosecond(), c.ID)
}

// ParseCursor decodes the result of String. It returns ErrInvalid for other strings.
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

// before reports whether the cursor is before a session.
func (c Cursor) before(info *store.Info) bool {
	return c == (Cursor{}) || store.CompareInfos(&store.Info{Updated: c.Updated, ID: c.ID}, info) < 0
}

// List implements the List method of [store.Store] with the catalog.
func (c *Catalogue) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return store.Infos(func() ([]store.Info, error) {
		page, err := c.Page(ctx, q, Cursor{})
		return page.Infos, err
	})
}

// Page returns the matching sessions after a cursor, latest entry first, at most as many as
// the query's limit. It reads them from the end of the catalog, or takes them from memory
// after a count, and checks the standing of each result: changed sessions are inspected,
// removed ones are skipped. Without a limit it checks all sessions.
func (c *Catalogue) Page(ctx context.Context, q store.Query, after Cursor) (Page, error) {
	if err := c.checkOpen(ctx); err != nil {
		return Page{}, err
	}
	after.Updated = normalizeTime(after.Updated)
	if q.Limit > 0 {
		page, err := c.pageFromFile(ctx, q, after)
		if err == nil {
			return page, nil
		}
		if isFatal(ctx, err) {
			return Page{}, fmt.Errorf("list sessions: %w", err)
		}
	}
	s, err := c.refresh(ctx, nil)
	if err != nil {
		return Page{}, fmt.Errorf("list sessions: %w", err)
	}
	if s.writeErr != nil {
		c.report("updating the catalog failed: %v", s.writeErr)
	}
	return s.page(q, after), nil
}

// page returns a page of the surveyed sessions.
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

// count returns the number of matching sessions.
func (s *survey) count(q store.Query) (n int) {
	for _, r := range s.rows {
		if q.Matches(r.info) {
			n++
		}
	}
	return n
}

// errFullScan means that a page cannot be read from the end of the catalog.
var errFullScan = errors.New("all sessions must be looked at")

// If the limit exceeds manyRows and 1/largeShare of all sessions, examining all sessions is
// faster than checking each.
const (
	manyRows   = 200
	largeShare = 4
)

// pageFromFile reads a page from the end of the catalog.
func (c *Catalogue) pageFromFile(ctx context.Context, q store.Query, after Cursor) (Page, error) {
	b, err := c.openCurrent(ctx)
	if err != nil {
		return Page{}, err
	}
	defer b.close()
	if q.Limit > manyRows && q.Limit*largeShare > b.head.lines {
		return Page{}, errFullScan
	}
	p := &pager{c: c, q: q, after: after, from: b.readBack()}
	inMemory, total := c.table.reader(b, q, after)
	if inMemory != nil {
		p.from = inMemory
	}
	err = p.run(ctx)
	if err != nil {
		return Page{}, err
	}
	if err := c.commit(ctx, b, p.changes); err != nil {
		c.report("updating the catalog failed: %v", err)
	}
	if p.page.Total = total; len(p.changes) > 0 { // the total is from before these changes
		p.page.Total = -1
	}
	if !p.page.More && after == (Cursor{}) { // all were examined
		p.page.Total = len(p.page.Infos)
	}
	return p.page, nil
}

// openCurrent opens the file after writing pending changes. It returns errFullScan if there
// is no file, or if it may not have all changes.
func (c *Catalogue) openCurrent(ctx context.Context) (*catalogFile, error) {
	others, err := c.findOtherMarks()
	if err != nil {
		return nil, err
	}
	others.close()
	if others.any() || c.unwritable() {
		return nil, errFullScan
	}
	if stamped, err := c.stampUnchanged(ctx); err != nil || !stamped {
		return nil, cmp.Or(err, errFullScan)
	}
	if err := c.flush(ctx); err != nil {
		return nil, err
	}
	b, err := c.open()
	if err == nil && b == nil {
		err = errFullScan
	}
	return b, err
}

// unwritable reports whether there are pending changes that cannot be written.
func (c *Catalogue) unwritable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opts.ReadOnly && len(c.pending) > 0
}

// rowSource provides the rows of a catalog, roughly in list order.
type rowSource interface {
	// next returns the next row, which may be nil.
	next() (*row, error)
	// latest returns the latest time that a remaining row can have.
	latest() time.Time
	// atEnd reports whether there are no more rows.
	atEnd() bool
}

// pager builds a page from rows that arrive roughly in list order.
type pager struct {
	c     *Catalogue
	q     store.Query
	after Cursor
	from  rowSource
	// pool holds the rows that were read and not used yet.
	pool rowHeap
	// reached is the position of the last row used.
	reached Cursor
	page    Page
	changes []change
}

// candidate is a row that may be on the page. verified is set if the session was just
// checked.
type candidate struct {
	*row
	verified bool
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

// next returns the next row in list order, or nil. It reads ahead until no remaining row
// can precede it.
func (p *pager) next(ctx context.Context) (*candidate, error) {
	for {
		if len(p.pool) > 0 && (p.from.atEnd() || p.pool[0].info.Updated.After(p.from.latest())) {
			next := heap.Pop(&p.pool).(candidate)
			return &next, nil
		}
		if p.from.atEnd() {
			return nil, nil
		}
		r, err := p.from.next()
		if err != nil {
			p.c.reportDamage(err)
			return nil, errFullScan
		}
		if r == nil {
			continue
		}
		read := candidate{row: r}
		if r.info.Fault != "" { // its time may be wrong
			if read, err = p.recheck(ctx, r); err != nil {
				return nil, err
			}
		}
		if read.row != nil && p.after.before(&read.info) {
			heap.Push(&p.pool, read)
		}
	}
}

// recheck returns the current row of a session and records a change if it differs. The
// candidate has no row if the session is gone.
func (p *pager) recheck(ctx context.Context, r *row) (candidate, error) {
	now, err := p.verify(ctx, r)
	if err == nil && (now == nil || *now != *r) {
		p.changes = append(p.changes, change{id: r.info.ID, was: r, now: now})
	}
	return candidate{row: now, verified: true}, err
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

// show adds a row to the page after checking the session. If its current position is later
// in the list, the row is put back. If it is earlier, the row is added here, since it was
// not on an earlier page.
func (p *pager) show(ctx context.Context, next candidate) error {
	if !next.verified {
		now, err := p.recheck(ctx, next.row)
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

// verify returns the current row of a session: r itself if it is unchanged.
func (p *pager) verify(ctx context.Context, r *row) (*row, error) {
	s, err := p.c.src.Status(ctx, r.info.ID)
	switch {
	case err == nil && s.Parts > 0 && r.matches(s):
		return r, nil
	case err == nil && s.Parts > 0:
		return p.c.inspect(ctx, s)
	case err == nil || isGone(err):
		return nil, nil
	case isFatal(ctx, err):
		return nil, err
	}
	s.ID = r.info.ID
	return faultRow(s, err), nil
}

// rowHeap is a heap of rows in list order.
type rowHeap []candidate

func (p rowHeap) Len() int           { return len(p) }
func (p rowHeap) Less(i, j int) bool { return store.CompareInfos(&p[i].info, &p[j].info) < 0 }
func (p rowHeap) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

// Push implements heap.Interface.
func (p *rowHeap) Push(x any) { *p = append(*p, x.(candidate)) }

// Pop implements heap.Interface.
func (p *rowHeap) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	(*p)[last] = candidate{}
	*p = (*p)[:last]
	return x
}
