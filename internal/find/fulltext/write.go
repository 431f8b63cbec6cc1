package fulltext

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// writer collects changes and writes many of them in one transaction, while it collects the
// next batch.
type writer struct {
	db      *database
	changes []change
	docs    int
	size    int
	// writing is closed when the previous batch was written, successfully or not.
	writing chan struct{}
	failed  error
}

// Limits on the size of a transaction.
const (
	batchDocs = 20_000
	batchSize = 12 << 20
)

// add adds a change. Collected changes of a session are written before the session is
// wiped.
func (w *writer) add(ctx context.Context, c change) error {
	if c.wipe && slices.ContainsFunc(w.changes, func(other change) bool { return other.session == c.session }) {
		if err := w.startWrite(ctx); err != nil {
			return err
		}
	}
	w.changes = append(w.changes, c)
	w.docs += len(c.docs)
	if w.size += c.size(); w.docs >= batchDocs || w.size >= batchSize {
		return w.startWrite(ctx)
	}
	return nil
}

// startWrite starts writing the collected changes, after the previous batch is done.
func (w *writer) startWrite(ctx context.Context) error {
	if err := w.wait(); err != nil {
		return err
	}
	changes, writing := w.changes, make(chan struct{})
	w.changes, w.docs, w.size, w.writing = nil, 0, 0, writing
	go func() {
		defer close(writing)
		w.failed = w.db.change(ctx, func(tx *sql.Tx) error { return apply(ctx, tx, changes) })
	}()
	return nil
}

// wait waits for the current batch. Callers of add must wait before they abandon the
// writer.
func (w *writer) wait() error {
	if w.writing != nil {
		<-w.writing
	}
	return w.failed
}

// flush writes the collected changes and waits for them.
func (w *writer) flush(ctx context.Context) error {
	if len(w.changes) > 0 {
		if err := w.startWrite(ctx); err != nil {
			return err
		}
	}
	return w.wait()
}

