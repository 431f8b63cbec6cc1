package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// gauged is a store that counts the records read.
type gauged struct {
	store.Store
	records atomic.Int64
}

func (c *gauged) Unwrap() store.Store { return c.Store }

func (c *gauged) count(in iter.Seq2[firn.Record, error]) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		for rec, err := range in {
			if c.records.Add(1); !yield(rec, err) {
				return
			}
		}
	}
}

func (c *gauged) Read(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[firn.Record, error] {
	return c.count(c.Store.Read(ctx, id, after))
}

func (c *gauged) ReadBack(ctx context.Context, id firn.ID, before firn.Pos) iter.Seq2[firn.Record, error] {
	return c.count(c.Store.ReadBack(ctx, id, before))
}

// during returns the number of records read by do.
func (c *gauged) during(do func()) (records int64) {
	before := c.records.Load()
	do()
	return c.records.Load() - before
}

// gaugedRoom returns a room on a counting file store, with a model with a small window.
func gaugedRoom(t testing.TB) (*room, *gauged) {
	t.Helper()
	home := t.TempDir()
	files, err := filestore.Open(filepath.Join(home), filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	c := &gauged{Store: files}
	return newRoom(t, c, home), c
}

// longTalk writes an uncompacted session of about the given number of entries: turns with a
// tool call each.
func (r *room) longTalk(entries int) firn.ID {
	r.t.Helper()
	id := r.start(firn.Header{})
	r.goOn(id, 0, entries/4, strings.Repeat("line of a file that a tool has read\n", 12))
	return id
}

// goOn appends a range of turns to a session.
func (r *room) goOn(id firn.ID, from, to int, result string) {
	r.t.Helper()
	var batch []firn.Entry
	for n := from; n < to; n++ {
		batch = append(batch, turnOf(n, result)...)
		if len(batch) >= 1000 || n+1 == to {
			r.write(id, batch...)
			batch = batch[:0]
		}
	}
}

// turnOf returns turn n of a long session.
func turnOf(n int, result string) []firn.Entry {
	call := answers(fmt.Sprintf("c%07d", n), "")
	call.Body.(*firn.Message).Parts = []firn.Part{firn.ToolCall{ID: fmt.Sprint("k", n), Name: "read_file", Arguments: json.RawMessage(`{"path":"a.go"}`)}}
	outcome := &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: fmt.Sprint("k", n), Name: "read_file", Content: []firn.Part{firn.Text{Text: result}}}}}
	return []firn.Entry{
		says(fmt.Sprintf("u%07d", n), fmt.Sprintf("Question %d: what does file%d.go do?", n, n)), call,
		body(fmt.Sprintf("r%07d", n), outcome), answers(fmt.Sprintf("a%07d", n), fmt.Sprintf("It is the %dth file.", n)),
	}
}

// looks returns the ways to view a session.
func (r *room) looks(id firn.ID) map[string]func() error {
	entries := func(q view.EntryQuery) func() error {
		return func() error { _, err := r.Entries(r.ctx, id, q); return err }
	}
	return map[string]func() error{
		"session": func() error { _, err := r.Session(r.ctx, string(id)); return err },
		"course":  func() error { _, err := r.Course(r.ctx, id, "", wire.TurnRange{}); return err },
		"tree":    func() error { _, err := r.Tree(r.ctx, id, 100, ""); return err },
		"window":  func() error { _, err := r.Window(r.ctx, id, ""); return err },
		"entry":   func() error { _, err := r.Entry(r.ctx, id, "u0000003", true); return err },
		"forward": entries(view.EntryQuery{View: wire.ViewBranch, HTML: true, Limit: 60}),
		"lines":   entries(view.EntryQuery{View: wire.ViewBranch, Limit: 60}),
		"far on":  entries(view.EntryQuery{View: wire.ViewBranch, HTML: true, Limit: 60, After: 1 << 20}),
		"back":    entries(view.EntryQuery{View: wire.ViewBranch, HTML: true, Back: true, Limit: 60}),
	}
}

