package fulltext

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// writer gathers changes and writes them down, many in one transaction.
type writer struct {
	db      *database
	changes []change
	docs    int
	size    int
}

// How much is written down in one transaction, at most.
const (
	batchDocs = 20_000
	batchSize = 12 << 20
)

// add takes a change. What is there of a session must be written before the
// session is wiped.
func (w *writer) add(ctx context.Context, c change) error {
	if c.wipe && slices.ContainsFunc(w.changes, func(other change) bool { return other.session == c.session }) {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	w.changes = append(w.changes, c)
	w.docs += len(c.docs)
	if w.size += c.size(); w.docs >= batchDocs || w.size >= batchSize {
		return w.flush(ctx)
	}
	return nil
}

// flush writes down what was gathered.
func (w *writer) flush(ctx context.Context) error {
	if len(w.changes) == 0 {
		return nil
	}
	changes := w.changes
	w.changes, w.docs, w.size = nil, 0, 0
	return w.db.change(ctx, func(tx *sql.Tx) error { return apply(ctx, tx, changes) })
}

// apply writes changes.
func apply(ctx context.Context, tx *sql.Tx, changes []change) error {
	t := make(tally)
	var docs []doc
	for _, c := range changes {
		if c.wipe {
			if err := wipe(ctx, tx, c.session, t); err != nil {
				return err
			}
		}
		docs = append(docs, c.docs...)
	}
	if err := insert(ctx, tx, docs, t); err != nil {
		return err
	}
	put, err := tx.PrepareContext(ctx, "insert or replace into sessions("+rowColumns+") values(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
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

// wipe deletes all that is there of a session. The words go first: they are
// deleted by looking up what they were.
func wipe(ctx context.Context, tx *sql.Tx, session int64, t tally) error {
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
	insertWords = [...]string{"insert into fts0(rowid, t, x, f) values(?,?,?,?)", "insert into fts1(rowid, t, x, f) values(?,?,?,?)"}
)

// insert adds rows, in the order of their numbers, which the engine wants.
func insert(ctx context.Context, tx *sql.Tx, docs []doc, t tally) error {
	if len(docs) == 0 {
		return nil
	}
	slices.SortFunc(docs, func(a, b doc) int {
		switch {
		case a.id < b.id:
			return -1
		case a.id > b.id:
			return 1
		}
		return 0
	})
	row, err := tx.PrepareContext(ctx, "insert or ignore into docs values(?,?,?,?,?,?,?,?,?,?,?,?,?)")
	if err != nil {
		return err
	}
	defer row.Close()
	var words [2]*sql.Stmt
	for i := range words {
		if words[i], err = tx.PrepareContext(ctx, insertWords[i]); err != nil {
			return err
		}
		defer words[i].Close()
	}
	for i := range docs {
		d := &docs[i]
		if err := place(ctx, row, d); err != nil {
			return err
		}
		if _, err := words[d.space].ExecContext(ctx, d.id, d.t, d.x, d.f); err != nil {
			return err
		}
		t.add(*d, 1)
	}
	return nil
}

// place adds a row under its number, or the next that is free.
func place(ctx context.Context, stmt *sql.Stmt, d *doc) error {
	for {
		result, err := stmt.ExecContext(ctx, d.id, d.session, d.n, int64(d.at), string(d.entry), int(d.space), string(d.role), d.calls, d.time, d.words, d.t, d.x, d.f)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 1 {
			return err
		}
		d.id++
	}
}

// tally counts the texts and words of each day, so that how common a word is
// can be told from a few places where it is.
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
