package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// mostSteps is the maximum number of store operations and records per request. The session
// of the test has 16 lines.
const mostSteps = 3000

// counted is a store that counts the steps of a request and panics if there are too many,
// to stop a loop that ignores errors.
type counted struct {
	store.Store
	request string
	steps   int
}

func (c *counted) step() {
	if c.steps++; c.steps > mostSteps {
		panic(fmt.Sprintf("%s: more than %d steps", c.request, mostSteps))
	}
}

func (c *counted) each(records iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		c.step()
		for rec, err := range records {
			if c.step(); !yield(rec, err) {
				return
			}
		}
	}
}

func (c *counted) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return c.each(c.Store.Read(ctx, id, after))
}

func (c *counted) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	return c.each(c.Store.ReadBack(ctx, id, before))
}

func (c *counted) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	c.step()
	return c.Store.List(ctx, q)
}

// TestCutAnywhereIsRead makes all requests on a session truncated at every byte: no
// reader may wait for progress that cannot happen. One view sees the file grow, and a new
// one sees it as it is. For sessions of other tools, which are read in place, every 41st
// cut is tried.
func TestCutAnywhereIsRead(t *testing.T) {
	t.Parallel()
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		open := func(home string) (store.Store, error) { return filestore.Open(home, filestore.Options{}) }
		cutAnywhere(t, 1, open, open)
	})
	for _, tool := range dialects.All() {
		t.Run(string(tool.Name()), func(t *testing.T) {
			t.Parallel()
			open := func(o sourcestore.Options) func(string) (store.Store, error) {
				return func(home string) (store.Store, error) { return sourcestore.Open(home, tool, o) }
			}
			cutAnywhere(t, 41, open(sourcestore.Options{InPlace: true}), open(sourcestore.Options{}))
		})
	}
}

func cutAnywhere(t *testing.T, step int, writer, reader func(home string) (store.Store, error)) {
	home := t.TempDir()
	id := sample(t, home, writer)
	path := transcript(t, home)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	growing := newCut(t, id, home, reader)
	for n := 0; n <= len(text); n += step {
		if err := os.WriteFile(path, text[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		growing.askAll(fmt.Sprintf("grown to %d bytes", n))
		if n%(5*step) == 0 {
			fresh := newCut(t, id, home, reader)
			fresh.askAll(fmt.Sprintf("cut at byte %d", n))
			fresh.close()
		}
	}
}

// sample creates a session with entries of all kinds and returns its ID.
func sample(t *testing.T, home string, writer func(string) (store.Store, error)) firn.ID {
	t.Helper()
	st, err := writer(home)
	if err != nil {
		t.Fatal(err)
	}
	id, asked := firn.ID(""), firn.NewID()
	var ids []firn.EntryID
	add := func(e firn.Entry) {
		e.ID = firn.EntryID(fmt.Sprintf("%08x", 0xe00+len(ids)))
		ids = append(ids, e.ID)
		if id == "" {
			id = asked
		}
		if _, err := st.Append(t.Context(), id, store.Any, e); err != nil && !errors.Is(err, firn.ErrUnsupported) && !errors.Is(err, firn.ErrNotFound) { // some tools keep no IDs
			t.Fatal(err)
		}
		for info, err := range st.List(t.Context(), store.Query{}) { // a tool may assign another ID
			if err != nil {
				t.Fatal(err)
			}
			id = info.ID
		}
	}
	add(firn.UserText("one ü"))
	add(firn.AssistantText("two"))
	add(firn.UserText("three"))
	add(firn.Entry{Body: &firn.Label{Target: ids[0], Name: "first"}})
	add(firn.AssistantText("four"))
	add(firn.Entry{Body: &firn.Compaction{Summary: "so far", FirstKept: ids[2]}})
	add(firn.UserText("five"))
	add(firn.Entry{Body: &firn.Tombstone{Target: ids[1]}})
	add(firn.Entry{Parent: ids[0], Body: firn.UserText("a branch").Body})
	add(firn.Entry{Parent: ids[6], Body: &firn.Head{Reason: "back"}})
	add(firn.AssistantText("six"))
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return id
}

// transcript returns the only transcript in a home.
func transcript(t *testing.T, home string) (path string) {
	t.Helper()
	err := filepath.WalkDir(home, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Ext(name) == ".jsonl" && filepath.Base(name) != "history.jsonl" && filepath.Base(name) != "session_index.jsonl" {
			if path != "" {
				t.Errorf("there are two: %s and %s", path, name)
			}
			path = name
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no transcript: %v", err)
	}
	return path
}

// cut is a home with one session file and its view.
type cut struct {
	t     *testing.T
	id    firn.ID
	store *counted
	view  *View
}

func newCut(t *testing.T, id firn.ID, home string, reader func(string) (store.Store, error)) *cut {
	t.Helper()
	st, err := reader(home)
	if err != nil {
		t.Fatal(err)
	}
	c := &cut{t: t, id: id, store: &counted{Store: st}}
	t.Cleanup(c.close)
	a := &agent.Agent{Store: c.store, Model: scripted.New(scripted.Info()), NoTitles: true}
	c.view = New(Options{
		Store: c.store, List: c.store.List, Dialect: native.New(),
		Agent: func(context.Context, firn.ID) (*agent.Agent, error) { return a, nil },
		Turns: func(context.Context, firn.ID) int { return 0 },
	}, Setup{})
	return c
}

func (c *cut) close() { _ = c.store.Store.Close() }

// askAll makes every request that reads the session. Results are not checked: every request
// must end.
func (c *cut) askAll(state string) {
	v, ctx := c.view, c.t.Context()
	ask := func(name string, f func()) {
		c.store.request, c.store.steps = state+": "+name, 0
		f()
	}
	for _, look := range []string{wire.ViewDisk, wire.ViewBranch, wire.ViewWindow} {
		for _, back := range []bool{false, true} {
			ask("entries "+look, func() { c.pages(EntryQuery{View: look, Back: back, Limit: 4}) })
		}
	}
	ask("tree", func() { _, _ = v.Tree(ctx, c.id, 0, "") })
	ask("window", func() { _, _ = v.Window(ctx, c.id, "") })
	ask("damage", func() { _, _ = v.Damage(ctx, c.id) })
	ask("course", func() { _, _ = v.Course(ctx, c.id, "", wire.TurnRange{}) })
	ask("page", func() { _, _ = v.WritePage(ctx, wire.Session{ID: c.id}, "", io.Discard) })
	ask("entry", func() { _, _ = v.Entry(ctx, c.id, "#2", false) })
	ask("found entry", func() { _, _ = v.FindEntry(ctx, c.id, "first") })
	ask("state", func() {
		if now, err := v.Glimpse(ctx, c.id); err == nil {
			_, _ = v.State(ctx, c.id, now, false)
		}
	})
	ask("list", func() {
		for range v.Every(ctx, store.Query{}) {
		}
	})
	ask("usage", func() { _, _ = v.Usage(ctx, UsageQuery{}) })
}

// pages requests all pages.
func (c *cut) pages(q EntryQuery) {
	for {
		page, err := c.view.Entries(c.t.Context(), c.id, q)
		if err != nil || page.Cursor == "" {
			return
		}
		q.Cursor = page.Cursor
	}
}
