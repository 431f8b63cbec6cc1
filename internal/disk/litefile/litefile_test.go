package litefile

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"firn.dev"
)

// live creates a database in the given mode and leaves it open, as a running program does.
func live(t *testing.T, dir, mode string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "a.db")+"?_pragma=journal_mode("+mode+")")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	run(t, db, "create table t(n integer primary key, text text)")
	return db
}

func run(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

// count returns the number of rows that Read sees.
func count(t *testing.T, dir string) (n int, err error) {
	t.Helper()
	err = Read(os.DirFS(dir), "a.db", func(db *sql.DB) error {
		return db.QueryRow("select count(*) from t where length(text) > 0").Scan(&n)
	})
	return n, err
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		info, _ := e.Info()
		all = append(all, fmt.Sprint(e.Name(), info.Size(), info.ModTime().UnixNano()))
	}
	return all
}

func TestReadLive(t *testing.T) {
	for _, mode := range []string{"wal", "delete", "persist", "truncate"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			db := live(t, dir, mode)
			for i := range 50 {
				run(t, db, "insert into t(text) values(?)", fmt.Sprintf("%0*d", 1+i*100, i))
				before := names(t, dir)
				if n, err := count(t, dir); n != i+1 || err != nil {
					t.Fatalf("after %d rows: read %d, %v", i+1, n, err)
				}
				if after := names(t, dir); !slices.Equal(before, after) {
					t.Fatalf("reading changed the directory: %v, then %v", before, after)
				}
				if i == 20 && mode == "wal" {
					run(t, db, "pragma wal_checkpoint(truncate)")
				}
			}
			run(t, db, "delete from t where n > 10")
			run(t, db, "vacuum")
			if n, err := count(t, dir); n != 10 || err != nil {
				t.Errorf("after vacuum: read %d, %v", n, err)
			}
			db.Close()
			if n, err := count(t, dir); n != 10 || err != nil {
				t.Errorf("after closing: read %d, %v", n, err)
			}
		})
	}
}

func TestReadIgnoresOpenTransaction(t *testing.T) {
	dir := t.TempDir()
	db := live(t, dir, "wal")
	run(t, db, "insert into t(text) values('a')")
	run(t, db, "pragma cache_size=1")
	run(t, db, "begin")
	for range 200 {
		run(t, db, "insert into t(text) values(?)", fmt.Sprintf("%5000d", 1))
	}
	if n, err := count(t, dir); n != 1 || err != nil {
		t.Errorf("read %d rows, %v; want the committed one", n, err)
	}
	run(t, db, "commit")
	if n, err := count(t, dir); n != 201 || err != nil {
		t.Errorf("read %d rows, %v", n, err)
	}
}

func TestReadAgainAfterChange(t *testing.T) {
	dir := t.TempDir()
	db := live(t, dir, "wal")
	run(t, db, "insert into t(text) values('a')")
	calls, n := 0, 0
	err := Read(os.DirFS(dir), "a.db", func(read *sql.DB) error {
		if calls++; calls == 1 {
			run(t, db, "insert into t(text) values('b')")
			run(t, db, "pragma wal_checkpoint(truncate)")
		}
		return read.QueryRow("select count(*) from t").Scan(&n)
	})
	if err != nil || n != 2 || calls != 2 {
		t.Errorf("read %d rows in %d calls, %v", n, calls, err)
	}
	err = Read(os.DirFS(dir), "a.db", func(*sql.DB) error {
		run(t, db, "insert into t(text) values('b')")
		run(t, db, "pragma wal_checkpoint(truncate)")
		return nil
	})
	if !errors.Is(err, firn.ErrConflict) {
		t.Errorf("a database that never rests: %v", err)
	}
}

func TestReadDamage(t *testing.T) {
	dir := t.TempDir()
	db := live(t, dir, "delete")
	for range 50 {
		run(t, db, "insert into t(text) values(?)", fmt.Sprintf("%2000d", 1))
	}
	db.Close()
	whole, err := os.ReadFile(filepath.Join(dir, "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	for size := 0; size < len(whole); size += 1500 {
		if err := os.WriteFile(filepath.Join(dir, "a.db"), whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := count(t, dir); !errors.Is(err, firn.ErrCorrupt) {
			t.Fatalf("cut to %d bytes: read %d, %v", size, n, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "a.db")); err != nil {
		t.Fatal(err)
	}
	if _, err := count(t, dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte("7\x7f\x06\x82"), []byte("x"))
	f.Fuzz(func(t *testing.T, db, log []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"a.db": append(slices.Clone(magic), db...), "a.db-wal": log} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = count(t, dir) // it must return
	})
}
