package fulltext

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"firn.dev"
	"firn.dev/internal/find/search"
	"firn.dev/store"
)

// Check compares the index with all sessions and returns the differences. It reads every
// session again and compares every row with its entry and every word with the rows. Pending
// updates are applied first. A damaged index is deleted after it was reported, and rebuilt
// on the next use. If there is no index, there are no differences; an index that cannot be
// written is checked with Compare.
func (x *Index) Check(ctx context.Context) ([]search.Difference, error) {
	if !x.Exists() {
		return nil, nil
	}
	number := x.request(func(d *due) { d.census = true }, true)
	if _, err := x.await(ctx, number, 0); err != nil {
		if ctx.Err() == nil && x.onlyReads(ctx) {
			return x.Compare(ctx)
		}
		return nil, err
	}
	db, done, err := x.use(ctx)
	if err != nil {
		return nil, err
	}
	c := &checker{x: x, db: db}
	err = c.run(ctx)
	done()
	x.damaged(db, err)
	return c.done(err)
}

// Compare is a read-only Check: it takes no lock and does not apply pending updates. It
// does not cover sessions that changed since they were indexed, nor imported sessions, and
// it compares the number of occurrences of each word, but not the positions.
func (x *Index) Compare(ctx context.Context) (found []search.Difference, err error) {
	if !x.Exists() {
		return nil, nil
	}
	db, err := openReadOnly(ctx, x.fs, x.path())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c := &checker{x: x, db: &database{path: x.path(), read: db}, readOnly: true}
	if err := c.hold(ctx); err != nil {
		return c.done(err)
	}
	return c.done(c.run(ctx))
}

// done turns an error that indicates damage into a difference.
func (c *checker) done(err error) ([]search.Difference, error) {
	if errors.Is(err, firn.ErrCorrupt) {
		return append(c.found, search.Difference{Detail: err.Error()}), nil
	}
	return c.found, err
}

type checker struct {
	x     *Index
	db    *database
	found []search.Difference
	// readOnly forbids any change.
	readOnly bool
}

func (c *checker) differ(session firn.ID, format string, args ...any) {
	c.found = append(c.found, search.Difference{Session: string(session), Detail: fmt.Sprintf(format, args...)})
}

func (c *checker) run(ctx context.Context) error {
	if err := c.file(ctx); err != nil {
		return err
	}
	known, err := allRows(ctx, c.db.read)
	if err != nil {
		return err
	}
	standings, err := c.x.src.Census(ctx)
	if err != nil {
		return err
	}
	if !c.readOnly {
		for _, j := range jobs(slices.Clone(standings), known) {
			c.differ(j.status.ID, "the session has changed since it was indexed, or is unknown")
		}
	}
	for _, s := range standings {
		if r := known[s.ID]; r.unchanged(s) && !(c.readOnly && r.source != nativeSource) {
			if err := c.session(ctx, s, known[s.ID]); err != nil {
				return err
			}
		}
	}
	words := c.words
	if c.readOnly {
		words = c.count
	}
	for s := range insertWords {
		if err := words(ctx, space(s)); err != nil {
			return err
		}
	}
	return c.days(ctx)
}

// file runs SQLite's integrity check, on a separate connection: one that has read FTS data
// before mistakes later merges for damage.
func (c *checker) file(ctx context.Context) (err error) {
	fresh := c.db.read
	if !c.readOnly {
		if fresh, err = sql.Open("sqlite", address(c.db.path, readCache, reading)); err != nil {
			return explain("check the word index", err)
		}
		defer func() { err = errors.Join(err, fresh.Close()) }()
	}
	var sound string
	if err := fresh.QueryRowContext(ctx, "pragma quick_check(1)").Scan(&sound); err != nil {
		return explain("check the word index", err)
	}
	if sound != "ok" {
		return fmt.Errorf("check the word index: %w: %s", firn.ErrCorrupt, sound)
	}
	return nil
}

