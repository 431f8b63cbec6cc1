package view

import (
	"context"
	"encoding/json"
	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
	"fmt"
	"testing"
	"time"
)

// gallery is a view on a writable store, with a model with a small window.
type gallery struct {
	*View
	t  *testing.T
	st store.Store
	id firn.ID
}

func newGallery(t *testing.T) *gallery {
	t.Helper()
	st, err := filestore.Open(t.TempDir(), filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	info := scripted.Info()
	info.Window = 20_000
	a := &agent.Agent{Store: st, Model: scripted.New(info), NoTitles: true}
	v := New(Options{
		Store: st, List: st.List, Clock: time.Now,
		Agent: func(context.Context, firn.ID) (*agent.Agent, error) { return a, nil },
		Turns: func(context.Context, firn.ID) int { return 0 },
	}, Setup{})
	return &gallery{View: v, t: t, st: st}
}

// createSession creates another session.
func (d *gallery) createSession(entries ...firn.Entry) {
	d.id = firn.NewID()
	d.write(append([]firn.Entry{{Body: &firn.Header{Session: d.id, Agent: "main"}}}, entries...)...)
}

func (d *gallery) write(entries ...firn.Entry) {
	d.t.Helper()
	if _, err := d.st.Append(d.t.Context(), d.id, store.Any, entries...); err != nil {
		d.t.Fatal(err)
	}
}

// turns appends a range of turns with a tool call each.
func (d *gallery) turns(from, to int) {
	d.t.Helper()
	var batch []firn.Entry
	for n := from; n < to; n++ {
		call := &firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopToolUse, Parts: []firn.Part{firn.ToolCall{ID: fmt.Sprint("k", n), Name: "read_file", Arguments: json.RawMessage(`{"path":"a.go"}`)}}}
		outcome := &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: fmt.Sprint("k", n), Name: "read_file", Content: []firn.Part{firn.Text{Text: "a result that is not long, but not short either"}}}}}
		batch = append(batch,
			called(fmt.Sprintf("u%07d", n), firn.NewEntry(firn.UserText(fmt.Sprintf("Question %d: what does file%d.go do?", n, n)).Body)), called(fmt.Sprintf("c%07d", n), firn.NewEntry(call)),
			called(fmt.Sprintf("r%07d", n), firn.NewEntry(outcome)), called(fmt.Sprintf("a%07d", n), firn.AssistantText(fmt.Sprintf("It is the %dth file.", n))))
	}
	d.write(batch...)
}

// called sets the ID of an entry.
func called(id string, e firn.Entry) firn.Entry {
	e.ID = firn.EntryID(id)
	return e
}

// need fails the test on an error.
func need[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestEndMatchesFullRead checks that reading only the end of a long session gives the same
// result as reading all of it.
func TestEndMatchesFullRead(t *testing.T) {
	d := newGallery(t)
	d.createSession(called("m1", firn.NewEntry(&firn.ThinkingChange{Level: "high"})), called("v1", firn.NewEntry(&firn.Custom{Type: firn.VerboseType, Data: json.RawMessage(`{"level":"on"}`)})))
	d.turns(0, 3000)
	check := func(what string) {
		t.Helper()
		path := need(d.Path(t.Context(), d.id))(t)
		want := need(d.nextRequest(t.Context(), d.id, path))(t)
		p := need(d.prospect(t.Context(), d.id))(t)
		got := fmt.Sprint(p.Tokens, len(p.Request.Window.Items), p.Thinking, p.Verbose, p.path.Head, p.path.End)
		if all := fmt.Sprint(want.Tokens, len(want.Request.Window.Items), want.Thinking, want.Verbose, path.Head, path.End); got != all {
			t.Errorf("%s: read from its end it is %s, as a whole %s", what, got, all)
		}
		if items := want.Request.Window.Items; len(items) == 0 || fmt.Sprint(p.Request.Window.Items[0]) != fmt.Sprint(items[0]) {
			t.Errorf("%s: the window starts differently", what)
		}
	}
	need(d.Course(t.Context(), d.id, "", wire.TurnRange{}))(t) // makes the shape known
	check("as it is")
	if p := need(d.prospect(t.Context(), d.id))(t); !p.cut || len(p.read) > 3000 {
		t.Errorf("%d entries of it were read", len(p.read))
	}
	d.write(firn.NewEntry(&firn.Tombstone{Target: "u0002999"}))
	check("with something hidden")
	d.write(firn.NewEntry(&firn.ThinkingChange{Level: "low"}), firn.NewEntry(firn.UserText("more").Body))
	check("with another choice")
	d.write(called("k1", firn.NewEntry(&firn.Compaction{Summary: "all of it", FirstKept: "u0002990"})))
	check("compacted")
	d.write(firn.NewEntry(&firn.Tombstone{Target: "k1"}), firn.NewEntry(firn.UserText("more").Body))
	check("compaction undone")
	branch := firn.NewEntry(firn.UserText("another branch").Body)
	branch.Parent = "a0000100"
	d.write(branch)
	check("on a short branch")
	lines := need(d.Entries(t.Context(), d.id, EntryQuery{View: wire.ViewBranch, Limit: 10}))(t)
	if lines.Items[0].N != 1 || lines.Items[2].Out != "" {
		t.Errorf("the first entries are %+v", lines.Items[:3])
	}
}

// TestShapesAreBounded checks that the cache of shapes is bounded and keeps the most
// recently used.
func TestShapesAreBounded(t *testing.T) {
	d := newGallery(t)
	var ids []firn.ID
	for range 4 {
		d.createSession()
		d.turns(0, 100)
		ids = append(ids, d.id)
	}
	tree := func(id firn.ID) { need(d.Tree(t.Context(), id, 1, ""))(t) }
	known := func(id firn.ID) bool {
		s := d.cache.shape(id, false)
		return s != nil && s.Tree.Len() >= 400
	}
	tree(ids[0])
	size := d.cache.shape(ids[0], false).size
	d.cache.limit = 3*size + size/2
	for _, id := range ids[1:] {
		tree(id)
	}
	if !known(ids[3]) || known(ids[0]) {
		t.Errorf("the shape of the latest is known: %t, of the first: %t", known(ids[3]), known(ids[0]))
	}
	if d.cache.used > d.cache.limit {
		t.Errorf("%d bytes are kept, of %d", d.cache.used, d.cache.limit)
	}
	d.cache.limit = size / 2
	d.cache.Forget(ids[3])
	if tree(ids[3]); d.cache.used > d.cache.limit || known(ids[3]) {
		t.Errorf("%d bytes are kept, of %d", d.cache.used, d.cache.limit)
	}
}
