package fulltext

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/search"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// testIndex is a store with an index.
type testIndex struct {
	t     testing.TB
	dir   string
	files *filestore.Store
	index *Index
	store store.Store

	mu      sync.Mutex
	reports []string
}

// sound fails the test if the index was ever found damaged.
func (b *testIndex) sound() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.reports {
		b.t.Errorf("it was reported that %s", r)
	}
}

func newTestIndex(t testing.TB) *testIndex {
	b := &testIndex{t: t, dir: t.TempDir()}
	b.open()
	t.Cleanup(func() { b.store.Close() })
	return b
}

func (b *testIndex) open() {
	b.t.Helper()
	files, err := filestore.Open(b.dir, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		b.t.Fatal(err)
	}
	b.files = files
	b.index = New(vfs.OS{}, b.dir+"/index", files, Options{Patience: time.Minute, Report: func(m string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reports = append(b.reports, m)
	}})
	b.store = Wrap(files, b.index)
}

func (b *testIndex) reopen() {
	b.t.Helper()
	if err := b.store.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

func (b *testIndex) append(id firn.ID, entries ...firn.Entry) {
	b.t.Helper()
	if _, err := b.store.Append(context.Background(), id, store.Any, entries...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *testIndex) search(text string) []search.Hit {
	b.t.Helper()
	q, err := search.Parse(text, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	answer, err := b.index.Search(context.Background(), q)
	if err != nil {
		b.t.Fatalf("search %s: %v", text, err)
	}
	return answer.Hits
}

// entries returns the entry IDs of the hits, sorted.
func entries(hits []search.Hit) string {
	var ids []string
	for _, h := range hits {
		ids = append(ids, string(h.Entry))
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func TestSearch(t *testing.T) {
	b := newTestIndex(t)
	secret := "sk-" + strings.Repeat("a1B2", 10)
	say := func(id, text string) firn.Entry {
		e := firn.NewEntry(firn.UserText(text).Body)
		e.ID = firn.EntryID(id)
		return e
	}
	b.append("one", say("a", "The quick brown fox jumps over getUserName in internal/journal/write.go"), say("b", "a lazy dog, tries running"), say("c", "Łódź straße café 東京都庁"))
	b.append("second", say("d", "the dog ran and the fox tried"), say("e", "my key is "+secret+" ok"))
	for query, want := range map[string]string{
		"fox": "a d", "getusername": "a", "getUserName": "a", "user_name": "a", "journal/write.go": "a", "lodz": "c", "STRASSE": "c",
		"cafe": "c", "東京": "c", "都": "c", "都庁": "c", "京東": "", "try": "b d", "run": "b", "runn*": "b", `"lazy dog"`: "b", `"dog lazy"`: "",
		"fox AND dog": "d", "dog NOT fox": "b", "dog -fox": "b", "lazy OR key": "b e", "session:second dog": "d", "role:assistant dog": "", "in:tools dog": "",
		"(quick OR lazy) AND dog": "b", "jump": "a", "NOT fox AND dog": "b",
	} {
		if got := entries(b.search(query)); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	hits := b.search("key")
	if len(hits) != 1 || strings.Contains(hits[0].Snippet, "a1B2") || !strings.Contains(hits[0].Snippet, "[secret]") || !strings.Contains(hits[0].Snippet, "key") {
		t.Errorf("the secret is shown: %+v", hits)
	}
}
