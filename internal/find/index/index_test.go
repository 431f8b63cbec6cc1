package index_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/index"
	"firn.dev/store"
	"firn.dev/store/filestore"

	"github.com/google/go-cmp/cmp"
)

// fixture is a home with a file store and its catalog.
type fixture struct {
	*testing.T
	ctx     context.Context
	home    string
	fs      vfs.FS
	store   *filestore.Store
	cat     *index.Catalogue
	mu      sync.Mutex
	reports []string
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, ctx: t.Context(), home: t.TempDir(), fs: vfs.OS{}}
	f.open()
	return f
}

// open opens the home as another process would.
func (f *fixture) open() {
	f.Helper()
	f.store = openStore(f.T, f.fs, f.home)
	f.cat = f.catalog(index.Options{Report: f.report})
}

func (f *fixture) report(message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reports = append(f.reports, message)
}

func openStore(t *testing.T, fsys vfs.FS, home string) *filestore.Store {
	t.Helper()
	s, err := filestore.Open(home, filestore.Options{FS: fsys, Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // tests that need the error close it themselves
	return s
}

func (f *fixture) catalog(opts index.Options) *index.Catalogue {
	f.Helper()
	c, err := index.Open(f.fs, f.dir(), f.store, opts)
	if err != nil {
		f.Fatal(err)
	}
	return c
}

func (f *fixture) dir() string  { return filepath.Join(f.home, "index") }
func (f *fixture) path() string { return filepath.Join(f.dir(), "catalogue.jsonl") }

// at returns a time n seconds after a fixed one.
func at(n int) time.Time { return time.Date(2026, 3, 1, 12, 0, n, n*1000, time.UTC) }

func message(text string, n int) firn.Entry {
	return firn.Entry{Time: at(n), Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}}}
}

func titled(title string, n int) firn.Entry {
	return firn.Entry{Time: at(n), Body: &firn.Title{Name: title, Source: firn.SourceUser}}
}

func headed(id firn.ID, agent, key string, n int) firn.Entry {
	return firn.Entry{Time: at(n), Body: &firn.Header{Session: id, Agent: agent, Key: key, CWD: "/home/me/project"}}
}

// createSession creates a session with one message.
func (f *fixture) createSession(id firn.ID, n int) {
	f.Helper()
	f.append(f.store, id, headed(id, "main", "", n), message(fmt.Sprintf("prompt of %s", id), n))
}

func (f *fixture) append(s store.Store, id firn.ID, entries ...firn.Entry) {
	f.Helper()
	if _, err := s.Append(f.ctx, id, store.Any, entries...); err != nil {
		f.Fatal(err)
	}
}

// fill creates n sessions; s000 is the oldest.
func (f *fixture) fill(n int) {
	f.Helper()
	for i := range n {
		f.createSession(firn.ID(fmt.Sprintf("s%03d", i)), i)
	}
}

func (f *fixture) refresh() index.Changes {
	f.Helper()
	changes, err := f.cat.Refresh(f.ctx, nil)
	if err != nil {
		f.Fatal(err)
	}
	return changes
}

func (f *fixture) page(q store.Query, after index.Cursor) index.Page {
	f.Helper()
	page, err := f.cat.Page(f.ctx, q, after)
	if err != nil {
		f.Fatal(err)
	}
	return page
}

// lister is a store or a catalog.
type lister interface {
	List(context.Context, store.Query) iter.Seq2[store.Info, error]
}

func (f *fixture) list(l lister, q store.Query) []store.Info {
	f.Helper()
	infos, err := collect(l.List(f.ctx, q))
	if err != nil {
		f.Fatal(err)
	}
	return infos
}

func collect(s iter.Seq2[store.Info, error]) ([]store.Info, error) {
	infos := []store.Info{}
	for info, err := range s {
		if err != nil {
			return nil, err
		}
		info.Created, info.Updated = info.Created.UTC(), info.Updated.UTC()
		infos = append(infos, info)
	}
	return infos, nil
}

