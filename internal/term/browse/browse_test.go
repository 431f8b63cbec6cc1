package browse

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
	"firn.dev/wire"
)

var clock = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// home is a Source with many sessions and entries. It counts what is read.
type home struct {
	sessions, entries int
	// damaged is the number of an entry that cannot be read; zero for none.
	damaged int

	// events are those of the sessions; nil for none.
	events chan wire.Event

	mu   sync.Mutex
	read int // entries
}

// Events yields the events of the channel.
func (h *home) Events(ctx context.Context, id firn.ID, _ firn.Pos) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for {
			select {
			case e := <-h.events:
				e.Session = id
				if !yield(e, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// change changes the number of sessions and entries.
func (h *home) change(sessions, entries int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions, h.entries = sessions, entries
}

// counts returns the number of sessions and entries.
func (h *home) counts() (sessions, entries int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions, h.entries
}

func (h *home) SessionsPage(_ context.Context, q client.Query) (wire.Page[wire.Session], error) {
	from, _ := strconv.Atoi(q.Cursor) // the first page has none
	sessions, _ := h.counts()
	page := wire.Page[wire.Session]{Total: sessions}
	for i := from; i < min(from+q.Limit, sessions); i++ {
		page.Items = append(page.Items, wire.Session{ID: firn.ID(fmt.Sprintf("s%05d", i)), Title: fmt.Sprintf("Session %d", i), Updated: clock.Add(-time.Duration(i) * time.Hour)})
	}
	if to := from + len(page.Items); to < sessions {
		page.Cursor = strconv.Itoa(to)
	}
	return page, nil
}

// EntriesPage has one entry for each position.
func (h *home) EntriesPage(_ context.Context, _ firn.ID, q client.EntryQuery) (wire.Page[wire.Entry], error) {
	before := int(q.Before)
	if before == 0 {
		_, before = h.counts()
	}
	var page wire.Page[wire.Entry]
	for i := range before - int(q.After) {
		at := int(q.After) + i
		if q.Back {
			at = before - 1 - i
		}
		if len(page.Items) == q.Limit {
			page.Cursor = "more"
			break
		}
		page.Items = append(page.Items, h.entry(at))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.read += len(page.Items)
	return page, nil
}

func (h *home) entry(at int) wire.Entry {
	e := wire.Entry{At: firn.Pos(at), Next: firn.Pos(at + 1), N: at + 1}
	if e.N == h.damaged {
		e.Gap, e.Damage = "zero bytes", &wire.Damage{Kind: "nul", N: e.N, Bytes: 205, Lost: true, Reason: "zero bytes"}
		return e
	}
	role, text := "user", fmt.Sprintf("Question %d", e.N)
	if at%2 == 1 {
		role, text = "assistant", fmt.Sprintf("Answer %d, **in bold** and long enough to be wrapped on a narrow screen.", e.N)
	}
	e.Line, _ = json.Marshal(map[string]any{"type": "message", "id": fmt.Sprintf("e%d", e.N), "message": map[string]any{"role": role, "content": text}})
	return e
}

func (h *home) Tree(context.Context, firn.ID, int, string) (wire.Tree, error) {
	return wire.Tree{Head: "e2", Total: 2, Branches: 1, Nodes: []wire.Node{
		{ID: "e2", N: 2, ParentN: 1, Kind: firn.KindMessage, Role: firn.RoleAssistant, Preview: "Answer 2", OnPath: true},
		{ID: "e1", N: 1, Kind: firn.KindMessage, Role: firn.RoleUser, Preview: "Question 1", OnPath: true},
	}}, nil
}

func (h *home) Window(context.Context, firn.ID, string) (wire.Window, error) {
	return wire.Window{Count: 2, Usage: wire.Usage{Tokens: 7, Window: 100}}, nil
}

func (h *home) Search(_ context.Context, q wire.SearchQuery) (wire.Found, error) {
	return wire.Found{Items: []wire.Hit{{Session: "s00003", Title: "Session 3", Entry: "e101", At: 100, N: 101, Role: "user", Snippet: "found " + q.Query}}}, nil
}

// fakeScreen is a Screen without a terminal.
type fakeScreen struct {
	t             *testing.T
	inputs        chan line.Input
	mu            sync.Mutex
	width, height int
	rows          []string
	drawn         chan struct{}
	suspended     int
	copied        string
}

func (g *fakeScreen) Inputs() <-chan line.Input { return g.inputs }

func (g *fakeScreen) Size() (int, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.width, g.height
}

func (g *fakeScreen) Suspend() error {
	g.suspended++
	return nil
}

func (g *fakeScreen) Copy(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.copied = text
}

func (g *fakeScreen) Draw(rows []string, _, _ int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rows = nil
	if len(rows) > g.height {
		g.t.Errorf("%d rows on a screen of %d", len(rows), g.height)
	}
	for _, r := range rows {
		if n := prose.Width(r); n > g.width {
			g.t.Errorf("a row has %d columns of %d: %q", n, g.width, r)
		}
		g.rows = append(g.rows, strings.TrimRight(prose.WithoutStyles(r), " "))
	}
	select {
	case g.drawn <- struct{}{}:
	default:
	}
	return nil
}

func (g *fakeScreen) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.rows, "\n") + "\n"
}

// shows waits until the screen contains texts.
func (g *fakeScreen) shows(texts ...string) {
	g.t.Helper()
	timeout := time.After(basetest.Limit)
	for _, text := range texts {
		for !strings.Contains(g.String(), text) {
			select {
			case <-g.drawn:
			case <-timeout:
				g.t.Fatalf("timed out waiting for %q; the screen has\n%s", text, g)
			}
		}
	}
}

// press presses keys.
func (g *fakeScreen) press(keys ...string) {
	for _, k := range keys {
		g.inputs <- line.Input{Key: k}
	}
}

func (g *fakeScreen) resize(width, height int) {
	g.mu.Lock()
	g.width, g.height = width, height
	g.mu.Unlock()
	g.inputs <- line.Input{}
}

// open runs the browser. The returned function presses q and returns the result.
func open(t *testing.T, h *home, width, height int, change func(*Options)) (*fakeScreen, func(key string) Result) {
	t.Helper()
	g := &fakeScreen{t: t, inputs: make(chan line.Input), width: width, height: height, drawn: make(chan struct{}, 1)}
	o := Options{Source: h, Screen: g, Styles: true, Now: func() time.Time { return clock }, Window: func(w wire.Window) []string { return []string{"window of " + prose.Plural(w.Count, "message")} }}
	if change != nil {
		change(&o)
	}
	done := make(chan Result, 1)
	go func() {
		result, err := Run(t.Context(), o)
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	return g, func(key string) Result {
		g.press(key)
		return <-done
	}
}

// golden compares a screen with a golden file. To update the files, set FIRN_UPDATE=1.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name+".golden")
	if os.Getenv("FIRN_UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s(%v)", name, got, want, err)
	}
}

// TestPanesFillTheScreen checks that the panes, the separator and the marker of an entry take up
// the whole width of a screen.
func TestPanesFillTheScreen(t *testing.T) {
	for _, width := range []int{narrow, 80, 120, 200} {
		m := newModel(Options{})
		m.width = width
		if got := m.leftWidth() + prose.Width(separator) + prose.Width("▌ ") + m.rightWidth(); got != width {
			t.Errorf("the panes take up %d of %d columns", got, width)
		}
	}
}

func TestScreens(t *testing.T) {
	for _, width := range []int{40, 80, 120} {
		g, quit := open(t, &home{sessions: 30, entries: 8, damaged: 5}, width, 24, nil)
		g.shows("30 sessions", "Session 21")
		if width >= narrow {
			g.shows("Answer 8")
		}
		golden(t, fmt.Sprintf("list-%d", width), g.String())
		g.press("j", "l")
		g.shows("Session 1 ", "[Log]", "Answer 8")
		g.press("k")
		g.shows("▌ #7 you")
		golden(t, fmt.Sprintf("log-%d", width), g.String())
		g.press("?")
		g.shows("next and previous")
		if width == 40 {
			g.press("pgdn")
		}
		g.shows("search all sessions")
		golden(t, fmt.Sprintf("keys-%d", width), g.String())
		g.press("?")
		quit("q")
	}
}

// TestLarge checks that only the pages near the visible part are read of 10,000 sessions and
// of 50,000 entries, from the end, in the middle and from the start.
func TestLarge(t *testing.T) {
	h := &home{sessions: 10_000, entries: 50_000}
	g, quit := open(t, h, 80, 24, nil)
	g.shows("10,000 sessions", "Answer 50000")
	for i := 1; i <= 20; i++ {
		g.press("pgdn")
		g.shows(fmt.Sprintf("❯ Session %d ", 21*i))
	}
	g.press("l", "G")
	g.shows("Answer 50000")
	for range 5 {
		g.press("pgup")
	}
	g.press("g", "g")
	g.shows("#1 you", "Question 1")
	g.press("pgdn")
	g.shows("Question 7")
	g.press("G")
	g.shows("Answer 50000")
	g.press("g", "f", "x", "enter")
	g.shows(`"x": 1 hit`, "found x", "#101 you", "Session 3")
	g.press("enter", "k")
	g.shows("▌ #100 agent")
	quit("q")
	if h.read > 100*entryPage {
		t.Errorf("%d entries were read", h.read)
	}
}

func TestTabs(t *testing.T) {
	g, quit := open(t, &home{sessions: 3, entries: 2}, 80, 24, func(o *Options) { o.Open, o.Styles = "s00001", false })
	g.shows("Answer 2")
	g.press("2")
	g.shows("[Tree]", "2 entries, 1 branch")
	g.press("3")
	g.shows("[Window]", "window of 2 messages")
	g.press("1")
	g.shows("[Log]", "Answer 2")
	g.resize(40, 12)
	g.shows("[Log]")
	g.press("esc")
	g.shows("3 sessions")
	g.press("ctrl-z", "j")
	g.shows("❯ Session 2")
	if result := quit("c"); result.Chat != "s00002" || g.suspended != 1 {
		t.Errorf("it ended with %v, suspended %d times", result, g.suspended)
	}
}

func TestEmpty(t *testing.T) {
	g, quit := open(t, &home{}, 80, 24, nil)
	g.shows("0 sessions", "nothing here")
	g.press("l", "k", "G", "2", "g", "g", "c", "/", "a", "enter")
	g.shows(`0 sessions with "a"`)
	quit("q")
}

// TestFolding expands and collapses an entry.
func TestFolding(t *testing.T) {
	e := wire.Entry{N: 1}
	e.Line, _ = json.Marshal(map[string]any{"type": "message", "id": "a", "message": map[string]any{"role": "toolResult", "toolName": "shell", "content": strings.Repeat("line\n", 50)}})
	if rows := entryRows(e, false, 40, false); len(rows) != 1+resultLines+2 || !strings.Contains(rows[len(rows)-2], "more lines (Enter)") {
		t.Errorf("it is folded as %q", rows)
	}
	if rows := entryRows(e, true, 40, false); len(rows) < 50 {
		t.Errorf("it is shown in %d rows", len(rows))
	}
}
