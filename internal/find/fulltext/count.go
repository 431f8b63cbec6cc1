package fulltext

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"strings"

	"firn.dev/internal/disk/vfs"
)

// openReadOnly opens an index file without changing it or any file next to it. If there is
// no WAL with pending changes, the file is opened as immutable. If the WAL cannot be read,
// for example on a read-only file system, the file is read without it.
func openReadOnly(ctx context.Context, fsys vfs.FS, path string) (*sql.DB, error) {
	info, err := fsys.Stat(path + "-wal")
	if err != nil || info.Size == 0 {
		return openUnchanged(path, true)
	}
	db, err := openUnchanged(path, false)
	if err != nil {
		return nil, err
	}
	var tables int
	if db.QueryRowContext(ctx, "select count(*) from sqlite_master").Scan(&tables) == nil {
		return db, nil
	}
	if err := db.Close(); err != nil {
		return nil, fmt.Errorf("open the word index: %w", err)
	}
	return openUnchanged(path, true)
}

// openUnchanged opens a file for reading. If alone is true, no other process changes the
// file.
func openUnchanged(path string, alone bool) (*sql.DB, error) {
	q := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "temp_store(memory)", "busy_timeout(5000)", fmt.Sprintf("cache_size(-%d)", readCache)}}
	if alone {
		q.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open the word index: %w", err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// hold starts a read transaction, so that all later reads see one snapshot even if a
// running gateway adds to the index. The file must have been opened read-only, with one
// connection.
func (c *checker) hold(ctx context.Context) error {
	_, err := c.db.read.ExecContext(ctx, "begin")
	return explain("check the word index", err)
}

// wordCount is the number of rows that contain a word, and its total number of occurrences.
type wordCount struct{ rows, times int }

// count compares the word counts of one space's FTS table with those of its rows.
func (c *checker) count(ctx context.Context, s space) error {
	want, err := c.countRows(ctx, s)
	if err != nil {
		return err
	}
	got, err := c.countWords(ctx, s)
	if err == nil && !maps.Equal(want, got) {
		c.differ("", "the indexed words of %s differ from the sessions", spaceNames[s])
	}
	return err
}

// countWords counts the words in the FTS table of one space, keyed by column and word.
func (c *checker) countWords(ctx context.Context, s space) (map[string]wordCount, error) {
	all := make(map[string]wordCount)
	name := fmt.Sprintf("words%d", s)
	if _, err := c.db.read.ExecContext(ctx, fmt.Sprintf("pragma query_only(0); create virtual table temp.%s using fts5vocab(main, fts%d, col)", name, s)); err != nil {
		return nil, explain("check the word index", err)
	}
	err := c.each(ctx, "select term, col, doc, cnt from temp."+name, nil, func(rows *sql.Rows) error {
		var term, column string
		var n wordCount
		err := rows.Scan(&term, &column, &n.rows, &n.times)
		all[column+term] = n
		return err
	})
	return all, err
}

// countRows counts the words in the rows of one space, keyed by column and word.
func (c *checker) countRows(ctx context.Context, s space) (map[string]wordCount, error) {
	all := make(map[string]wordCount)
	err := c.each(ctx, "select t, x, f from docs where space = ?", []any{int(s)}, func(rows *sql.Rows) error {
		var t, x, f string
		if err := rows.Scan(&t, &x, &f); err != nil {
			return err
		}
		for column, text := range map[string]string{"t": t, "x": x, "f": f} {
			seen := make(map[string]bool)
			for word := range strings.FieldsSeq(text) {
				n := all[column+word]
				if n.times++; !seen[word] {
					seen[word] = true
					n.rows++
				}
				all[column+word] = n
			}
		}
		return nil
	})
	return all, err
}