// queries returns queries for all sessions of a kind, and pages of them.
func queries() []store.Query {
	var all []store.Query
	for _, limit := range []int{0, 1, 3, 1000} {
		for _, archived := range []bool{false, true} {
			for _, hidden := range []bool{false, true} {
				all = append(all, store.Query{Limit: limit, Archived: archived, Hidden: hidden})
			}
		}
	}
	return append(all, store.Query{Agent: "main", Limit: 2}, store.Query{Agent: "other"}, store.Query{Key: "agent:other:k", Limit: 5})
}

// sameLists checks that the catalog returns the same lists as the files.
func (f *fixture) sameLists() {
	f.Helper()
	for _, q := range queries() {
		if diff := cmp.Diff(f.list(f.store, q), f.list(f.cat, q)); diff != "" {
			f.Fatalf("list of %+v (-files +catalog):\n%s", q, diff)
		}
	}
}

// sameAll is sameLists for lists without limit, which need no refresh.
func (f *fixture) sameAll() {
	f.Helper()
	if diff := cmp.Diff(f.list(f.store, store.Query{}), f.list(f.cat, store.Query{})); diff != "" {
		f.Fatalf("list of all (-files +catalog):\n%s", diff)
	}
}

func ids(infos []store.Info) string {
	var names []string
	for _, info := range infos {
		names = append(names, string(info.ID))
	}
	return strings.Join(names, " ")
}

func (f *fixture) wantIDs(infos []store.Info, want string) {
	f.Helper()
	if got := ids(infos); got != want {
		f.Errorf("listed: %q, want %q", got, want)
	}
}

func (f *fixture) read(path string) string {
	f.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	return string(b)
}

