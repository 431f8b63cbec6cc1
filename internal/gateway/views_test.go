package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/index"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// room is a gateway with direct access to its store.
type room struct {
	*Gateway
	t     testing.TB
	st    store.Store
	home  string // of a file store
	model *scripted.Model
	ctx   context.Context
}

// price is the price of the room's models per million tokens.
var price = provider.Price{Input: 1_000_000, Output: 1_000_000}

// inRooms runs a test on a memory store, on files, on files with a catalog, and on a NATS
// server.
func inRooms(t *testing.T, test func(t *testing.T, r *room)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(t, newRoom(t, memstore.New(memstore.Options{}), "")) })
	t.Run("files", func(t *testing.T) { test(t, fileRoom(t)) })
	if !testing.Short() {
		t.Run("nats", func(t *testing.T) { test(t, natsRoom(t)) })
	}
	t.Run("catalog", func(t *testing.T) {
		home := t.TempDir()
		files, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
		if err != nil {
			t.Fatal(err)
		}
		catalog, err := index.Open(vfs.OS{}, filepath.Join(home, "index"), files, index.Options{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, newRoom(t, index.Wrap(files, catalog), home))
	})
}

func fileRoom(t testing.TB) *room {
	t.Helper()
	home := t.TempDir()
	files, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	return newRoom(t, files, home)
}

