package fulltext

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"modernc.org/sqlite" // SQLite; nothing is opened before it is needed
	sqlite3 "modernc.org/sqlite/lib"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// version is the version of the schema and of the text analysis. An index of another
// version is rebuilt.
const version = 7

// schema creates the tables. The original text is not stored: t, x and f hold normalized
// words, which ranking and deleting need.
const schema = `
create table sessions(
	id integer primary key, sid text not null, agent text, key text, source text, cwd text,
	title text, titleSource text, prompt text, created integer, updated integer,
	bytes integer, modified integer, parts integer, archived integer,
	fin integer, last text, count integer, shape blob, unread integer not null);
create unique index sessions_sid on sessions(sid);
create index sessions_unread on sessions(unread) where unread > 0;
create table docs(
	id integer primary key, session integer not null, n integer not null, at integer not null, entry text not null,
	space integer not null, role text not null, calls integer not null, time integer not null, words integer not null, asks integer not null,
	t text not null, x text not null, f text not null);
create index docs_place on docs(session, n, space);
create table days(space integer, day integer, docs integer, words integer, primary key(space, day)) without rowid;
create view docs0 as select id, t, x, f from docs where space = 0;
create view docs1 as select id, t, x, f from docs where space = 1;
create virtual table fts0 using fts5(t, x, f, content='docs0', content_rowid='id', tokenize='ascii', columnsize=0);
create virtual table fts1 using fts5(t, x, f, content='docs1', content_rowid='id', tokenize='ascii', columnsize=0);
insert into fts0(fts0, rank) values('automerge', 8);
insert into fts0(fts0, rank) values('crisismerge', 200);
insert into fts0(fts0, rank) values('hashsize', 33554432);
insert into fts1(fts1, rank) values('hashsize', 33554432);
`

// dayLength is the length of a day in the days table, in milliseconds.
const dayLength = 24 * 60 * 60 * 1000

// database is an open index file.
type database struct {
	path string
	// write has a single connection, so that changes are serialized; read has several,
	// which see committed changes.
	write, read *sql.DB
	// inode identifies the file, if known; users counts its current users.
	inode uint64
	users sync.WaitGroup
	// why, if not nil, is the reason why the file could only be opened read-only.
	why error
	// signs are those of the vectors, once read.
	signs signTable
	// known caches prepared statements by query.
	known sync.Map
}

// query runs a query with a cached prepared statement.
func (d *database) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := d.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// queryRow runs a query for one row.
func (d *database) queryRow(ctx context.Context, query string, args ...any) scanner {
	stmt, err := d.prepared(ctx, query)
	if err != nil {
		return failedRow{err}
	}
	return stmt.QueryRowContext(ctx, args...)
}

// scanner is the result of a one-row query.
type scanner interface{ Scan(into ...any) error }

// failedRow is a scanner for a query that failed.
type failedRow struct{ err error }

// Scan returns the error of the query.
func (f failedRow) Scan(...any) error { return f.err }

func (d *database) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := d.known.Load(query); ok {
		return stmt.(*sql.Stmt), nil
	}
	stmt, err := d.read.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if other, ok := d.known.LoadOrStore(query, stmt); ok {
		return other.(*sql.Stmt), stmt.Close()
	}
	return stmt, nil
}

// Cache sizes per connection, in kB.
const (
	writeCache = 32 << 10
	readCache  = 8 << 10
	readers    = 4
)

// openDatabase opens the index file and creates it if it does not exist. It fails with
// ErrCorrupt if the file is damaged or of another version.
func openDatabase(ctx context.Context, fsys vfs.FS, path string, how access) (*database, error) {
	if err := makeFile(fsys, path); err != nil {
		return nil, err
	}
	d := &database{path: path}
	var err error
	if d.write, err = sql.Open("sqlite", address(path, writeCache, how)); err != nil {
		return nil, fmt.Errorf("open the word index: %w", err)
	}
	d.write.SetMaxOpenConns(1)
	if d.read, err = sql.Open("sqlite", address(path, readCache, reading)); err != nil {
		return nil, errors.Join(fmt.Errorf("open the word index: %w", err), d.write.Close())
	}
	d.read.SetMaxOpenConns(readers)
	d.read.SetMaxIdleConns(readers)
	if err := d.prepare(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if info, err := fsys.Stat(path); err == nil {
		d.inode = info.Inode
	}
	return d, nil
}

// makeFile creates the file, accessible to its owner only. SQLite gives its other files the
// same mode.
func makeFile(fsys vfs.FS, path string) error {
	info, err := fsys.Stat(path)
	if err == nil && info.Mode.IsDir() {
		return fmt.Errorf("open the word index: %w: %s is a directory; remove it, and the index is created in its place", firn.ErrInvalid, path)
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fsys.MkdirAll(filepath.Dir(path)); err != nil {
		return fmt.Errorf("open the word index: %w", err)
	}
	file, err := fsys.Open(path, vfs.Create)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process created it first
	}
	if err != nil {
		return fmt.Errorf("open the word index: %w", err)
	}
	return file.Close()
}

// access is a list of pragmas for a mode of use.
type access []string

// Access modes. A safe file survives a crash and can be read during writes. A file that is
// deleted unless it is completed needs neither.
var (
	safe    = access{"journal_mode(wal)", "synchronous(normal)"}
	unsafe  = access{"journal_mode(off)", "synchronous(off)"}
	reading = access{"query_only(1)"}
)

// address returns the data source name for a file. Deleted content is overwritten, and
// temporary data is kept in memory.
func address(path string, cache int, how access) string {
	q := url.Values{}
	q.Set("_txlock", "immediate")
	for _, pragma := range append([]string{"busy_timeout(5000)", "secure_delete(1)", "temp_store(memory)", fmt.Sprintf("cache_size(-%d)", cache)}, how...) {
		q.Add("_pragma", pragma)
	}
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + q.Encode()
}

// prepare creates the tables of a new file, and rejects a file that is not an index of this
// version.
func (d *database) prepare(ctx context.Context) error {
	var is, tables int
	if err := d.write.QueryRowContext(ctx, "pragma user_version").Scan(&is); err != nil {
		return explain("open the word index", err)
	}
	if err := d.write.QueryRowContext(ctx, "select count(*) from sqlite_master").Scan(&tables); err != nil {
		return explain("open the word index", err)
	}
	switch {
	case is == version:
		return nil
	case is != 0 || tables != 0:
		return &outdated{is}
	}
	return d.change(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, "pragma user_version").Scan(&is); err != nil || is == version {
			return err // another process created them first
		}
		_, err := tx.ExecContext(ctx, schema+fmt.Sprintf("pragma user_version = %d", version))
		return err
	})
}