// session compares the rows of a session with its entries.
func (c *checker) session(ctx context.Context, s store.Status, old *row) error {
	var docs []doc
	var now *row
	r := &reader{src: c.x.src, sourceOf: c.x.sourceOf, emit: func(ch change) error {
		docs = append(docs, ch.docs...)
		now = ch.row
		return nil
	}}
	if err := r.whole(ctx, s); err != nil {
		var failed *unread
		if errors.As(err, &failed) {
			return nil // it cannot be read, which was reported
		}
		return err
	}
	if now == nil {
		return nil // it was deleted in the meantime
	}
	if !reflect.DeepEqual(now, old) && string(now.shape.encode()) != string(old.shape.encode()) {
		c.differ(s.ID, "its branches, or its hidden or compacted entries, do not match the index")
	}
	a, b := *now, *old
	a.shape, b.shape, a.sub = shape{}, shape{}, false
	if !reflect.DeepEqual(a, b) {
		c.differ(s.ID, "the index has other data about the session")
	}
	there, err := c.docs(ctx, old.id)
	if err != nil {
		return err
	}
	for _, d := range docs {
		key := place2{d.n, d.space}
		if other, ok := there[key]; !ok {
			c.differ(s.ID, "entry %s is missing in the index", d.entry)
		} else if d.id = other.id; d != other {
			c.differ(s.ID, "the index has other words for entry %s", d.entry)
		}
		delete(there, key)
	}
	for _, d := range there {
		c.differ(s.ID, "entry %s is in the index but not in the session", d.entry)
	}
	return nil
}

type place2 struct {
	n     int
	space space
}

// docs reads the rows of a session.
func (c *checker) docs(ctx context.Context, session int64) (map[place2]doc, error) {
	rows, err := c.db.read.QueryContext(ctx, "select "+docColumns+", f from docs where session = ?", session)
	if err != nil {
		return nil, explain("check the word index", err)
	}
	defer rows.Close()
	all := make(map[place2]doc)
	for rows.Next() {
		d, err := scanWhole(rows.Scan)
		if err != nil {
			return nil, explain("check the word index", err)
		}
		all[place2{d.n, d.space}] = d
	}
	return all, explain("check the word index", rows.Err())
}

// scanWhole scans a row with all its columns.
func scanWhole(scan func(...any) error) (doc, error) {
	var d doc
	var at int64
	var entry, role string
	err := scan(&d.id, &d.session, &d.n, &at, &entry, &d.space, &role, &d.calls, &d.machine, &d.time, &d.words, &d.asks, &d.t, &d.x, &d.f)
	d.at, d.entry, d.role = firn.Pos(at), firn.EntryID(entry), search.Role(role)
	return d, err
}

// spaceNames describes each space in messages.
var spaceNames = [...]string{"messages", "tool output"}

// words runs the FTS integrity check of one space against its rows.
func (c *checker) words(ctx context.Context, s space) error {
	_, err := c.db.write.ExecContext(ctx, fmt.Sprintf("insert into fts%d(fts%d, rank) values('integrity-check', 1)", s, s))
	if err = explain("check the word index", err); errors.Is(err, firn.ErrCorrupt) {
		c.differ("", "the indexed words of %s differ from the sessions", spaceNames[s])
		return nil
	}
	return err
}

// days compares the counts per day with the rows.
func (c *checker) days(ctx context.Context) error {
	want, got := make(map[[2]int64][2]int64), make(map[[2]int64][2]int64)
	read := func(into map[[2]int64][2]int64) func(*sql.Rows) error {
		return func(rows *sql.Rows) error {
			var key, n [2]int64
			err := rows.Scan(&key[0], &key[1], &n[0], &n[1])
			into[key] = n
			return err
		}
	}
	if err := c.each(ctx, "select space, time / ?, count(*), sum(words) from docs group by 1, 2", []any{dayLength}, read(want)); err != nil {
		return err
	}
	if err := c.each(ctx, "select space, day, docs, words from days", nil, read(got)); err != nil {
		return err
	}
	if !reflect.DeepEqual(want, got) {
		c.differ("", "the counts of messages are wrong")
	}
	return nil
}

func (c *checker) each(ctx context.Context, query string, args []any, do func(*sql.Rows) error) error {
	rows, err := c.db.read.QueryContext(ctx, query, args...)
	if err != nil {
		return explain("check the word index", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows); err != nil {
			return explain("check the word index", err)
		}
	}
	return explain("check the word index", rows.Err())
}
