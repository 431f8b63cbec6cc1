package index

import (
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// rowTable keeps the rows of the file and the results of recent queries in memory, so that
// the next count or page reads only the lines added since, and visits only the rows that it
// returns. It can be dropped at any time.
type rowTable struct {
	mu sync.Mutex
	// info and size identify the file and the part of it that was read.
	info vfs.Info
	size int64
	rows map[firn.ID]*row
	// faulty are the rows with a fault; every page checks them again.
	faulty map[firn.ID]*row
	// lists are the results of recent queries, the latest used first.
	lists []*rowList
}

const (
	// maxCachedRows is the maximum number of rows kept in memory, about 120 MB.
	maxCachedRows = 200_000
	// maxLists is the maximum number of query results kept in memory.
	maxLists = 16
	// manyChanges is the share of rows beyond which results are recomputed instead of updated.
	manyChanges = 16
)

// rowList is the result of a query in an order. It is sorted when a part of it is needed.
type rowList struct {
	query  store.Query
	order  Order
	rows   []*row
	sorted bool
}

// compare orders rows as the list does.
func (l *rowList) compare(a, b *row) int {
	if l.order.IsDefault() {
		return store.CompareInfos(&a.info, &b.info)
	}
	return l.order.compare(l.order.placeOf(&a.info), l.order.placeOf(&b.info))
}

// sort sorts the rows, computing each place once.
func (l *rowList) sort() {
	if l.sorted {
		return
	}
	l.sorted = true
	if l.order.IsDefault() {
		slices.SortFunc(l.rows, l.compare)
		return
	}
	type placed struct {
		place
		row *row
	}
	all := make([]placed, len(l.rows))
	for i, r := range l.rows {
		all[i] = placed{l.order.placeOf(&r.info), r}
	}
	slices.SortFunc(all, func(a, b placed) int { return l.order.compare(a.place, b.place) })
	for i := range all {
		l.rows[i] = all[i].row
	}
}

// replace updates the list after a row has changed. It reports false if the old row is not
// where it should be.
func (l *rowList) replace(was, now *row) bool {
	if was != nil && l.query.Matches(was.info) {
		at, found := slices.BinarySearchFunc(l.rows, was, l.compare)
		if !found || l.rows[at] != was {
			return false
		}
		l.rows = slices.Delete(l.rows, at, at+1)
	}
	if l.query.Matches(now.info) {
		at, _ := slices.BinarySearchFunc(l.rows, now, l.compare)
		l.rows = slices.Insert(l.rows, at, now)
	}
	return true
}

// between returns the rows updated at or after since and before until; zero times are no
// limits. The list must be in the default order.
func (l *rowList) between(since, until time.Time) []*row {
	if since.IsZero() && until.IsZero() {
		return l.rows
	}
	l.sort()
	from, to := 0, len(l.rows)
	notBefore := func(t time.Time) int { // the number of rows updated at t or later
		n, _ := slices.BinarySearchFunc(l.rows, t, func(r *row, t time.Time) int {
			if r.info.Updated.Before(t) {
				return 1
			}
			return -1
		})
		return n
	}
	if !until.IsZero() {
		from = notBefore(until)
	}
	if !since.IsZero() {
		to = notBefore(since)
	}
	return l.rows[from:max(from, to)]
}

// loaded reports whether rows of the file are in memory.
func (t *rowTable) loaded(b *catalogFile) bool {
	return t.rows != nil && b.info.Same(t.info) && b.head.size >= t.size
}

// load reads the lines that were added to the file. t.mu must be held.
func (t *rowTable) load(b *catalogFile) error {
	if t.loaded(b) {
		added := make(map[firn.ID]*row)
		if _, err := b.readFrom(t.size, added); err != nil {
			t.drop()
			return err
		}
		t.apply(added)
	} else {
		t.drop()
		rows, err := b.readAll()
		if err != nil {
			return err
		}
		t.rows, t.faulty = rows, make(map[firn.ID]*row)
		for id, r := range rows {
			t.noteFault(id, r)
		}
	}
	t.info, t.size = b.info, b.head.size
	return nil
}

// apply updates the rows and the lists. t.mu must be held.
func (t *rowTable) apply(added map[firn.ID]*row) {
	if len(added)*manyChanges > len(t.rows)+manyChanges {
		t.lists = nil
	}
	t.lists = slices.DeleteFunc(t.lists, func(l *rowList) bool { return len(added) > 0 && !l.sorted })
	for id, now := range added {
		was := t.rows[id]
		t.rows[id] = now
		t.noteFault(id, now)
		t.lists = slices.DeleteFunc(t.lists, func(l *rowList) bool { return !l.replace(was, now) })
	}
}

func (t *rowTable) noteFault(id firn.ID, r *row) {
	if r.info.Fault != "" {
		t.faulty[id] = r
	} else {
		delete(t.faulty, id)
	}
}

func (t *rowTable) drop() { t.rows, t.faulty, t.lists = nil, nil, nil }

// trim drops the rows if there are too many to keep.
func (t *rowTable) trim() {
	if len(t.rows) > maxCachedRows {
		t.drop()
	}
}

// list returns the result of a query, whose limit must be zero. t.mu must be held.
func (t *rowTable) list(q store.Query, order Order) *rowList {
	at := slices.IndexFunc(t.lists, func(l *rowList) bool { return l.query == q && l.order == order })
	var l *rowList
	if at >= 0 {
		l = t.lists[at]
		t.lists = slices.Delete(t.lists, at, at+1)
	} else {
		l = &rowList{query: q, order: order}
		for _, r := range t.rows {
			if q.Matches(r.info) {
				l.rows = append(l.rows, r)
			}
		}
	}
	t.lists = slices.Insert(t.lists, 0, l)
	t.lists = t.lists[:min(len(t.lists), maxLists)]
	return l
}

// selected returns the rows that a query selects, in list order if sorted is set. Lists that
// differ only in the limits of time are one list. The result is valid until t.mu is
// released.
func (t *rowTable) selected(q store.Query, sorted bool) []*row {
	since, until := q.Since, q.Until
	q.Limit, q.Since, q.Until = 0, time.Time{}, time.Time{}
	l := t.list(q, Order{})
	if sorted {
		l.sort()
	}
	return l.between(since, until)
}

// count counts the rows of a file that a query selects.
func (t *rowTable) count(b *catalogFile, q store.Query) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(b); err != nil {
		return 0, err
	}
	n = len(t.selected(q, false))
	t.trim()
	return n, nil
}