// TestReadingALongSession checks that a long uncompacted session is read once; after
// that, views read only what they show or send, even if entries are appended.
func TestReadingALongSession(t *testing.T) {
	const size = 16_000
	r, c := gaugedRoom(t)
	r.shrink(20_000)
	id := r.longTalk(size)
	bounds := map[string]int64{"session": 2000, "course": 2000, "tree": 300, "window": 3100, "entry": 50, "forward": 300, "lines": 3100, "far on": 300, "back": 300}
	first := c.during(func() {
		if err := r.looks(id)["back"](); err != nil {
			t.Fatal(err)
		}
	})
	if first > 200 {
		t.Errorf("the first page of a log of %d entries reads %d", size, first)
	}
	for name, look := range r.looks(id) { // whichever is first
		if err := look(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for range 2 {
		for name, look := range r.looks(id) {
			r.write(id, says("", "more"), answers("", "yes"))
			for _, when := range []string{"added to", "as it was"} {
				read := c.during(func() {
					if err := look(); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				})
				if read > bounds[name] {
					t.Errorf("%s of a session that is %s reads %d records, want at most %d", name, when, read, bounds[name])
				}
				if name == "session" && when == "as it was" && read > 10 {
					t.Errorf("a session that is as it was is read again: %d records", read)
				}
			}
		}
	}
}

// shrink gives the model of the room a small window.
func (r *room) shrink(window int64) {
	setup := *r.setup.Load()
	info := r.model.Info()
	info.Window = window
	setup.Agents["main"].Model = smallModel{r.model, info}
	setup.Agents["main"].Models = nil
	if err := r.Reload(setup); err != nil {
		r.t.Fatal(err)
	}
}

// smallModel is a model with another window size.
type smallModel struct {
	provider.Model
	info provider.Info
}

func (m smallModel) Info() provider.Info { return m.info }

const shortResult = "a result that is not long, but not short either"

// TestReasonsFarFromTheEnd checks that the reasons for entries far from the end are
// determined without building the whole window, and are the same.
func TestReasonsFarFromTheEnd(t *testing.T) {
	r, _ := gaugedRoom(t)
	r.shrink(20_000)
	failed := answers("f1", "")
	failed.Body.(*firn.Message).StopReason = firn.StopError
	id := r.start(firn.Header{}, says("u1", "hello"), failed, body("t1", &firn.Title{Name: "x"}), says("u2", "hidden"), body("x1", &firn.Tombstone{Target: "u2"}))
	reasons := func() (words []string) {
		for _, e := range got(r.Entries(r.ctx, id, view.EntryQuery{View: wire.ViewBranch, Limit: 5}))(t).Items {
			words = append(words, e.Out)
		}
		return words
	}
	r.goOn(id, 0, 1000, shortResult)
	want := fmt.Sprint(reasons())
	r.goOn(id, 1000, 3000, shortResult)
	same(t, "the reasons", fmt.Sprint(reasons()), want)
	same(t, "the reasons", want, "[over-budget hidden  tombstoned ]")
}

// TestShapeIsSharedWhileItGrows checks concurrent readers during appends.
func TestShapeIsSharedWhileItGrows(t *testing.T) {
	r, _ := gaugedRoom(t)
	id := r.longTalk(200)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 20 {
				before := got(r.Tree(r.ctx, id, 10, ""))(t)
				c := got(r.Course(r.ctx, id, "", wire.TurnRange{}))(t)
				if before.Total < 200 || len(before.Nodes) != 10 || c.Turns < 50 {
					t.Errorf("a tree of %d entries and %d turns", before.Total, c.Turns)
				}
			}
		})
	}
	for range 40 {
		r.write(id, says("", "more"))
	}
	work.Wait()
	if tree := got(r.Tree(r.ctx, id, 1, ""))(t); tree.Total != 240 {
		t.Errorf("the tree has %d entries", tree.Total)
	}
}

// TestShapeOfAReplacedSession checks that the shape is read again after an erasure or a
// move.
func TestShapeOfAReplacedSession(t *testing.T) {
	const entries = 400
	r, c := gaugedRoom(t)
	id := r.longTalk(entries)
	read := func() int64 {
		return c.during(func() { got(r.Tree(r.ctx, id, 1, ""))(t) })
	}
	read()
	if n := read(); n > 10 {
		t.Fatalf("one that is known is read again: %d records", n)
	}
	got(r.Purge(r.ctx, id, wire.Erase{Sure: id, Entries: []firn.EntryID{"u0000001"}}))(t)
	if n := read(); n < entries {
		t.Errorf("of one that was purged %d records are read", n)
	}
	r.Moved(id)
	if n := read(); n < entries {
		t.Errorf("of one that is elsewhere %d records are read", n)
	}
}

// TestTags checks that the tags of all sessions are listed.
func TestTags(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		for i, tags := range [][]string{{"work"}, {"urgent", "work"}, nil} {
			id := r.start(firn.Header{}, says("", fmt.Sprint("hello ", i)))
			if tags != nil {
				got(r.Patch(r.ctx, id, wire.Patch{Tags: &tags}))(t)
			}
		}
		same(t, "the tags", fmt.Sprint(got(r.Tags(r.ctx))(t)), "[{urgent 1} {work 2}]")
	})
}
