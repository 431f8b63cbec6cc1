package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// lineOf returns the line of a user message.
func lineOf(id, parent string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-03-01T12:00:00.000Z","message":{"role":"user","content":"hi","timestamp":1}}`
}

// place adds a file of another program to the room.
func place(t *testing.T, r *room, id firn.ID, lines ...string) {
	t.Helper()
	name := filepath.Join(r.home, "agents", "main", "sessions", string(id)+".jsonl")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTreeOfReusedIDs checks that the numbers of entries with reused IDs define their order
// and contain no cycles.
func TestTreeOfReusedIDs(t *testing.T) {
	r := fileRoom(t)
	r.talk(1)
	place(t, r, "twice", `{"type":"session","version":3,"id":"twice","timestamp":"2026-03-01T12:00:00.000Z","cwd":"/"}`,
		lineOf("a1", "null"), lineOf("a2", "a1"), lineOf("b1", "a1"), lineOf("a1", "a2"), lineOf("c1", "a1"))
	tree := got(r.Tree(r.ctx, "twice", 0, ""))(t)
	ups := map[int]int{}
	for _, n := range tree.Nodes {
		ups[n.N] = n.ParentN
		if n.ParentN >= n.N {
			t.Errorf("#%d follows #%d", n.N, n.ParentN)
		}
	}
	if want := map[int]int{1: 0, 2: 1, 3: 1, 4: 2, 5: 4}; len(ups) != len(want) || ups[2] != 1 || ups[3] != 1 || ups[4] != 2 || ups[5] != 4 {
		t.Errorf("parents: %v, want %v", ups, want)
	}
	for _, back := range []bool{false, true} {
		for head, want := range map[string]int{"#1": 1, "#3": 2, "#4": 3, "a1": 3, "#5": 4} {
			page := got(r.Entries(r.ctx, "twice", view.EntryQuery{View: wire.ViewBranch, Head: head, Back: back}))(t)
			if len(page.Items) != want {
				t.Errorf("the branch of %s, back %v, has %d entries, want %d", head, back, len(page.Items), want)
			}
		}
	}
}

// TestForkedFromAPath checks that a parent given as a path is resolved to an ID if the
// session exists.
func TestForkedFromAPath(t *testing.T) {
	r := fileRoom(t)
	known := r.talk(1)
	head := func(id, parent string) string {
		return `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-03-01T12:00:00.000Z","cwd":"/","parentSession":"` + parent + `"}`
	}
	paths := map[firn.ID][2]string{
		"path":    {"/Users/b/sessions/2026-03-01T12-00-00-000Z_" + string(known) + ".jsonl", string(known)},
		"windows": {`C:\\sessions\\` + string(known) + ".jsonl", string(known)},
		"far":     {"/Users/b/nobody.jsonl", "/Users/b/nobody.jsonl"},
		"plain":   {string(known), string(known)},
	}
	for id, c := range paths {
		place(t, r, id, head(string(id), c[0]), lineOf("a1", "null"))
		if s := got(r.Session(r.ctx, string(id)))(t); s.Parent != c[1] {
			t.Errorf("%s was forked from %q, want %q", id, s.Parent, c[1])
		}
	}
}
