package browse

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/term/line"
	"firn.dev/wire"
)

// pages are the sources of the web pages that firn browse corresponds to.
var pages = []string{"nav.ts", "layout.tsx", "pages/parts.tsx", "pages/sessions/index.tsx", "pages/session/log.tsx", "pages/search/index.tsx"}

// TestKeysOfPages compares the table of keys with the sources of the pages: each key of one
// is in the other.
func TestKeysOfPages(t *testing.T) {
	bound := regexp.MustCompile(`\bkey: "([^"]+)"`)
	want := make(map[string]bool)
	for _, name := range pages {
		source, err := os.ReadFile(filepath.Join("..", "..", "door", "webui", "src", name))
		if err != nil {
			t.Fatal(err)
		}
		found := bound.FindAllSubmatch(source, -1)
		if len(found) == 0 {
			t.Errorf("%s has no keys", name)
		}
		for _, m := range found {
			want[string(m[1])] = true
		}
	}
	listed := make(map[string]bool)
	for _, b := range Bindings() {
		for _, key := range strings.Split(b.Pages, ", ") {
			if key == "" {
				continue
			}
			if listed[key] {
				t.Errorf("%s is listed twice", key)
			}
			listed[key] = true
			if !want[key] {
				t.Errorf("the pages do not have the key %s", key)
			}
			delete(want, key)
		}
	}
	for key := range want {
		t.Errorf("the key %s of the pages is not in the table", key)
	}
}

// TestKeysInDocs checks that docs/keys.md has the same table.
func TestKeysInDocs(t *testing.T) {
	docs, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "keys.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := "| `firn browse` | pages | effect |\n|---|---|---|\n"
	for _, b := range Bindings() {
		does := b.Does
		if b.OnPages != "" {
			does = strings.TrimPrefix(does+"; pages: "+b.OnPages, "; ")
		}
		table += fmt.Sprintf("| %s | %s | %s |\n", b.Keys, strings.NewReplacer("mod+f", "Ctrl-F", "mod+k", "Ctrl-K").Replace(b.Pages), does)
	}
	if !strings.Contains(string(docs), table) {
		t.Errorf("docs/keys.md lacks the table\n%s", table)
	}
}

// TestLeaveForChat leaves for the chat: with Enter in the list, with c, for a new session, and
// with Enter before the list was read.
func TestLeaveForChat(t *testing.T) {
	for _, c := range []struct {
		keys string
		want Result
	}{
		{"j enter", Result{Chat: "s00001"}}, {"j c", Result{Chat: "s00001"}}, {"l c", Result{Chat: "s00000"}}, {"n", Result{New: true}}, {"q", Result{}},
		{"j l enter q", Result{}}, {"g f x enter enter q", Result{}},
	} {
		g, quit := open(t, &home{sessions: 3, entries: 4}, 80, 24, nil)
		g.shows("3 sessions", "Answer 4")
		keys := strings.Fields(c.keys)
		g.press(keys[:len(keys)-1]...)
		if got := quit(keys[len(keys)-1]); got.Chat != c.want.Chat || got.New != c.want.New {
			t.Errorf("%s: %+v, want %+v", c.keys, got, c.want)
		}
	}
}

// TestCopy copies an entry and, in the list, the ID of the session.
func TestCopy(t *testing.T) {
	g, quit := open(t, &home{sessions: 3, entries: 4}, 80, 24, nil)
	g.shows("3 sessions", "Answer 4")
	g.press("j")
	g.shows("❯ Session 1", "Answer 4")
	g.press("y")
	g.shows("copied the session's ID (6 characters)")
	if g.copied != "s00001" {
		t.Errorf("it copied %q", g.copied)
	}
	g.press("l", "k", "y")
	g.shows("copied the text")
	if g.copied != "Question 3" {
		t.Errorf("it copied %q", g.copied)
	}
	quit("q")
}

// TestMouse selects with clicks and scrolls with the wheel.
func TestMouse(t *testing.T) {
	g, quit := open(t, &home{sessions: 30, entries: 40}, 80, 24, nil)
	g.shows("30 sessions", "Answer 40")
	at := func(key string, x, y int) { g.inputs <- line.Input{Key: key, X: x, Y: y} }
	at("click", 3, 5)
	g.shows("❯ Session 4 ")
	at("wheeldown", 3, 5)
	g.shows("❯ Session 7 ")
	at("wheelup", 3, 5)
	g.shows("❯ Session 4 ", "Answer 40")
	for range 100 {
		at("wheelup", 60, 5)
	}
	g.shows("#1 you")
	at("click", 60, 6)
	g.shows("▌ #2")
	at("click", 3, 500)
	at("click", 500, 23)
	at("click", 3, 2)
	g.shows("❯ Session 1 ")
	quit("q")
}

// TestLive shows new sessions and entries, and an answer while it is streamed.
func TestLive(t *testing.T) {
	h := &home{sessions: 3, entries: 4, events: make(chan wire.Event)}
	g, quit := open(t, h, 80, 24, func(o *Options) { o.Refresh = time.Millisecond })
	g.shows("3 sessions", "Answer 4")
	h.change(4, 4)
	g.shows("4 sessions", "Session 3")
	h.events <- wire.Event{Name: wire.DeltaText, Data: []byte(`{"text":"half an ","entry":"x"}`)}
	h.events <- wire.Event{Name: wire.DeltaText, Data: []byte(`{"text":"answer","entry":"x"}`)}
	g.shows("agent is answering", "half an answer")
	h.change(4, 6)
	h.events <- wire.Event{Name: wire.EntryAppended, Pos: 6, Data: []byte(`{"line":{"type":"message","id":"x","message":{"role":"assistant","content":"half an answer"}}}`)}
	g.shows("Question 5", "Answer 6")
	if s := g.String(); strings.Contains(s, "answering") || strings.Contains(s, "half an") {
		t.Errorf("the partial answer is still shown\n%s", s)
	}
	h.events <- wire.Event{Name: wire.TurnPartial, Data: []byte(`{"text":"from the start","entry":"y"}`)}
	g.shows("from the start")
	h.events <- wire.Event{Name: wire.TurnFailed}
	h.events <- wire.Event{Name: wire.HeadMoved, Data: []byte(`{"line":{"type":"head"}}`)}
	h.change(2, 6)
	g.shows("2 sessions")
	if s := g.String(); strings.Contains(s, "from the start") || strings.Contains(s, "Session 3") {
		t.Errorf("it still shows\n%s", s)
	}
	quit("q")
}

// TestMergePage keeps sessions of later pages, and drops those that left the list.
func TestMergePage(t *testing.T) {
	id := func(n int) firn.ID { return firn.ID(fmt.Sprintf("s%d", n)) }
	var before []wire.Session
	for i := range 6 {
		before = append(before, wire.Session{ID: id(i), Updated: clock.Add(-time.Duration(i) * time.Hour)})
	}
	// Session 3 has a new message, session 1 was archived, session 9 is new.
	moved := wire.Session{ID: id(3), Updated: clock.Add(time.Minute)}
	page := wire.Page[wire.Session]{Items: []wire.Session{{ID: id(9), Updated: clock.Add(time.Hour)}, moved, before[0], before[2]}, Cursor: "c"}
	var ids []string
	for _, s := range mergePage(before, page) {
		ids = append(ids, string(s.ID))
	}
	if want := []string{"s9", "s3", "s0", "s2", "s4", "s5"}; !slices.Equal(ids, want) {
		t.Errorf("the list is %v, want %v", ids, want)
	}
}