// page returns a page of a list in an order.
func (t *rowTable) page(b *catalogFile, q store.Query, order Order, cursor string, limit int) (Ordered, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(b); err != nil {
		return Ordered{}, err
	}
	defer t.trim()
	var rows []*row
	if order.IsDefault() {
		order = Order{}
		rows = t.selected(q, true)
	} else {
		q.Limit = 0
		l := t.list(q, order)
		l.sort()
		rows = l.rows
	}
	return pageOfRows(rows, order, cursor, limit)
}

// pageOfRows returns the page after a cursor of sorted rows.
func pageOfRows(rows []*row, order Order, cursor string, limit int) (Ordered, error) {
	first := 0
	if cursor != "" {
		after, err := parsePlace(cursor)
		if err != nil {
			return Ordered{}, err
		}
		at, found := slices.BinarySearchFunc(rows, after, func(r *row, p place) int { return order.compare(order.placeOf(&r.info), p) })
		if first = at; found {
			first++
		}
	}
	end := min(first+limit, len(rows))
	page := Ordered{Total: len(rows)}
	for _, r := range rows[first:end] {
		page.Infos = append(page.Infos, r.info)
	}
	if end < len(rows) && end > first {
		page.Next = order.placeOf(&rows[end-1].info).cursor()
	}
	return page, nil
}

// reader returns a reader of the rows after a cursor that a query selects, and their total
// number; nil if the rows are not in memory.
func (t *rowTable) reader(b *catalogFile, q store.Query, after Cursor) (*listReader, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.loaded(b) || t.load(b) != nil {
		return nil, -1
	}
	total := len(t.selected(q, false))
	r := &listReader{table: t, query: q, after: after}
	for _, row := range t.faulty {
		r.faulty = append(r.faulty, row)
	}
	return r, total
}

// listReader reads the rows that a query selects in list order, after all rows with a fault.
type listReader struct {
	table  *rowTable
	query  store.Query
	after  Cursor
	faulty []*row
	rows   []*row
	done   bool
}

// readAhead is the number of rows that a reader takes at a time.
const readAhead = 128

// next returns the next row; nil at the end.
func (r *listReader) next() (*row, error) {
	if n := len(r.faulty); n > 0 {
		row := r.faulty[n-1]
		r.faulty = r.faulty[:n-1]
		return row, nil
	}
	if err := r.fill(); err != nil || r.done {
		return nil, err
	}
	row := r.rows[0]
	r.rows = r.rows[1:]
	return row, nil
}

// fill takes more rows if there are none left.
func (r *listReader) fill() error {
	if len(r.rows) > 0 || r.done {
		return nil
	}
	t := r.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil { // dropped in the meantime
		return errFullScan
	}
	all := t.selected(r.query, true)
	for len(r.rows) == 0 && !r.done {
		first := 0
		if r.after != (Cursor{}) {
			place := &row{info: store.Info{Updated: r.after.Updated, ID: r.after.ID}}
			at, found := slices.BinarySearchFunc(all, place, func(a, b *row) int { return store.CompareInfos(&a.info, &b.info) })
			if first = at; found {
				first++
			}
		}
		r.done = first == len(all)
		for _, row := range all[first:min(first+readAhead, len(all))] {
			r.after = cursorOf(&row.info)
			if row.info.Fault == "" { // the others were first
				r.rows = append(r.rows, row)
			}
		}
	}
	return nil
}

// latest returns the latest time that a remaining row can have.
func (r *listReader) latest() time.Time {
	switch {
	case len(r.faulty) > 0 || len(r.rows) == 0 && r.after == (Cursor{}):
		return time.Unix(farFuture, 0).UTC()
	case len(r.rows) > 0:
		return r.rows[0].info.Updated
	}
	return r.after.Updated
}

// atEnd reports whether all rows were returned.
func (r *listReader) atEnd() bool { return r.done && len(r.rows) == 0 && len(r.faulty) == 0 }
