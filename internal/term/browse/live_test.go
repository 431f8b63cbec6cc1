package browse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/term/line"
	"firn.dev/wire"
)

// loadAll runs the loads that a model wants until it wants none.
func loadAll(t *testing.T, m *model) (n int) {
	t.Helper()
	for range 100 {
		wanted := m.wants()
		if len(wanted) == 0 {
			return n
		}
		for _, l := range wanted {
			l(t.Context())(m)
			n++
		}
	}
	t.Fatal("it never stops loading")
	return n
}

func pressAll(m *model, keys ...string) {
	for _, k := range keys {
		m.press(line.Input{Key: k})
	}
}

// TestFilteredListIsNotRefreshed checks that a filtered list is not read again by the timer,
// and that r reads it again.
func TestFilteredListIsNotRefreshed(t *testing.T) {
	m := newModel(Options{Source: &home{sessions: 3, entries: 4}, Now: func() time.Time { return clock }})
	loadAll(t, m)
	m.list.stale = true
	if n := loadAll(t, m); n != 1 {
		t.Errorf("%d loads of a stale list, want 1", n)
	}
	pressAll(m, "/", "S", "enter")
	loadAll(t, m)
	m.list.stale = true
	if n := loadAll(t, m); n != 0 {
		t.Errorf("%d loads of a stale list with a filter, want none", n)
	}
	run := m.list.run
	pressAll(m, "r")
	if loadAll(t, m); m.list.run == run || len(m.list.sessions) == 0 {
		t.Error("r does not read the list again")
	}
}

// longTreeSource is a source with a long tree.
type longTreeSource struct {
	*home
	nodes int
}

func (f *longTreeSource) Tree(_ context.Context, _ firn.ID, limit int, cursor string) (wire.Tree, error) {
	last := f.nodes
	if cursor != "" {
		fmt.Sscan(cursor, &last)
	}
	tree := wire.Tree{Total: f.nodes, Branches: 1}
	for n := last; n > max(last-limit, 0); n-- {
		tree.Nodes = append(tree.Nodes, wire.Node{ID: firn.EntryID(fmt.Sprint("e", n)), N: n, ParentN: n - 1, Kind: firn.KindMessage, Role: firn.RoleUser, Preview: fmt.Sprint("Question ", n), OnPath: true})
	}
	if last > limit {
		tree.Cursor = fmt.Sprint(last - limit)
	}
	return tree, nil
}

// TestTreeKeepsPosition checks that an entry of another client leaves the visible part of a
// tree and its loaded nodes as they are, and that it is read once however many entries
// arrive.
func TestTreeKeepsPosition(t *testing.T) {
	f := &longTreeSource{&home{sessions: 1, entries: 4}, 1000}
	m := newModel(Options{Source: f, Now: func() time.Time { return clock }})
	loadAll(t, m)
	pressAll(m, "2")
	loadAll(t, m)
	for range 20 {
		m.text.visible(60, 20)
		pressAll(m, "b")
		loadAll(t, m)
	}
	before, loaded := m.text.visible(60, 20), len(m.text.tree.Nodes)
	if loaded <= treePage {
		t.Fatalf("%d nodes are loaded", loaded)
	}
	f.nodes += 2
	for range 5 {
		m.happened(m.shown, wire.Event{Name: wire.EntryAppended})
	}
	if n := loadAll(t, m); n != 1 {
		t.Errorf("%d loads for entries that arrived together, want 1", n)
	}
	if after := m.text.visible(60, 20); !slices.Equal(before, after) || len(m.text.tree.Nodes) != loaded+2 {
		t.Errorf("%d nodes, and it shows\n%s\nwant\n%s", len(m.text.tree.Nodes), strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	if last := m.text.lines[len(m.text.lines)-1]; !strings.Contains(strings.Join(m.text.lines, "\n"), "Question 1002") {
		t.Errorf("the tree ends with %q", last)
	}
	m.wants()
	m.happened(m.shown, wire.Event{Name: wire.EntryAppended})
	wanted := m.wants()
	if len(wanted) != 1 {
		t.Fatalf("%d loads", len(wanted))
	}
	m.happened(m.shown, wire.Event{Name: wire.EntryAppended})
	if more := m.wants(); len(more) != 0 {
		t.Errorf("%d more loads while one is under way", len(more))
	}
}

// TestOtherBranchIsNotChanged checks that events do not change a log that shows another branch.
func TestOtherBranchIsNotChanged(t *testing.T) {
	m := newModel(Options{Source: &home{sessions: 1, entries: 4}, Now: func() time.Time { return clock }})
	loadAll(t, m)
	m.log.head = "e2"
	m.happened(m.shown, wire.Event{Name: wire.EntryAppended, Pos: 100})
	m.happened(m.shown, wire.Event{Name: wire.HeadMoved})
	if m.log.newer || m.log.head != "e2" || len(m.log.entries) == 0 {
		t.Errorf("the log changed: %+v", m.log)
	}
}

// TestReturnFromChat returns from the chat: the filter, the search and the selection are as they
// were, and a note is shown.
func TestReturnFromChat(t *testing.T) {
	for _, c := range []struct{ keys, shows, selected string }{
		{"/ S enter j j c", `with "S"`, "s00002"},
		{"G G c", "300 sessions", "s00299"},
		{"g f x enter c", `"x": 1 hit`, "s00003"},
	} {
		source := &home{sessions: 300, entries: 4}
		o := Options{Source: source, Now: func() time.Time { return clock }}
		m := newModel(o)
		for _, k := range strings.Fields(c.keys) {
			loadAll(t, m)
			pressAll(m, k)
		}
		if !m.done || string(m.result.Chat) != c.selected {
			t.Fatalf("%s: it left with %+v", c.keys, m.result)
		}
		o.Open, o.InList, o.View, o.Note = m.result.Chat, true, m.result.View, "the chat ended: why"
		m = newModel(o)
		m.firstLoads()
		loadAll(t, m)
		rows, _, _ := m.draw()
		screen := strings.Join(rows, "\n")
		if string(m.shown) != c.selected || !strings.Contains(screen, c.shows) || !strings.Contains(screen, "the chat ended: why") {
			t.Errorf("%s: it shows %s\n%s", c.keys, m.shown, screen)
		}
		if s, ok := m.list.session(); ok && string(s.ID) != c.selected {
			t.Errorf("%s: session %s is selected", c.keys, s.ID)
		}
	}
}