func (f *fixture) write(path, content string) {
	f.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) transcript(id firn.ID) string {
	return filepath.Join(f.home, "agents", "main", "sessions", string(id)+".jsonl")
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func TestRebuiltIdentical(t *testing.T) {
	f := newFixture(t)
	f.fill(30)
	f.append(f.store, "s004", titled("a name with \"quotes\" and\nnewlines \u2028", 50))
	f.append(f.store, "s005", firn.Entry{Time: at(51), Body: &firn.Tombstone{Target: "s005"}})
	f.ok(f.store.Archive(f.ctx, "s006"))
	f.refresh()
	built := f.read(f.path())
	f.append(f.store, "s001", message("more", 60)) // a line that replaces another
	f.refresh()
	grown := f.read(f.path())
	if !strings.HasPrefix(grown[256:], built[256:]) || len(grown) == len(built) {
		t.Error("a change of one session was not just added")
	}
	f.ok(f.cat.Rebuild(f.ctx, nil))
	first := f.read(f.path())
	f.ok(f.cat.Rebuild(f.ctx, nil))
	if f.read(f.path()) != first {
		t.Error("two rebuilds differ")
	}
	f.ok(os.RemoveAll(f.dir()))
	f.open()
	f.refresh()
	if f.read(f.path()) != first {
		t.Error("a catalog made from nothing differs from one that was rebuilt")
	}
	f.sameLists()
}

func TestDeletedIndexIsRebuilt(t *testing.T) {
	f := newFixture(t)
	f.fill(20)
	f.sameLists()
	f.ok(os.RemoveAll(f.dir()))
	f.sameLists() // while a process is running
	f.ok(os.RemoveAll(f.dir()))
	f.open()
	f.wantIDs(f.page(store.Query{Limit: 3}, index.Cursor{}).Infos, "s019 s018 s017")
	f.sameLists()
	if len(f.reports) > 0 {
		t.Errorf("no index is no trouble, but it was reported: %q", f.reports)
	}
}

func TestOwnerOnly(t *testing.T) {
	f := newFixture(t)
	f.fill(3)
	w := index.Wrap(f.store, f.cat)
	f.append(w, "s000", message("again", 9))
	f.sameLists()
	entries, err := os.ReadDir(f.dir())
	f.ok(err)
	for _, e := range entries {
		info, err := e.Info()
		f.ok(err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
	if len(entries) != 3 { // the catalog, the lock, the mark
		t.Errorf("the index has %d files: %v", len(entries), entries)
	}
}

// TestForeignSessionAppears checks that a session created by another program is listed
// after a refresh, and by every list without limit.
func TestForeignSessionAppears(t *testing.T) {
	f := newFixture(t)
	f.fill(5)
	f.refresh()
	line := `{"type":"session","version":3,"id":"pi-1","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/x"}` + "\n" +
		`{"type":"message","id":"a1","parentId":null,"timestamp":"2026-03-02T00:00:01.000Z","message":{"role":"user","content":"hello from pi"}}` + "\n"
	f.write(f.transcript("pi-1"), line)
	changes := f.refresh()
	if diff := cmp.Diff(index.Changes{Added: []firn.ID{"pi-1"}}, changes); diff != "" {
		t.Error(diff)
	}
	page := f.page(store.Query{Limit: 2}, index.Cursor{})
	f.wantIDs(page.Infos, "pi-1 s004")
	if page.Infos[0].Prompt != "hello from pi" {
		t.Errorf("its prompt is %q", page.Infos[0].Prompt)
	}
	f.write(f.transcript("pi-2"), strings.ReplaceAll(line, "pi-1", "pi-2"))
	f.wantIDs(f.list(f.cat, store.Query{})[:2], "pi-1 pi-2")
	f.wantIDs(f.page(store.Query{Limit: 2}, index.Cursor{}).Infos, "pi-1 pi-2")
	if !f.refresh().Empty() {
		t.Error("there was something left to refresh")
	}
}

// TestTouchedFileStaysInPlace checks that lists are ordered by entries, not by files.
func TestTouchedFileStaysInPlace(t *testing.T) {
	f := newFixture(t)
	f.fill(4)
	f.refresh()
	future := time.Now().Add(time.Hour)
	f.ok(os.Chtimes(f.transcript("s000"), future, future))
	f.wantIDs(f.page(store.Query{Limit: 1}, index.Cursor{}).Infos, "s003")
	f.wantIDs(f.list(f.cat, store.Query{}), "s003 s002 s001 s000")
	f.wantIDs(f.page(store.Query{Limit: 1}, index.Cursor{}).Infos, "s003")
}

// TestBadSessions checks that a damaged session hides no others, and is listed normally
// when it is repaired.
func TestBadSessions(t *testing.T) {
	f := newFixture(t)
	f.fill(3)
	f.write(f.transcript("bom"), "\ufeff"+f.read(f.transcript("s000")))
	f.write(f.transcript("nul"), strings.Repeat("\x00", 5000))
	f.write(f.transcript("empty"), "")
	f.write(f.transcript("prose"), "this is no transcript\n")
	f.write(f.transcript("long"), `{"type":"session","id":"long","cwd":"`+strings.Repeat("x", 1<<20)+`"}`+"\n")
	f.ok(os.Mkdir(f.transcript("folder"), 0o700))
	f.ok(os.Symlink("nowhere.jsonl", f.transcript("dangling")))
	f.sameLists()
	f.refresh()
	f.sameLists()
	folder := f.list(f.cat, store.Query{})
	i := slices.IndexFunc(folder, func(info store.Info) bool { return info.ID == "folder" })
	if i < 0 || folder[i].Fault == "" {
		t.Errorf("the folder is listed as %+v", folder)
	}
	f.ok(os.Remove(f.transcript("folder")))
	f.write(f.transcript("folder"), f.read(f.transcript("s000")))
	f.sameLists()
}

// TestDoubleSession checks that a session in the directories of two agents is listed as the
// one that a reader finds, and reported.
func TestDoubleSession(t *testing.T) {
	f := newFixture(t)
	f.fill(2)
	f.write(filepath.Join(f.home, "agents", "zoe", "sessions", "s001.jsonl"), f.read(f.transcript("s001")))
	f.refresh()
	found := f.list(f.cat, store.Query{})
	f.wantIDs(found, "s001 s000")
	if found[0].Agent != "main" {
		t.Errorf("it is that of agent %s", found[0].Agent)
	}
	if !f.refresh().Empty() {
		t.Error("it changes with every refresh")
	}
	reported, err := f.cat.Check(f.ctx)
	f.ok(err)
	if len(reported) != 1 || reported[0].Kind != index.Double || reported[0].ID != "s001" {
		t.Errorf("Check reports %v", reported)
	}
}

func TestRefreshIsCancelled(t *testing.T) {
	f := newFixture(t)
	f.fill(40)
	ctx, cancel := context.WithCancel(f.ctx)
	_, err := f.cat.Refresh(ctx, func(done, total int) {
		if total != 40 {
			t.Errorf("progress of %d", total)
		}
		if done == 5 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(f.path()); err == nil {
		t.Error("half a catalog was written")
	}
	f.sameLists()
	before := f.read(f.path())
	for i := range 10 {
		f.append(f.store, firn.ID(fmt.Sprintf("s%03d", i)), message("more", 100+i))
	}
	ctx, cancel = context.WithCancel(f.ctx)
	if err := f.cat.Rebuild(ctx, func(done, _ int) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if f.read(f.path()) != before {
		t.Error("a rebuild that was canceled changed the catalog")
	}
	done := 0
	if _, err := f.cat.Refresh(f.ctx, func(n, _ int) { done = n }); err != nil || done != 10 {
		t.Errorf("%d sessions were opened, %v", done, err)
	}
	f.sameLists()
}

func TestReadOnlyWritesNothing(t *testing.T) {
	f := newFixture(t)
	f.fill(6)
	writer := f.cat
	f.cat = f.catalog(index.Options{ReadOnly: true})
	f.sameLists() // without a catalog
	if _, err := os.ReadDir(f.dir()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.path()); err == nil {
		t.Error("a reader made a catalog")
	}
	_, err := writer.Refresh(f.ctx, nil)
	f.ok(err)
	before := f.read(f.path())
	f.append(f.store, "s002", message("more", 70))
	f.createSession("s900", 80)
	f.sameAll()
	f.wantIDs(f.page(store.Query{Limit: 9}, index.Cursor{}).Infos, "s900 s002 s005 s004 s003 s001 s000")
	if err := f.cat.Rebuild(f.ctx, nil); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("rebuild gives %v", err)
	}
	f.write(f.path(), before[:len(before)-10])
	f.sameLists()
	if f.read(f.path()) != before[:len(before)-10] {
		t.Error("a reader changed the catalog")
	}
}

func TestGrowthIsBounded(t *testing.T) {
	f := newFixture(t)
	f.fill(40)
	f.refresh()
	small, largest := len(f.read(f.path())), 0
	w := index.Wrap(f.store, f.cat)
	for round := range 26 { // 26 times 40 lines exceed the limit of 1000
		for i := range 40 {
			f.append(w, firn.ID(fmt.Sprintf("s%03d", i)), message("more", 100*round+i))
		}
		f.wantIDs(f.list(w, store.Query{Limit: 1}), "s039")
		largest = max(largest, len(f.read(f.path())))
	}
	if last := len(f.read(f.path())); largest < 20*small || last > 2*small {
		t.Errorf("the catalog grew from %d bytes to %d, and is now %d", small, largest, last)
	}
	f.sameLists()
}

func TestClosed(t *testing.T) {
	f := newFixture(t)
	f.fill(1)
	f.ok(f.cat.Close())
	f.ok(f.cat.Close())
	_, refresh := f.cat.Refresh(f.ctx, nil)
	_, page := f.cat.Page(f.ctx, store.Query{}, index.Cursor{})
	_, find := f.cat.Find(f.ctx, "s000")
	_, check := f.cat.Check(f.ctx)
	for name, err := range map[string]error{"Refresh": refresh, "Rebuild": f.cat.Rebuild(f.ctx, nil), "Page": page, "Find": find, "Check": check} {
		if !errors.Is(err, firn.ErrClosed) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}
