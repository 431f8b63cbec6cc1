package fulltext

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// vectorSchema creates the tables of vectors. They are in the file of the index and are
// thrown away with it. unembedded is the queue of rows that were added or deleted since their
// vector was made, signs the signs of the components of each vector, which are scanned first.
// A text that the embedder rejected has an empty vector, and no signs.
const vectorSchema = `
create table if not exists embedder(name text not null, size integer not null);
create table if not exists vectors(id integer primary key, sum integer not null, v blob not null);
create table if not exists signs(seq integer primary key autoincrement, id integer not null unique, b blob not null);
create table if not exists unembedded(id integer primary key);
create trigger if not exists docs_unembedded after insert on docs when ` + embeddable + `
begin insert or ignore into unembedded values(new.id); end;
create trigger if not exists docs_orphaned after delete on docs
begin insert or ignore into unembedded select id from vectors where id = old.id; end;
`

// embeddable selects the rows that have a vector: messages and summaries.
const embeddable = "new.space = 0 and new.role in ('user', 'assistant', 'summary')"

const dropVectors = `drop trigger if exists docs_unembedded; drop trigger if exists docs_orphaned; drop table if exists unembedded; drop table if exists signs;
drop table if exists vectors; drop table if exists embedder;`

// setUpVectors creates the tables, and queues all rows if the vectors are of another model.
func (d *database) setUpVectors(ctx context.Context, name string) error {
	return d.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, vectorSchema); err != nil {
			return err
		}
		var is string
		err := tx.QueryRowContext(ctx, "select name from embedder").Scan(&is)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err == nil && is == name { // of a version that left vectors of deleted rows
			_, err = tx.ExecContext(ctx, "insert or ignore into unembedded select id from vectors where id not in (select id from docs)")
			return err
		}
		if _, err := tx.ExecContext(ctx, "delete from vectors; delete from signs; delete from unembedded; delete from embedder; insert into embedder values(?, 0)", name); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "insert or ignore into unembedded select id from docs new where "+embeddable)
		return err
	})
}

// hasVectors reports whether the tables exist and are of a model.
func (d *database) hasVectors(ctx context.Context, name string) bool {
	var n int
	if err := d.queryRow(ctx, "select count(*) from sqlite_master where name in ('embedder', 'vectors', 'signs', 'unembedded', 'docs_orphaned')").Scan(&n); err != nil || n != 5 {
		return false
	}
	var is string
	return d.read.QueryRowContext(ctx, "select name from embedder").Scan(&is) == nil && is == name
}

// deleteVectors deletes the vectors of a session whose text is erased or gone.
func deleteVectors(ctx context.Context, tx *sql.Tx, session int64) error {
	var n int
	if err := tx.QueryRowContext(ctx, "select count(*) from sqlite_master where name in ('vectors', 'signs')").Scan(&n); err != nil || n != 2 {
		return err
	}
	for _, table := range []string{"vectors", "signs"} {
		if _, err := tx.ExecContext(ctx, "delete from "+table+" where id in (select id from docs where session = ?)", session); err != nil {
			return err
		}
	}
	return nil
}

// vector is the vector of a row: sum is a hash of the words it was made of.
type vector struct {
	id, sum int64
	// v is empty if the embedder rejected the text.
	v []float32
	// none is true if the text is not embedded, such as that of a hidden message.
	none bool
}

// writeVectors writes vectors and removes their rows from the queue, in one transaction. Rows
// that were deleted or changed while their texts were embedded stay in the queue.
func (d *database) writeVectors(ctx context.Context, name string, all []vector) error {
	return d.change(ctx, func(tx *sql.Tx) error {
		var is string
		var size int
		if err := tx.QueryRowContext(ctx, "select name, size from embedder").Scan(&is, &size); err != nil {
			return err
		}
		if is != name {
			return fmt.Errorf("the vectors are of the model %s now", is)
		}
		for _, one := range all {
			if size == 0 {
				size = len(one.v)
			}
			if len(one.v) > 0 && len(one.v) != size {
				return fmt.Errorf("the model returned a vector of %d components, and %d before", len(one.v), size)
			}
			if err := one.write(ctx, tx); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "update embedder set size = ?", size)
		return err
	})
}

// write writes a vector, unless its row was deleted or has other words now.
func (one *vector) write(ctx context.Context, tx *sql.Tx) error {
	var words string
	err := tx.QueryRowContext(ctx, "select t from docs where id = ?", one.id).Scan(&words)
	if errors.Is(err, sql.ErrNoRows) || err == nil && sumOf(words) != one.sum {
		return nil
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "delete from unembedded where id = ?", one.id)
	}
	if err == nil {
		err = deleteVector(ctx, tx, one.id)
	}
	if err == nil && !one.none {
		_, err = tx.ExecContext(ctx, "insert into vectors values(?, ?, ?)", one.id, one.sum, encodeVector(one.v))
	}
	if err == nil && len(one.v) > 0 {
		_, err = tx.ExecContext(ctx, "insert into signs(id, b) values(?, ?)", one.id, encodeSigns(one.v))
	}
	return err
}

// deleteVector deletes the vector of a row, if there is one.
func deleteVector(ctx context.Context, tx *sql.Tx, id int64) error {
	if _, err := tx.ExecContext(ctx, "delete from signs where id = ?", id); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "delete from vectors where id = ?", id)
	return err
}

// sumOf returns a hash of the words of a row.
func sumOf(words string) int64 { return int64(hash(words)) }

