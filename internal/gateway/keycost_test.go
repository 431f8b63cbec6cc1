package gateway_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/index"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/view"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// countingFS counts the operations on files, and the bytes read.
type countingFS struct {
	vfs.FS
	ops, bytes atomic.Int64
}

func (f *countingFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	f.ops.Add(1)
	file, err := f.FS.Open(path, mode)
	if err != nil {
		return nil, err
	}
	return &countingFile{file, f}, nil
}

func (f *countingFS) Stat(path string) (vfs.Info, error) {
	f.ops.Add(1)
	return f.FS.Stat(path)
}

type countingFile struct {
	vfs.File
	fs *countingFS
}

func (f *countingFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.fs.bytes.Add(int64(n))
	return n, err
}

func (f *countingFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	f.fs.bytes.Add(int64(n))
	return n, err
}

// homeWithKeys opens a gateway on a home with sessions, of which the first keys have a key.
func homeWithKeys(t *testing.T, sessions, keys int) (*gateway.Gateway, store.Store, *countingFS) {
	t.Helper()
	home, fsys := t.TempDir(), &countingFS{FS: vfs.OS{}}
	st, err := filestore.Open(home, filestore.Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := index.Open(fsys, filepath.Join(home, "index"), st, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wrapped := index.Wrap(st, catalog)
	t.Cleanup(func() { wrapped.Close() })
	for i := range sessions {
		id := firn.NewID()
		header := &firn.Header{Session: id, Agent: "main"}
		if i < keys {
			header.Key = fmt.Sprintf("agent:main:telegram:direct:%04d", i)
		}
		if _, err := wrapped.Append(t.Context(), id, store.Start, firn.Entry{Body: header}, firn.UserText("hello")); err != nil {
			t.Fatal(err)
		}
	}
	bound := map[string]firn.ID{}
	for info, err := range wrapped.List(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Key != "" {
			bound[info.Key] = info.ID
		}
	}
	keyed, _ := store.As[store.Keyed](wrapped)
	for key, id := range bound {
		if err := keyed.Bind(t.Context(), key, id); err != nil {
			t.Fatal(err)
		}
	}
	// The file of a table counts as unchanged by its time unless it is very young.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(home, "agents", "main", "sessions", "sessions.json"), old, old); err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Options{Store: wrapped, Setup: gateway.Setup{Default: "main", Agents: map[string]*agent.Agent{"main": {Store: wrapped, Model: scripted.New(scripted.Info())}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close(context.Background()) }) //nolint:errcheck // nothing runs
	return g, wrapped, fsys
}

// TestKeyPageCost checks that a page of keys needs as many file operations and bytes in a
// home with ten times the sessions and keys.
func TestKeyPageCost(t *testing.T) {
	cost := func(sessions, keys int) (ops, bytes int64) {
		g, _, fsys := homeWithKeys(t, sessions, keys)
		ask := func(cursor string) string {
			page, err := g.Keys(t.Context(), gateway.KeyQuery{Limit: 10, Cursor: cursor})
			if err != nil || len(page.Items) != 10 || page.Total != keys {
				t.Fatalf("%d of %d keys, %v", len(page.Items), page.Total, err)
			}
			return page.Cursor
		}
		cursor := ask(ask("")) // the tables are read once
		ops, bytes = fsys.ops.Load(), fsys.bytes.Load()
		ask(cursor)
		return fsys.ops.Load() - ops, fsys.bytes.Load() - bytes
	}
	smallOps, smallBytes := cost(60, 40)
	largeOps, largeBytes := cost(600, 300)
	if largeOps > smallOps || largeBytes > smallBytes+smallBytes/10 {
		t.Errorf("a page of 10 keys takes %d operations and %d bytes in a home of 600 sessions, %d and %d in one of 60", largeOps, largeBytes, smallOps, smallBytes)
	}
	t.Logf("60 sessions: %d operations, %d bytes; 600: %d and %d", smallOps, smallBytes, largeOps, largeBytes)
}

// TestKeyPageOrder checks that a used key comes first, that pages have every key once, and
// that a filter and a bound are kept.
func TestKeyPageOrder(t *testing.T) {
	g, st, _ := homeWithKeys(t, 30, 25)
	all := func(q gateway.KeyQuery) (keys []string) {
		for {
			page, err := g.Keys(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range page.Items {
				if k.Session == "" || k.Title != "hello" {
					t.Errorf("key %+v", k)
				}
				keys = append(keys, k.Key)
			}
			if q.Cursor = page.Cursor; q.Cursor == "" {
				return keys
			}
		}
	}
	seen := map[string]bool{}
	for _, k := range all(gateway.KeyQuery{Limit: 4}) {
		if seen[k] {
			t.Errorf("%s was listed twice", k)
		}
		seen[k] = true
	}
	if len(seen) != 25 {
		t.Errorf("%d keys came, want 25", len(seen))
	}
	last := all(gateway.KeyQuery{Limit: 100})[24]
	// A key that points at a session that was not created for it counts as used with it.
	keyed, _ := store.As[store.Keyed](st)
	id, err := keyed.Lookup(t.Context(), last)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.PointKey(t.Context(), "agent:main:desk", id); err != nil {
		t.Fatal(err)
	}
	if first := all(gateway.KeyQuery{Limit: 100})[0]; first != "agent:main:desk" {
		t.Errorf("the first key is %s", first)
	}
	visible := func(_, key string) bool { return !strings.HasSuffix(key, "0012") }
	if got := all(gateway.KeyQuery{Text: "DIRECT:001", Limit: 3, Visible: visible}); len(got) != 9 {
		t.Errorf("a filter gives %v", got)
	}
	if _, err := g.Keys(t.Context(), gateway.KeyQuery{Cursor: "x"}); err == nil {
		t.Error("a bad cursor is accepted")
	}
}

// TestUsageReportCost checks that a second report reads only the entries appended since the
// first, however many sessions there are.
func TestUsageReportCost(t *testing.T) {
	cost := func(sessions int) (ops, bytes int64) {
		g, st, fsys := homeWithKeys(t, sessions, 1)
		report := func(want int) {
			r, err := g.UsageReport(t.Context(), time.Time{})
			if err != nil || r.Partial || r.Total.Answers != want || r.Sessions != sessions {
				t.Fatalf("%d answers in %d sessions, %v", r.Total.Answers, r.Sessions, err)
			}
		}
		report(0)
		answer := firn.AssistantText("An answer.")
		answer.Body.(*firn.Message).Usage = &firn.Usage{Input: 1, Output: 1}
		keyed, _ := store.As[store.Keyed](st)
		id, err := keyed.Lookup(t.Context(), "agent:main:telegram:direct:0000")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Append(t.Context(), id, store.Any, answer); err != nil {
			t.Fatal(err)
		}
		report(1) // the row of the session is written
		if _, err := st.Append(t.Context(), id, store.Any, answer); err != nil {
			t.Fatal(err)
		}
		ops, bytes = fsys.ops.Load(), fsys.bytes.Load()
		report(2)
		return fsys.ops.Load() - ops, fsys.bytes.Load() - bytes
	}
	smallOps, smallBytes := cost(30)
	largeOps, largeBytes := cost(300)
	if largeOps > smallOps+5 || largeBytes > smallBytes+smallBytes/4 {
		t.Errorf("a report takes %d operations and %d bytes in a home of 300 sessions, %d and %d in one of 30", largeOps, largeBytes, smallOps, smallBytes)
	}
	t.Logf("30 sessions: %d operations, %d bytes; 300: %d and %d", smallOps, smallBytes, largeOps, largeBytes)
}

// TestSessionPageCost checks that pages of sessions, with filters and in other orders, and
// sums of usage need as many file operations and bytes in a home with eight times the
// sessions, also after a session has changed. Pages also make as many allocations.
func TestSessionPageCost(t *testing.T) {
	type cost struct{ ops, bytes, allocs int64 }
	tag, err := store.NewTags([]string{"rare"})
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]func(g *gateway.Gateway) (int, error){}
	list := func(name string, q gateway.SessionQuery) {
		q.Limit = 10
		lists[name] = func(g *gateway.Gateway) (int, error) {
			page, err := g.Sessions(t.Context(), q)
			if err == nil && page.Total < len(page.Items) {
				err = fmt.Errorf("%d of %d are listed", len(page.Items), page.Total)
			}
			return len(page.Items), err
		}
	}
	list("all", gateway.SessionQuery{})
	list("tagged", gateway.SessionQuery{Tag: "rare"})
	list("with a text", gateway.SessionQuery{Text: "telegram:direct:0003"})
	list("archived", gateway.SessionQuery{Archived: true})
	list("since", gateway.SessionQuery{Since: time.Now().Add(-time.Hour)})
	list("by title", gateway.SessionQuery{Sort: "title"})
	for _, by := range []string{view.ByDay, view.ByAgent} {
		lists["usage by "+by] = func(g *gateway.Gateway) (int, error) {
			s, err := g.Usage(t.Context(), view.UsageQuery{By: by})
			return len(s.Rows), err
		}
	}
	costs := func(sessions int) map[string]cost {
		g, st, fsys := homeWithKeys(t, sessions, 5)
		keyed, _ := store.As[store.Keyed](st)
		id, err := keyed.Lookup(t.Context(), "agent:main:telegram:direct:0003")
		if err != nil {
			t.Fatal(err)
		}
		change := func() {
			t.Helper()
			if _, err := st.Append(t.Context(), id, store.Any, tag); err != nil {
				t.Fatal(err)
			}
		}
		change()
		all := make(map[string]cost)
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			best := cost{1 << 60, 1 << 60, 1 << 60}
			for i := range 5 {
				change()
				var before, after runtime.MemStats
				ops, bytes := fsys.ops.Load(), fsys.bytes.Load()
				runtime.ReadMemStats(&before)
				if n, err := lists[name](g); err != nil || name == "tagged" && n != 1 {
					t.Fatalf("%s: %d rows, %v", name, n, err)
				}
				runtime.ReadMemStats(&after)
				if i > 1 { // rows and results are in memory
					best = cost{min(best.ops, fsys.ops.Load()-ops), min(best.bytes, fsys.bytes.Load()-bytes), min(best.allocs, int64(after.Mallocs-before.Mallocs))}
				}
			}
			all[name] = best
		}
		return all
	}
	small, large := costs(30), costs(240)
	for name, s := range small {
		l := large[name]
		if l.ops > s.ops+2 || l.bytes > s.bytes+s.bytes/10+1000 || !strings.HasPrefix(name, "usage") && l.allocs > s.allocs+s.allocs/4+150 { // less than one for each session; other goroutines allocate too
			t.Errorf("%s: %d operations, %d bytes and %d allocations in a home of 240 sessions, %d, %d and %d in one of 30", name, l.ops, l.bytes, l.allocs, s.ops, s.bytes, s.allocs)
		}
		t.Logf("%s: 30 sessions %+v, 240 %+v", name, s, l)
	}
}