// newRoom returns a gateway whose model answers "re: " and the message, for two dollars:
// one for input, one for output.
func newRoom(t testing.TB, st store.Store, home string) *room {
	t.Helper()
	r := &room{t: t, st: st, home: home, ctx: t.Context()}
	info := scripted.Info()
	info.Price = price
	r.model = scripted.Func(info, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		s := scripted.Reply("re: " + req.Window.Items[len(req.Window.Items)-1].Message.Text())
		if req.Purpose == provider.ForSummary {
			s = scripted.Reply("## Goal\nto test\n\n## Progress\nall of it was said")
		}
		s.Usage = &firn.Usage{Input: 1, Output: 1, Total: 50}
		return r.model.Play(ctx, req, s)
	})
	other := scripted.New(provider.Info{Provider: "scripted", Name: "other"})
	models := func(providerName, model string) (provider.Model, error) {
		switch providerName + "/" + model {
		case "scripted/scripted":
			return r.model, nil
		case "scripted/other":
			return other, nil
		}
		return nil, fmt.Errorf("model %s/%s: %w", providerName, model, firn.ErrNotFound)
	}
	g, err := New(Options{
		Store: st, Dialect: native.New(), Version: "test", Home: home,
		Encode: func(m provider.Model, req provider.Request) ([]byte, error) {
			return json.Marshal(map[string]any{"model": m.Info().Name, "messages": len(req.Window.Items), "system": req.Window.System})
		},
		Setup: Setup{
			Default: "main", Models: models,
			Known: func() []wire.Model {
				return []wire.Model{{ID: "scripted/scripted"}, {ID: "scripted/other", Window: 5}}
			},
			Agents: map[string]*agent.Agent{
				"main": {Store: st, Model: r.model, Models: models, NoTitles: true, System: "Be brief."},
				"work": {Name: "work", Store: st, Model: r.model, NoTitles: true},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Gateway = g
	t.Cleanup(func() {
		if err := errors.Join(g.Close(context.Background()), st.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// write appends to a session, which is created if necessary.
func (r *room) write(id firn.ID, entries ...firn.Entry) {
	r.t.Helper()
	if _, err := r.st.Append(r.ctx, id, store.Any, entries...); err != nil {
		r.t.Fatal(err)
	}
}

// start creates a session with a header and entries.
func (r *room) start(header firn.Header, entries ...firn.Entry) firn.ID {
	r.t.Helper()
	if header.Session == "" {
		header.Session = firn.NewID()
	}
	if header.Agent == "" {
		header.Agent = "main"
	}
	r.write(header.Session, append([]firn.Entry{{Body: &header}}, entries...)...)
	return header.Session
}

// says returns a user message. answers returns an answer that cost two dollars.
func says(id, text string) firn.Entry {
	e := firn.NewEntry(firn.UserText(text).Body)
	e.ID = firn.EntryID(id)
	return e
}

func answers(id, text string) firn.Entry {
	e := firn.AssistantText(text)
	e.ID = firn.EntryID(id)
	m := e.Body.(*firn.Message)
	m.Provider, m.API, m.Model = "scripted", "scripted", "scripted"
	m.Usage = &firn.Usage{Input: 1, Output: 1, Total: 50, Cost: firn.Cost{Input: 1, Output: 1, Total: 2}}
	return e
}

// under sets the parent of an entry.
func under(parent string, e firn.Entry) firn.Entry {
	e.Parent = firn.EntryID(parent)
	return e
}

// body returns an entry with a body.
func body(id string, b firn.Body) firn.Entry {
	e := firn.NewEntry(b)
	e.ID = firn.EntryID(id)
	return e
}

// talk creates a session with some turns: messages u1, u2 …, answers a1, a2 ….
func (r *room) talk(turns int) firn.ID {
	r.t.Helper()
	var entries []firn.Entry
	for i := 1; i <= turns; i++ {
		entries = append(entries, says(fmt.Sprint("user-", i), fmt.Sprint("question ", i)), answers(fmt.Sprint("answer-", i), fmt.Sprint("answer ", i)))
	}
	return r.start(firn.Header{}, entries...)
}

// talkAtLength is like talk, with long messages.
func (r *room) talkAtLength(turns int) firn.ID {
	r.t.Helper()
	var entries []firn.Entry
	for i := 1; i <= turns; i++ {
		much := strings.Repeat(fmt.Sprintf("word %d is a word. ", i), 40)
		answer := answers(fmt.Sprint("answer-", i), "answer "+much)
		answer.Body.(*firn.Message).Usage = nil // it would report a low token count
		entries = append(entries, says(fmt.Sprint("user-", i), "question "+much), answer)
	}
	return r.start(firn.Header{}, entries...)
}

// busy makes a session appear to have a running turn.
func (r *room) busy(id firn.ID) (rest func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byID[id] = &lane{g: r.lanes, id: id}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.byID, id)
	}
}

// got returns a value or fails the test.
func got[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// isKind checks the problem kind of an error.
func isKind(t *testing.T, what string, err error, kind wire.Kind) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: it worked, want a problem of kind %s", what, kind)
		return
	}
	if got := wire.KindOf(err); got != kind {
		t.Errorf("%s: the kind is %s, want %s: %v", what, got, kind, err)
	}
	if len(err.Error()) > 2000 {
		t.Errorf("%s: the error has %d bytes", what, len(err.Error()))
	}
}

// lineIDs returns the IDs in the lines of entries, with marks for gaps and headers, and the
// reasons why they are left out.
func lineIDs(t *testing.T, items []wire.Entry) string {
	t.Helper()
	var out []string
	for _, e := range items {
		var line struct {
			Type firn.Kind    `json:"type"`
			ID   firn.EntryID `json:"id"`
		}
		name := "gap"
		if e.Gap == "" {
			if err := json.Unmarshal(e.Line, &line); err != nil {
				t.Fatalf("line %q: %v", e.Line, err)
			}
			name = string(line.ID)
			if line.Type == firn.KindHeader {
				name = "header"
			}
		}
		if e.Out != "" {
			name += "/" + e.Out
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// same checks that two texts are equal.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func day(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }

// at sets the time of an entry.
func at(t time.Time, e firn.Entry) firn.Entry {
	e.Time = t
	if m, ok := e.Body.(*firn.Message); ok {
		m.Time = t
	}
	return e
}

// appendFile appends to a file without using the store.
func appendFile(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// dice is a deterministic source of randomness.
type dice struct{ *rand.Rand }

func newDice(seed int) *dice { return &dice{rand.New(rand.NewPCG(uint64(seed), 1))} }

func (d *dice) n(sides int) int { return d.IntN(sides) }

// halting is a store that fails after some appends to new sessions.
type halting struct {
	store.Store
	after int
}

var errHalt = errors.New("the disk is gone")

func (h *halting) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	if h.after == 0 {
		return 0, errHalt
	}
	h.after--
	return h.Store.Append(ctx, id, expect, entries...)
}

func memRoomStore() store.Store { return memstore.New(memstore.Options{}) }