// Queries for queued rows that may need no embedding: they are gone, or have a vector.
const (
	maybeSettled    = "(not exists (select 1 from docs where docs.id = u.id) or exists (select 1 from vectors where vectors.id = u.id))"
	settledAfter    = "select u.id from unembedded u where u.id > ? and " + maybeSettled + " order by u.id limit 500"
	settledAmong    = "select u.id from json_each(?) j join unembedded u on u.id = j.value where " + maybeSettled
	wordsAndSum     = "select docs.t, vectors.sum from (select ? id) u left join docs on docs.id = u.id left join vectors on vectors.id = u.id"
	firstUnembedded = "select id from unembedded order by id limit ?"
)

// dropEmbedded removes the rows from the queue that need no embedding: those that are gone, with
// their vectors, and those whose words are those of their vector. It returns their number.
func (d *database) dropEmbedded(ctx context.Context, ids []int64) (n int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	err = d.change(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			var words sql.NullString
			var sum sql.NullInt64
			if err := tx.QueryRowContext(ctx, wordsAndSum, id).Scan(&words, &sum); err != nil {
				return err
			}
			if !words.Valid {
				if err := deleteVector(ctx, tx, id); err != nil {
					return err
				}
			} else if !sum.Valid || sum.Int64 != sumOf(words.String) {
				continue
			}
			n++
			if _, err := tx.ExecContext(ctx, "delete from unembedded where id = ?", id); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// encodeVector encodes a vector as bytes from -127 to 127. Its length does not matter.
func encodeVector(v []float32) []byte {
	most := float32(0)
	for _, x := range v {
		most = max(most, max(x, -x))
	}
	data := make([]byte, len(v))
	for i, x := range v {
		if most > 0 {
			data[i] = byte(int8(math.Round(float64(x / most * 127))))
		}
	}
	return data
}

// similarity returns the cosine of an encoded vector and another one.
func similarity(data []byte, v []float32) float64 {
	if len(data) != len(v) {
		return 0
	}
	dot, a, b := 0.0, 0.0, 0.0
	for i, x := range v {
		y := float64(int8(data[i]))
		dot += float64(x) * y
		a += float64(x) * float64(x)
		b += y * y
	}
	if a == 0 || b == 0 {
		return 0
	}
	return dot / math.Sqrt(a*b)
}

// encodeSigns encodes the signs of a vector, in whole words of eight bytes.
func encodeSigns(v []float32) []byte {
	data := make([]byte, (len(v)+63)/64*8)
	for i, x := range v {
		if x > 0 {
			data[i/8] |= 1 << (i % 8)
		}
	}
	return data
}

// signTable holds the signs of all vectors of an index in memory. It is safe for concurrent
// use.
type signTable struct {
	mu   sync.Mutex
	last int64
	// words is the number of words of each vector.
	words int
	ids   []int64
	bits  []uint64
}

// forget drops the table, so that no trace of erased texts is left.
func (t *signTable) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.words, t.ids, t.bits = 0, 0, nil, nil
}

// refresh reads the signs that were added.
func (t *signTable) refresh(ctx context.Context, d *database) error {
	rows, err := d.read.QueryContext(ctx, "select seq, id, b from signs where seq > ? order by seq", t.last)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var seq, id int64
		var b []byte
		if err := rows.Scan(&seq, &id, &b); err != nil {
			return err
		}
		t.last = seq
		if t.words == 0 {
			t.words = len(b) / 8
		}
		if len(b) == 0 || len(b) != 8*t.words {
			continue // of another model
		}
		t.ids = append(t.ids, id)
		for ; len(b) > 0; b = b[8:] {
			t.bits = append(t.bits, binary.LittleEndian.Uint64(b))
		}
	}
	return rows.Err()
}

// roughest returns the rows whose signs differ least from those of a vector, at most most.
func (t *signTable) roughest(ctx context.Context, d *database, v []float32, most int) ([]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(ctx, d); err != nil {
		return nil, err
	}
	signs := encodeSigns(v)
	if len(t.ids) == 0 || len(signs) != 8*t.words {
		return nil, nil
	}
	want := make([]uint64, t.words)
	for i := range want {
		want[i] = binary.LittleEndian.Uint64(signs[8*i:])
	}
	distances, count := make([]uint16, len(t.ids)), make([]int, 64*t.words+1)
	for k := range t.ids {
		n := 0
		for i, w := range t.bits[k*t.words : (k+1)*t.words] {
			n += bits.OnesCount64(w ^ want[i])
		}
		distances[k] = uint16(n)
		count[n]++
	}
	limit, sum := 0, 0
	for limit < len(count) && sum+count[limit] <= most {
		sum += count[limit]
		limit++
	}
	ids := make([]int64, 0, most)
	for k, n := range distances {
		if same := int(n) == limit; same && sum < most || int(n) < limit {
			ids = append(ids, t.ids[k])
			sum += asNumber(same)
		}
	}
	return ids, nil
}

// similarRow is a row and the similarity of its vector.
type similarRow struct {
	id, sum    int64
	similarity float64
}

// nearest returns the rows with the most similar vectors, best first.
func (d *database) nearest(ctx context.Context, v []float32, most int) ([]similarRow, error) {
	ids, err := d.signs.roughest(ctx, d, v, most)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	slices.Sort(ids)
	ids = slices.Compact(ids) // a row that was embedded again has older signs in memory
	rows, err := d.read.QueryContext(ctx, "select vectors.id, vectors.sum, vectors.v from json_each(?) j join vectors on vectors.id = j.value", list(ids))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []similarRow
	for rows.Next() {
		var one similarRow
		var data []byte
		if err := rows.Scan(&one.id, &one.sum, &data); err != nil {
			return nil, err
		}
		if one.similarity = similarity(data, v); one.similarity > 0 {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b similarRow) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.id, b.id))
	})
	return all, rows.Err()
}
