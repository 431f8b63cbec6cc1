package browse

import (
	"context"
	"slices"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// treePage is the number of nodes in a page of a tree.
const treePage = 200

// text is the tree or the window of a session, as lines.
type text struct {
	lines            []string
	top              int
	bottom           bool
	started, loading bool
	run              int
	// stale is true if the text is to be read again, and anew if nodes that were read before
	// are to be dropped then, because they may have changed too.
	stale, anew bool
	tree        wire.Tree
}

// wants returns a load if the text, or older nodes of the tree, are missing, or if the text
// is stale.
func (t *text) wants(o Options, id firn.ID, kind tab, height int) load {
	older := kind == tabTree && t.started && t.tree.Cursor != "" && t.top < height && !t.bottom
	if t.loading || t.started && !older && !t.stale {
		return nil
	}
	t.loading = true
	run, cursor := t.run, t.tree.Cursor
	again, anew := t.started && t.stale, t.anew
	if again {
		cursor = ""
	}
	if cursor == "" {
		t.stale, t.anew = false, false
	}
	if kind == tabWindow {
		return func(ctx context.Context) func(*model) {
			w, err := o.Source.Window(ctx, id, "")
			return func(m *model) { m.addWindow(run, w, err) }
		}
	}
	return func(ctx context.Context) func(*model) {
		tree, err := o.Source.Tree(ctx, id, treePage, cursor)
		return func(m *model) {
			if again {
				m.replaceTree(run, tree, anew, err)
			} else {
				m.addTree(run, tree, err)
			}
		}
	}
}

func (m *model) addWindow(run int, w wire.Window, err error) {
	t := &m.text
	if run != t.run {
		return
	}
	t.loading, t.started = false, true
	m.failed(err)
	if err == nil && m.o.Window != nil {
		t.lines = m.o.Window(w)
		for _, d := range w.Damage {
			t.lines = append(t.lines, prose.Damage(d))
		}
	}
}

func (m *model) addTree(run int, tree wire.Tree, err error) {
	t := &m.text
	if run != t.run {
		return
	}
	first := !t.started
	t.loading, t.started = false, true
	m.failed(err)
	if err != nil {
		t.tree.Cursor = ""
		return
	}
	before := len(t.lines)
	if tree.Cursor == t.tree.Cursor {
		tree.Cursor = ""
	}
	tree.Nodes = append(slices.Clone(t.tree.Nodes), tree.Nodes...) // newest first
	tree.Damage = slices.Concat(tree.Damage, t.tree.Damage)
	t.tree = tree
	t.lines = prose.Tree(tree, false)
	if first {
		t.bottom = true
	} else {
		t.top += len(t.lines) - before
	}
}

// replaceTree replaces the latest nodes of the tree. Older nodes that were read before stay,
// and so does the visible part; if anew is set or nodes between them are missing, the older
// ones are dropped and read again when they are needed.
func (m *model) replaceTree(run int, tree wire.Tree, anew bool, err error) {
	t := &m.text
	if run != t.run {
		return
	}
	t.loading = false
	if m.failed(err); err != nil {
		return
	}
	read := make(map[firn.EntryID]bool, len(tree.Nodes))
	for _, n := range tree.Nodes {
		read[n.ID] = true
	}
	before := len(t.lines)
	known := func(n wire.Node) bool { return read[n.ID] }
	kept := !anew && slices.ContainsFunc(t.tree.Nodes, known)
	if older := slices.DeleteFunc(slices.Clone(t.tree.Nodes), known); kept && len(older) > 0 {
		tree.Nodes = append(tree.Nodes, older...) // newest first
		tree.Cursor = t.tree.Cursor
		tree.Damage = slices.Concat(slices.DeleteFunc(slices.Clone(t.tree.Damage), func(d wire.Damage) bool { return slices.Contains(tree.Damage, d) }), tree.Damage)
	}
	t.tree = tree
	t.lines = prose.Tree(tree, false)
	if !kept {
		t.top += len(t.lines) - before // the distance from the end
	}
}

// press scrolls.
func (t *text) press(key string, height int) {
	switch key {
	case "j", "down", "ctrl-n", "enter":
		t.top++
	case "k", "up", "ctrl-p":
		t.top--
	case "pgdn", " ":
		t.top += height - 1
	case "pgup", "b":
		t.top -= height - 1
	case "end", "G":
		t.bottom = true
		return
	default:
		return
	}
	t.bottom = false
}

// scroll moves the visible part.
func (t *text) scroll(n, height int) {
	t.bottom = false
	t.top = max(min(t.top+n, len(t.lines)-height), 0)
}

// visible returns the visible rows.
func (t *text) visible(width, height int) []string {
	if t.bottom {
		t.top = len(t.lines) - height
	}
	t.top = max(min(t.top, len(t.lines)-height), 0)
	var rows []string
	for _, l := range t.lines[t.top:min(t.top+height, len(t.lines))] {
		rows = append(rows, prose.CutWidth(l, width))
	}
	return rows
}
