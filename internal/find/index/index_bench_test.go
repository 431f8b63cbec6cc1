package index

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

const manySessions = 10_000

// benchCatalogue creates the catalog of a source in a directory.
func benchCatalogue(b *testing.B, dir string, src Source) {
	b.Helper()
	c, err := Open(vfs.OS{}, dir, src, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Rebuild(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(c.path())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB-file")
}

// benchHome creates and opens a home with many small sessions.
func benchHome(b *testing.B) (*filestore.Store, string) {
	b.Helper()
	home := b.TempDir()
	dir := filepath.Join(home, "agents", "main", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range manySessions {
		id := fmt.Sprintf("0199a%03x-0000-7000-8000-%012d", i%4096, i)
		text := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/somebody/projects/the-project"}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-02T03:%02d:%02d.%03dZ","message":{"role":"user","content":"please have a look at the failing test in package store and tell me why it fails on Tuesdays only"}}
`, id, i/60%60, i%60, i%1000)
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	s, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s, filepath.Join(home, "index")
}

// benchList opens the catalog in each iteration, as a command would, and lists.
func benchList(b *testing.B, dir string, src Source, limit, want int) {
	b.ReportAllocs()
	for b.Loop() {
		c, err := Open(vfs.OS{}, dir, src, Options{})
		if err != nil {
			b.Fatal(err)
		}
		page, err := c.Page(b.Context(), store.Query{Limit: limit}, Cursor{})
		if err != nil || len(page.Infos) != want {
			b.Fatalf("%d sessions are listed, %v", len(page.Infos), err)
		}
	}
}

// BenchmarkListAllNoFiles measures reading the catalog, without session files.
func BenchmarkListAllNoFiles(b *testing.B) {
	src, dir := fakeSource{n: manySessions}, b.TempDir()
	benchCatalogue(b, dir, src)
	benchList(b, dir, src, 0, manySessions)
}

func BenchmarkRead(b *testing.B) {
	src, dir := fakeSource{n: manySessions}, b.TempDir()
	benchCatalogue(b, dir, src)
	b.ReportAllocs()
	for b.Loop() {
		book, err := openCatalogueFile(vfs.OS{}, filepath.Join(dir, fileName))
		if err != nil {
			b.Fatal(err)
		}
		if rows, err := book.readAll(); err != nil || len(rows) != manySessions {
			b.Fatal(len(rows), err)
		}
		book.close()
	}
}

// BenchmarkFiles includes a stat of each listed session.
func BenchmarkFiles(b *testing.B) {
	s, dir := benchHome(b)
	b.Run("Rebuild", func(b *testing.B) {
		for b.Loop() {
			benchCatalogue(b, dir, s)
		}
	})
	b.Run("ListAll", func(b *testing.B) { benchList(b, dir, s, 0, manySessions) })
	b.Run("Page50", func(b *testing.B) { benchList(b, dir, s, 50, 50) })
	b.Run("Page50AfterAppend", func(b *testing.B) {
		c, err := Open(vfs.OS{}, dir, s, Options{})
		if err != nil {
			b.Fatal(err)
		}
		w := Wrap(s, c)
		id := firn.ID(fmt.Sprintf("0199a%03x-0000-7000-8000-%012d", 7, 7))
		text := firn.Entry{Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "more"}}}}
		for b.Loop() {
			if _, err := w.Append(b.Context(), id, store.Any, text); err != nil {
				b.Fatal(err)
			}
			for _, err := range w.List(b.Context(), store.Query{Limit: 50}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("NoCatalogue", func(b *testing.B) {
		for b.Loop() {
			for _, err := range s.List(b.Context(), store.Query{}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkNote measures the cost of recording a change per append.
func BenchmarkNote(b *testing.B) {
	c, err := Open(vfs.OS{}, b.TempDir(), fakeSource{n: 1}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.beginChange(); err != nil {
			b.Fatal(err)
		}
		c.endChange("session", false)
	}
}

// BenchmarkCount counts all sessions with a text, as a gateway does for every page of a
// list.
func BenchmarkCount(b *testing.B) {
	dir, src := b.TempDir(), fakeSource{manySessions}
	benchCatalogue(b, dir, src)
	c, err := Open(vfs.OS{}, dir, src, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if n, err := c.Count(b.Context(), store.Query{Text: "number 77"}); err != nil || n == 0 {
			b.Fatal(n, err)
		}
	}
}
