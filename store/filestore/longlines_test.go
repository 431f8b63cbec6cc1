package filestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// countingFS counts the bytes read.
type countingFS struct {
	vfs.FS
	read *atomic.Int64
}

type countingFile struct {
	vfs.File
	read *atomic.Int64
}

func (c countingFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	file, err := c.FS.Open(path, mode)
	return countingFile{file, c.read}, err
}

func (c countingFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.File.ReadAt(p, at)
	c.read.Add(int64(n))
	return n, err
}

// TestLongLineIsReadOnce reads a session with a line over the limit forwards, backwards
// and in lists. The line must be read only once, the result must be the same as without a
// cache, and a changed file must be read again.
func TestLongLineIsReadOnce(t *testing.T) {
	const limit, length = 20_000, 4_000_000
	home, id := t.TempDir(), firn.ID("01980000-0000-7000-8000-000000000001")
	path := filepath.Join(home, "agents", "main", "sessions", string(id)+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	line := func(n int, text string) string {
		return fmt.Sprintf(`{"type":"message","id":"e%011d","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":[{"type":"text","text":"%s"}],"timestamp":1767323046000}}`+"\n", n, text)
	}
	head := fmt.Sprintf(`{"type":"session","version":3,"id":"%s","timestamp":"2026-01-02T03:04:05.000Z","cwd":"","firn":1,"agent":"main"}`+"\n", id)
	write := func(text string, at time.Time) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	var read atomic.Int64
	open := func() *filestore.Store {
		st, err := filestore.Open(home, filestore.Options{FS: countingFS{vfs.OS{}, &read}, MaxLine: limit})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	look := func(st *filestore.Store, list bool) string {
		var b strings.Builder
		report := func(rec firn.Record, err error) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%d-%d %s", rec.At, rec.Next, rec.Glance.ID)
			if rec.Gap != nil {
				fmt.Fprintf(&b, " %s", rec.Gap.Kind)
			}
			b.WriteString("\n")
		}
		for rec, err := range st.Read(t.Context(), id, store.Start) {
			report(rec, err)
		}
		for rec, err := range st.ReadBack(t.Context(), id, store.End) {
			report(rec, err)
		}
		if list {
			for _, err := range st.List(t.Context(), store.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		return b.String()
	}
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	long := line(2, strings.Repeat("x", length))
	texts := []string{
		head + line(1, "a") + long + line(3, "b"),
		head + line(1, "a") + long + line(3, "b") + line(4, "c"),
		head + line(1, "a") + strings.Replace(long, "xxxx", "\nxx\n", 1) + line(3, "b") + line(4, "c"), // same size
		long + line(3, "b") + long,
		head + line(1, "a") + strings.TrimSuffix(long, "\n"),
	}
	st := open()
	for i, text := range texts {
		write(text, day.Add(time.Duration(i)*time.Hour))
		want := look(open(), false) // without a cache
		read.Store(0)
		for round := range 4 {
			if got := look(st, strings.HasPrefix(text, head)); got != want {
				t.Fatalf("text %d, round %d: it reads\n%s\nwant\n%s", i, round, got, want)
			}
			if round == 1 { // as does every one from now on
				read.Store(0)
			}
		}
		if n := read.Load(); i < len(texts)-1 && n > length/2 {
			t.Errorf("text %d: %d bytes were read again", i, n)
		}
	}
}
