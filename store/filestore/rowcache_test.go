package filestore_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/rowcache"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// talkOnly creates sessions of about 300 kB without a checkpoint, like a program that only
// appends, with a title in the middle. Their files are an hour old.
func talkOnly(t *testing.T, home string, n int, parts int64) {
	t.Helper()
	s, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever, PartSize: parts})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		id := firn.ID(fmt.Sprintf("s%03d", i))
		entries := []firn.Entry{{Body: &firn.Header{Session: id, Key: fmt.Sprint("k", i)}}}
		for j := range 300 {
			if j == 150 {
				entries = append(entries, firn.Entry{Body: &firn.Title{Name: fmt.Sprint("mine ", i), Source: firn.SourceUser}})
			}
			entries = append(entries, firn.UserText(fmt.Sprint("talk ", j, strings.Repeat(" more", 200))))
		}
		if _, err := s.Append(t.Context(), id, store.Start, entries...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	age(t, home)
}

// age sets back the times of all transcripts, since recently changed ones are not cached.
func age(t *testing.T, home string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(home, "agents/*/sessions/*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// process acts like another process: it opens the home, lists it and returns the rows and
// the number of bytes read.
func process(t *testing.T, home string, o filestore.Options) ([]store.Info, int64) {
	t.Helper()
	m := &meter{FS: vfs.OS{}}
	o.FS = m
	s, err := filestore.Open(home, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all []store.Info
	for info, err := range s.List(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		info.Created, info.Updated = info.Created.UTC(), info.Updated.UTC()
		all = append(all, info)
	}
	return all, m.read.Load()
}

// TestListReadsLittleInTheNextProcess lists sessions without a checkpoint. The first
// process reads them completely, later ones a bounded amount of each, with the same result.
func TestListReadsLittleInTheNextProcess(t *testing.T) {
	const sessions = 20
	for name, parts := range map[string]int64{"one file": 0, "several files": 100_000} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			talkOnly(t, home, sessions, parts)
			looked, before := process(t, home, filestore.Options{ReadOnly: true})
			if _, err := os.Stat(filepath.Join(home, "index")); err == nil {
				t.Error("a read-only home was written to")
			}
			first, whole := process(t, home, filestore.Options{})
			if whole < sessions*300_000 || before < sessions*300_000 {
				t.Fatalf("read %d and %d bytes: the sessions do not suit this test", before, whole)
			}
			second, little := process(t, home, filestore.Options{})
			third, looking := process(t, home, filestore.Options{ReadOnly: true})
			if most := int64(sessions * 16 << 10); little > most || looking > most {
				t.Errorf("the next process read %d bytes and one that only looks %d, want at most %d", little, looking, most)
			}
			for _, other := range [][]store.Info{looked, second, third} {
				if fmt.Sprint(other) != fmt.Sprint(first) {
					t.Errorf("listed %v\nthe first listed %v", other, first)
				}
			}
			if first[0].Title != "mine 19" && first[0].Title != "mine 0" {
				t.Errorf("listed title %q", first[0].Title)
			}
		})
	}
}

// TestCachedRowsAreVerified changes sessions, and damages and deletes the cache. Lists
// must match the sessions.
func TestCachedRowsAreVerified(t *testing.T) {
	home := t.TempDir()
	talkOnly(t, home, 1, 0)
	first, _ := process(t, home, filestore.Options{})
	row := filepath.Join(home, "index", rowcache.DirName, "s000.json")
	good, err := os.ReadFile(row)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() error{
		"empty":     func() error { return os.WriteFile(row, nil, 0o600) },
		"torn":      func() error { return os.WriteFile(row, good[:len(good)/2], 0o600) },
		"flipped":   func() error { return os.WriteFile(row, bytes.Replace(good, []byte("mine"), []byte("mane"), 1), 0o600) },
		"not JSON":  func() error { return os.WriteFile(row, []byte("00000000\nno"), 0o600) },
		"deleted":   func() error { return os.Remove(row) },
		"directory": func() error { return os.RemoveAll(filepath.Dir(row)) },
	} {
		if err := damage(); err != nil {
			t.Fatal(name, err)
		}
		if now, _ := process(t, home, filestore.Options{}); fmt.Sprint(now) != fmt.Sprint(first) {
			t.Errorf("%s: listed %v, before %v", name, now, first)
		}
	}
	transcript := filepath.Join(home, "agents/main/sessions/s000.jsonl")
	was, err := os.ReadFile(transcript)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(transcript, bytes.Replace(was, []byte("mine 0"), []byte("your 0"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if now, _ := process(t, home, filestore.Options{}); now[0].Title != "your 0" {
		t.Errorf("a session edited in place is listed as %q", now[0].Title)
	}
}

// TestPurgeErasesCachedRows purges a session and entries of another. The cache must not
// contain erased text.
func TestPurgeErasesCachedRows(t *testing.T) {
	home := t.TempDir()
	talkOnly(t, home, 2, 0)
	process(t, home, filestore.Options{})
	if !anywhere(t, home, "mine 1") {
		t.Fatal("no title is cached, so the test checks nothing")
	}
	s, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var title firn.EntryID
	for rec, err := range s.Read(t.Context(), "s000", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Glance.Kind == firn.KindTitle {
			title = rec.Glance.ID
		}
	}
	if _, err := s.Purge(t.Context(), "s000", "", title); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Purge(t.Context(), "s001", ""); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"mine 0", "mine 1"} {
		if anywhere(t, home, text) {
			t.Errorf("%q is left after the purge", text)
		}
	}
}

// anywhere reports whether any file of a home contains a text.
func anywhere(t *testing.T, home, text string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || bytes.Contains(b, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