// outdated is the error for an index of another version of firn. It is replaced like a
// damaged one, but is not reported as damage.
type outdated struct{ version int }

func (o *outdated) Error() string {
	return fmt.Sprintf("the word index is of another version of firn (%d, not %d)", o.version, version)
}

// Unwrap returns ErrCorrupt.
func (o *outdated) Unwrap() error { return firn.ErrCorrupt }

// change runs do in a transaction.
func (d *database) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return explain("change the word index", err)
	}
	if err := do(tx); err != nil {
		return errors.Join(explain("change the word index", err), ignoreDone(tx.Rollback()))
	}
	return explain("change the word index", tx.Commit())
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func (d *database) close() error {
	if d == nil {
		return nil
	}
	if d.write == nil {
		return d.read.Close()
	}
	return errors.Join(d.read.Close(), d.write.Close())
}

// mergeLater runs do with the merging of FTS segments disabled.
func (d *database) mergeLater(ctx context.Context, do func() error) error {
	set := func(n int) error {
		return d.change(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "insert into fts0(fts0, rank) values('automerge', ?)", n)
			return err
		})
	}
	if err := set(0); err != nil {
		return err
	}
	return errors.Join(do(), set(8))
}

// forget removes the traces of deleted rows. Their words remain in the FTS segments, only
// marked as deleted, and merging the segments does not always remove them, so the FTS tables
// are rebuilt. When SQLite moves a row to another page, it leaves a copy in the unused part
// of the old one, which secure_delete does not overwrite; a vacuum rewrites all pages.
func (d *database) forget(ctx context.Context) error {
	err := d.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "insert into fts0(fts0) values('rebuild'); insert into fts1(fts1) values('rebuild')")
		return err
	})
	if err != nil {
		return err
	}
	return explain("vacuum the word index", d.vacuum(ctx))
}

// vacuumInMemory is the size of an index up to which the copy that a vacuum makes of it is
// kept in memory. A larger one is in a temporary file, which SQLite deletes while it is open.
const vacuumInMemory = 256 << 20

func (d *database) vacuum(ctx context.Context) (err error) {
	var size int64
	if err := d.write.QueryRowContext(ctx, "select page_count * page_size from pragma_page_count, pragma_page_size").Scan(&size); err != nil {
		return err
	}
	if size > vacuumInMemory {
		if _, err := d.write.ExecContext(ctx, "pragma temp_store = file"); err != nil {
			return err
		}
		defer func() {
			_, back := d.write.ExecContext(context.WithoutCancel(ctx), "pragma temp_store = memory")
			err = errors.Join(err, back)
		}()
	}
	_, err = d.write.ExecContext(ctx, "vacuum")
	return err
}

// scrub truncates the WAL, so that no deleted content remains in it.
func (d *database) scrub(ctx context.Context) error {
	var busy, log, done int
	if err := d.write.QueryRowContext(ctx, "pragma wal_checkpoint(truncate)").Scan(&busy, &log, &done); err != nil {
		return explain("empty the log of the word index", err)
	}
	if busy != 0 {
		return fmt.Errorf("truncate the log of the word index: %w: it is being read", firn.ErrLocked)
	}
	return nil
}

// explain wraps a SQLite error. If the error indicates a damaged file, the result is
// ErrCorrupt.
func explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	var e *sqlite.Error
	if errors.As(err, &e) {
		if isFull(e.Code()) {
			return fmt.Errorf("%s: the disk is full (firn grep needs no index): %w", doing, err)
		}
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
			return fmt.Errorf("%s: %w: %w", doing, firn.ErrCorrupt, err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return fmt.Errorf("%s: %w: %w", doing, firn.ErrLocked, err)
		case sqlite3.SQLITE_ERROR:
			// a missing or altered table
			if text := e.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "no such column") || strings.Contains(text, "malformed") || strings.Contains(text, "vtable constructor") {
				return fmt.Errorf("%s: %w: %w", doing, firn.ErrCorrupt, err)
			}
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// isFull reports whether a SQLite error code means that there is no space, for the file or
// for the shared memory.
func isFull(code int) bool {
	return code&0xff == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR_SHMSIZE
}

// companions are the suffixes of the files of an index.
var companions = []string{"", "-wal", "-shm", "-journal"}

// removeFiles deletes the files of an index.
func removeFiles(fsys vfs.FS, path string) error {
	var errs []error
	for _, ending := range companions {
		if err := fsys.Remove(path + ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
