package fulltext

import (
	"context"
	"database/sql"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/search"
)

// sealed is a file system in which no file can be opened for writing.
type sealed struct{ vfs.FS }

func (s sealed) MkdirAll(string) error { return syscall.EROFS }

func (s sealed) Open(path string, mode vfs.Mode) (vfs.File, error) {
	if mode != vfs.Read {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EROFS}
	}
	return s.FS.Open(path, mode)
}

// TestReadOnlyHome searches and checks an index that cannot be written: SQLite cannot
// create its log, because a directory has that name.
func TestReadOnlyHome(t *testing.T) {
	b := newTestIndex(t)
	b.fill(3, 10)
	want := entries(b.search("flaky message"))
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, "index", fileName)
	if err := os.RemoveAll(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path+"-wal", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b.open()
	b.index.fs = sealed{vfs.OS{}}
	for range 2 {
		if got := entries(b.search("flaky message")); got != want || want == "" {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	if d, err := b.index.Check(context.Background()); err != nil || len(d) > 0 {
		t.Errorf("the check returned %v, %v", d, err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the index was changed: %v", err)
	}
	b.index.fs = vfs.OS{}
	if err := os.RemoveAll(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	late := firn.NewEntry(firn.UserText("a flaky message that came later").Body)
	b.append("late", late)
	if got := entries(b.search("later")); got != string(late.ID) {
		t.Errorf("when it can be written again %q is found", got)
	}
}

// TestCompareUsesOneSnapshot appends and indexes a message between the two reads that are
// compared.
func TestCompareUsesOneSnapshot(t *testing.T) {
	b := newTestIndex(t)
	b.fill(3, 10)
	b.search("flaky message")
	db, err := openUnchanged(b.index.path(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := &checker{x: b.index, db: &database{path: b.index.path(), read: db}, readOnly: true}
	if err := c.hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := c.countRows(t.Context(), talk)
	if err != nil {
		t.Fatal(err)
	}
	late := firn.NewEntry(firn.UserText("a word that came later").Body)
	b.append("late", late)
	if got := entries(b.search("later")); got != string(late.ID) {
		t.Fatalf("%q is found", got)
	}
	words, err := c.countWords(t.Context(), talk)
	if err != nil || len(rows) == 0 || !maps.Equal(rows, words) {
		t.Errorf("the rows have %d words, the word table has %d (%v)", len(rows), len(words), err)
	}
}

// TestDirectoryInPlaceOfIndex checks that the error names the directory.
func TestDirectoryInPlaceOfIndex(t *testing.T) {
	b := newTestIndex(t)
	b.fill(1, 2)
	path := filepath.Join(b.dir, "index", fileName)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	q, err := search.Parse("flaky", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.index.Search(context.Background(), q); err == nil || !strings.Contains(err.Error(), path+" is a directory") {
		t.Errorf("it reports %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if len(b.search("flaky")) == 0 {
		t.Error("nothing is found after it was removed")
	}
}

// TestFullDisk checks that a full disk is reported.
func TestFullDisk(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "small.db")+"?_pragma=max_page_count(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec("create table a(b); create table c(d)")
	if err = explain("open the word index", err); err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), "firn grep") {
		t.Errorf("it reports %v", err)
	}
	if !isFull(4874) || isFull(4618) {
		t.Error("a lack of shared memory is not distinguished from other errors")
	}
}

// vanishing removes the index right after the check that it exists.
type vanishing struct {
	vfs.FS
	path  string
	armed atomic.Bool
}

func (v *vanishing) Stat(path string) (vfs.Info, error) {
	info, err := v.FS.Stat(path)
	if path == v.path && v.armed.CompareAndSwap(true, false) {
		err = removeFiles(v.FS, path)
	}
	return info, err
}

// TestIndexRemovedDuringSearch removes the index while a search begins.
func TestIndexRemovedDuringSearch(t *testing.T) {
	b := newTestIndex(t)
	b.fill(3, 10)
	v := &vanishing{FS: vfs.OS{}, path: b.index.path()}
	b.index.fs = v
	want := entries(b.search("flaky message"))
	v.armed.Store(true)
	if got := entries(b.search("flaky message")); got != want || want == "" {
		t.Errorf("found %q, want %q", got, want)
	}
	if v.armed.Load() {
		t.Error("it was not removed")
	}
}