// apply writes changes.
func apply(ctx context.Context, tx *sql.Tx, changes []change) error {
	t := make(tally)
	var docs []doc
	for _, c := range changes {
		if c.wipe && c.row == nil && len(c.docs) == 0 { // its text is gone
			if err := deleteVectors(ctx, tx, c.session); err != nil {
				return err
			}
		}
		if c.wipe {
			if err := deleteSession(ctx, tx, c.session, t); err != nil {
				return err
			}
		}
		docs = append(docs, c.docs...)
	}
	if err := insert(ctx, tx, docs, t); err != nil {
		return err
	}
	put, err := tx.PrepareContext(ctx, "insert or replace into sessions("+rowColumns+") values(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
	if err != nil {
		return err
	}
	defer put.Close()
	for _, c := range changes {
		if c.row == nil {
			continue
		}
		if _, err := put.ExecContext(ctx, c.row.values()...); err != nil {
			return err
		}
	}
	return t.write(ctx, tx)
}

// deleteSession deletes all rows of a session. The FTS entries are deleted first, since
// deleting them reads the rows.
func deleteSession(ctx context.Context, tx *sql.Tx, session int64, t tally) error {
	var there []doc
	rows, err := tx.QueryContext(ctx, "select id, space, time, words from docs where session = ? order by id", session)
	if err != nil {
		return err
	}
	for rows.Next() {
		var d doc
		if err := rows.Scan(&d.id, &d.space, &d.time, &d.words); err != nil {
			return errors.Join(err, rows.Close())
		}
		there = append(there, d)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, d := range there {
		if _, err := tx.ExecContext(ctx, deleteWords[d.space], d.id); err != nil {
			return err
		}
		t.add(d, -1)
	}
	if _, err := tx.ExecContext(ctx, "delete from docs where session = ?", session); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "delete from sessions where id = ?", session)
	return err
}

var (
	deleteWords = [...]string{"delete from fts0 where rowid = ?", "delete from fts1 where rowid = ?"}
	insertWords = [...]string{
		"insert into fts0(rowid, t, x, f) select d.id, d.t, d.x, d.f from json_each(?) j join docs d on d.id = j.value where d.space = 0",
		"insert into fts1(rowid, t, x, f) select d.id, d.t, d.x, d.f from json_each(?) j join docs d on d.id = j.value where d.space = 1",
	}
)

// rowsAtOnce is the number of rows inserted per statement.
const rowsAtOnce = 8

// insert adds rows in the order of their ids, as FTS requires. The words of all rows are
// added by a single statement, because every statement makes FTS flush its memory.
func insert(ctx context.Context, tx *sql.Tx, docs []doc, t tally) error {
	if len(docs) == 0 {
		return nil
	}
	slices.SortFunc(docs, func(a, b doc) int { return cmp.Compare(a.id, b.id) })
	if err := insertRows(ctx, tx, docs); err != nil {
		return err
	}
	slices.SortFunc(docs, func(a, b doc) int { return cmp.Compare(a.id, b.id) }) // in case an id was moved
	ids := make([]int64, len(docs))
	for i := range docs {
		ids[i] = docs[i].id
		t.add(docs[i], 1)
	}
	numbers := list(ids)
	for s, query := range insertWords {
		if !slices.ContainsFunc(docs, func(d doc) bool { return d.space == space(s) }) {
			continue
		}
		if _, err := tx.ExecContext(ctx, query, numbers); err != nil {
			return err
		}
	}
	return nil
}

// insertRows inserts the rows, many per statement.
func insertRows(ctx context.Context, tx *sql.Tx, docs []doc) error {
	single, err := tx.PrepareContext(ctx, insertSQL(1))
	if err != nil {
		return err
	}
	defer single.Close()
	many, err := tx.PrepareContext(ctx, insertSQL(rowsAtOnce))
	if err != nil {
		return err
	}
	defer many.Close()
	apart := len(docs) // from here on one by one
	values := make([]any, 0, rowsAtOnce*13)
	for i := 0; i < apart; i += rowsAtOnce {
		if i+rowsAtOnce > len(docs) || hasDuplicateIDs(docs[i:i+rowsAtOnce]) {
			apart = i
			break
		}
		values = values[:0]
		for k := range docs[i : i+rowsAtOnce] {
			values = append(values, docs[i+k].values()...)
		}
		result, err := many.ExecContext(ctx, values...)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if n != rowsAtOnce {
			if err := placeAll(ctx, tx, single, docs[i:i+rowsAtOnce]); err != nil {
				return err
			}
		}
	}
	for i := range docs[min(apart, len(docs)):] {
		if err := place(ctx, single, &docs[apart+i]); err != nil {
			return err
		}
	}
	return nil
}

// hasDuplicateIDs reports whether two sorted rows have the same id.
func hasDuplicateIDs(docs []doc) bool {
	for i := 1; i < len(docs); i++ {
		if docs[i].id == docs[i-1].id {
			return true
		}
	}
	return false
}

// placeAll inserts the rows whose ids are taken.
func placeAll(ctx context.Context, tx *sql.Tx, single *sql.Stmt, docs []doc) error {
	for i := range docs {
		d := &docs[i]
		var same bool
		err := tx.QueryRowContext(ctx, "select session = ? and n = ? and space = ? from docs where id = ?", d.session, d.n, int(d.space), d.id).Scan(&same)
		if err != nil {
			return err
		}
		if !same {
			if err := place(ctx, single, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func insertSQL(rows int) string {
	return "insert or ignore into docs values" + strings.Repeat(",(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", rows)[1:]
}

func (d *doc) values() []any {
	return []any{d.id, d.session, d.n, int64(d.at), string(d.entry), int(d.space), string(d.role), d.calls, d.time, d.words, d.asks, d.t, d.x, d.f}
}

// place inserts a row under its id, or the next free one.
func place(ctx context.Context, stmt *sql.Stmt, d *doc) error {
	for {
		result, err := stmt.ExecContext(ctx, d.values()...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 1 {
			return err
		}
		d.id++
	}
}

// tally counts the texts and words of each day. Word frequencies are estimated from these
// counts.
type tally map[[2]int64]*[2]int64

func (t tally) add(d doc, sign int64) {
	key := [2]int64{int64(d.space), d.time / dayLength}
	if t[key] == nil {
		t[key] = new([2]int64)
	}
	t[key][0] += sign
	t[key][1] += sign * int64(d.words)
}

func (t tally) write(ctx context.Context, tx *sql.Tx) error {
	for key, n := range t {
		if *n == [2]int64{} {
			continue
		}
		_, err := tx.ExecContext(ctx, `insert into days values(?,?,?,?) on conflict(space, day) do update set docs = docs + excluded.docs, words = words + excluded.words`, key[0], key[1], n[0], n[1])
		if err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "delete from days where docs <= 0")
	return err
}
