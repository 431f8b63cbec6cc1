package historytest

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	_ "firn.dev/internal/disk/litefile" // registers the driver of SQLite
)

// Database creates a database below a directory with SQL statements and leaves it open
// with its write-ahead log, as the tool does while it runs.
func Database(t *testing.T, dir, name, statements string) *sql.DB {
	t.Helper()
	Put(t, dir, name, "")
	path := url.URL{Path: filepath.ToSlash(filepath.Join(dir, name))} // names of fuzz tests contain #
	db, err := sql.Open("sqlite", "file:"+path.EscapedPath()+"?_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	Exec(t, db, statements)
	return db
}

// Exec runs SQL statements.
func Exec(t *testing.T, db *sql.DB, statements string) {
	t.Helper()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}
