package fulltext

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/search"
	"firn.dev/store"
)

// fill appends messages to several sessions.
func (b *testIndex) fill(sessions, messages int) {
	for s := range sessions {
		entries := make([]firn.Entry, messages)
		for i := range entries {
			entries[i] = firn.NewEntry(firn.UserText(fmt.Sprintf("message %d of session %d about the flaky lock", i, s)).Body)
		}
		b.append(firn.ID(fmt.Sprintf("sess-%d", s)), entries...)
	}
}

// TestDamagedIndexIsRebuilt damages and deletes the index in every way; searches return the same
// results afterwards.
func TestDamagedIndexIsRebuilt(t *testing.T) {
	b := newTestIndex(t)
	b.fill(5, 20)
	want := entries(b.search("flaky message"))
	path := filepath.Join(b.dir, "index", fileName)
	harm := map[string]func(data []byte) []byte{
		"deleted":      func([]byte) []byte { return nil },
		"empty":        func([]byte) []byte { return []byte{} },
		"cut":          func(d []byte) []byte { return d[:len(d)/2] },
		"not ours":     func([]byte) []byte { return []byte(strings.Repeat("something else\n", 1000)) },
		"no header":    func(d []byte) []byte { return append(bytes.Repeat([]byte{0}, 200), d[200:]...) },
		"other schema": func(d []byte) []byte { return bytes.ReplaceAll(d, []byte("docs_place"), []byte("docs_plaxe")) },
	}
	for name, do := range harm {
		if err := b.store.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := removeFiles(vfs.OS{}, path); err != nil {
			t.Fatal(err)
		}
		if broken := do(data); broken != nil {
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b.open()
		if got := entries(b.search("flaky message")); got != want {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
}

// TestRebuildFails checks that a failed rebuild is not reported as running: callers would
// wait for it forever.
func TestRebuildFails(t *testing.T) {
	b := newTestIndex(t)
	b.fill(1, 2)
	b.search("flaky")
	if err := os.MkdirAll(filepath.Join(b.dir, "index", freshName, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := b.index.Rebuild(t.Context()); err == nil {
		t.Fatal("it was built over a directory")
	}
	if s := b.index.State(); s.Building || s.Rebuilding || s.Failed == "" {
		t.Errorf("afterwards the state is %+v", s)
	}
	if got := b.search("flaky"); len(got) == 0 {
		t.Error("nothing is found any more")
	}
}

// TestIndexIsDamagedInUse overwrites pages of the index while it is open: hits are in
// intact sessions, or the index is rebuilt.
func TestIndexIsDamagedInUse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		b := newTestIndex(t)
		b.fill(5, 40)
		b.search("flaky")
		b.reopen()
		path := filepath.Join(b.dir, "index", fileName)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			at := 4096 + rng.IntN(len(data)-8192)
			for i := range 2048 {
				data[at+i] = byte(rng.Uint32())
			}
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		q, _ := search.Parse("flaky message", time.Now())
		for range 3 {
			if _, err := b.index.Search(context.Background(), q); err == nil {
				break
			}
		}
		if _, err := b.index.Search(context.Background(), q); err != nil {
			t.Errorf("an index that is damaged cannot be searched: %v", err)
		}
		if err := b.index.Rebuild(context.Background()); err != nil {
			t.Fatal(err)
		}
		if d, err := b.index.Check(context.Background()); err != nil || len(d) > 0 {
			t.Errorf("after it was rebuilt the check returned %v, %v", d, err)
		}
	}
}

// TestCheckRemovesDamagedIndex checks that Check reports damaged pages that no search has
// read, and that the index is rebuilt afterwards.
func TestCheckRemovesDamagedIndex(t *testing.T) {
	b := newTestIndex(t)
	b.fill(5, 40)
	b.search("flaky")
	b.reopen()
	path := filepath.Join(b.dir, "index", fileName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 8 * 4096; at < len(data); at += 4096 {
		data[at] = 0xff // not a valid page type
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := b.index.Check(context.Background()); err != nil || len(d) == 0 {
		t.Errorf("the damage was not found: %v, %v", d, err)
	}
	if got := b.search("flaky message session:sess-1"); len(got) == 0 {
		t.Error("nothing is found any more")
	}
	if d, err := b.index.Check(context.Background()); err != nil || len(d) > 0 {
		t.Errorf("after it was rebuilt the check returned %v, %v", d, err)
	}
}

// TestCheckFinds changes rows without the index noticing.
func TestCheckFinds(t *testing.T) {
	for _, change := range []string{
		"update docs set t = 'other ' where n = 3",
		"delete from docs where n = 3",
		"update docs set at = at + 1 where n = 2",
		"update sessions set shape = '{}'",
		"update sessions set title = 'no'",
		"delete from fts0 where rowid = (select min(id) from docs)",
		"update days set docs = docs + 1",
		"delete from sessions where sid = 'sess-0'",
	} {
		b := newTestIndex(t)
		b.fill(2, 5)
		b.search("flaky")
		if d, err := b.index.Check(context.Background()); err != nil || len(d) > 0 {
			t.Fatalf("a sound index: %v, %v", d, err)
		}
		if d, err := b.index.Compare(context.Background()); err != nil || len(d) > 0 {
			t.Fatalf("a sound index: %v, %v", d, err)
		}
		b.index.mu.Lock()
		_, err := b.index.db.write.Exec(change)
		b.index.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		// A session missing from the index is read again before the comparison, which
		// leaves rows that were not deleted.
		if d, err := b.index.Check(context.Background()); err != nil || len(d) == 0 && !strings.HasPrefix(change, "delete from sessions") {
			t.Errorf("%s was not found: %v, %v", change, d, err)
		}
		if d, err := b.index.Compare(context.Background()); err != nil || len(d) == 0 && !strings.HasPrefix(change, "delete from sessions") {
			t.Errorf("%s was not found without changing anything: %v, %v", change, d, err)
		}
	}
}

// TestSearchWhileBuilding searches, appends and rebuilds concurrently.
func TestSearchWhileBuilding(t *testing.T) {
	b := newTestIndex(t)
	b.fill(10, 30)
	b.search("flaky")
	done := make(chan struct{})
	var work sync.WaitGroup
	for w := range 3 {
		work.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				q, err := search.Parse("flaky message session:sess-1", time.Now())
				if err != nil {
					t.Error(err)
					return
				}
				a, err := b.index.Search(context.Background(), q)
				if err != nil || len(a.Hits) != search.DefaultLimit {
					t.Errorf("while it is built %d are found: %v", len(a.Hits), err)
					return
				}
				if _, err := b.store.Append(context.Background(), firn.ID(fmt.Sprintf("new-%d", w)), store.Any, firn.NewEntry(firn.UserText(fmt.Sprint("something else ", i)).Body)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 4 {
		if err := b.index.Rebuild(context.Background()); err != nil {
			t.Error(err)
		}
	}
	close(done)
	work.Wait()
	b.sound()
	if d, err := b.index.Check(context.Background()); err != nil || len(d) > 0 {
		t.Errorf("afterwards the check returned %v, %v", d, err)
	}
}

// TestPurgeLeavesNothing purges many of the messages of an index with many pages, and searches
// every byte of it for them.
func TestPurgeLeavesNothing(t *testing.T) {
	b := newTestIndex(t)
	rng := rand.New(rand.NewPCG(9, 9))
	word := func() string {
		w := make([]byte, 12)
		for i := range w {
			w[i] = "bcdfghjkmnpqrtvwxz"[rng.IntN(18)]
		}
		return string(w)
	}
	var gone []string
	purge := make(map[firn.ID][]firn.EntryID)
	for s := range 4 {
		id := firn.ID(fmt.Sprintf("sess-%d", s))
		all := make([]firn.Entry, 300)
		for i := range all {
			words := []string{word(), word(), word(), word(), word(), word()}
			all[i] = firn.NewEntry(firn.UserText(strings.Join(words, " ")).Body)
			if rng.IntN(10) == 0 {
				purge[id] = append(purge[id], all[i].ID)
				gone = append(gone, words...)
			}
		}
		b.append(id, all...)
	}
	b.search("anything")
	remover, _ := store.As[store.Remover](b.store)
	for id, victims := range purge {
		if _, err := remover.Purge(context.Background(), id, "", victims...); err != nil {
			t.Fatal(err)
		}
	}
	left := 0
	for _, name := range []string{fileName, fileName + "-wal", fileName + "-shm"} {
		data, err := os.ReadFile(filepath.Join(b.dir, "index", name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, w := range gone {
			if bytes.Contains(data, []byte(w)) || bytes.Contains(data, []byte(w[:8])) {
				left++
			}
		}
	}
	if left > 0 {
		t.Errorf("%d of %d words that were purged are still in the index", left, len(gone))
	}
	if d, err := b.index.Check(context.Background()); err != nil || len(d) > 0 {
		t.Errorf("the check returned %v, %v", d, err)
	}
}

// TestCrashWhilePurging crashes between the purge and the index update.
func TestCrashWhilePurging(t *testing.T) {
	b := newTestIndex(t)
	e := firn.NewEntry(firn.UserText("a secret called zyxwvutsrq").Body)
	b.append("sess-1", e, firn.NewEntry(firn.UserText("and more").Body))
	b.search("secret")
	if err := b.index.mark("sess-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.files.Purge(context.Background(), "sess-1", "", e.ID); err != nil {
		t.Fatal(err)
	}
	b.append("sess-1", firn.NewEntry(firn.UserText("something that makes it longer than it was before, by far").Body)) // so that the session seems to have only grown
	b.reopen()
	b.search("more")
	data, err := os.ReadFile(filepath.Join(b.dir, "index", fileName))
	if err != nil {
		t.Fatal(err)
	}
	wal, _ := os.ReadFile(filepath.Join(b.dir, "index", fileName+"-wal"))
	if bytes.Contains(append(data, wal...), []byte("zyxwvut")) {
		t.Error("the index still contains purged text")
	}
	if left, err := b.index.marks(); err != nil || len(left) > 0 {
		t.Errorf("marks are left: %v, %v", left, err)
	}
}
