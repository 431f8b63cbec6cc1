package gateway

import (
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/wire"
)

// drawn formats a tree, one line per node, newest first.
func drawn(nodes []wire.Node) string {
	var lines []string
	for _, n := range nodes {
		line := fmt.Sprintf("%d %s<%s", n.N, n.ID, n.Parent)
		for flag, set := range map[string]bool{" path": n.OnPath} {
			if set {
				line += flag
			}
		}
		if n.Compacted {
			line += " compacted"
		}
		if n.Hidden {
			line += " hidden"
		}
		if n.Compaction != "" {
			line += " " + n.Compaction
		}
		if n.Label != "" {
			line += " =" + n.Label
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

const gardenTree = `15 label-1<failed-1 path
14 failed-1<stone-1 path
13 stone-1<answer-5 path
12 answer-5<user-5 path
11 user-5<comp-1 path =here
10 comp-1<answer-4 path current
9 answer-4<user-4 path hidden
8 user-4<answer-3 path
7 answer-3<user-3 path compacted
6 user-3<head-1 path compacted
5 head-1<answer-1 path compacted
4 answer-2<user-2
3 user-2<answer-1
2 answer-1<user-1 path compacted
1 user-1< path compacted`

func TestTree(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := sampleSession(r)
		tree := got(r.Tree(r.ctx, id, 0, ""))(t)
		same(t, "the tree", drawn(tree.Nodes), gardenTree)
		if tree.Head != "label-1" || tree.Total != 15 || tree.Branches != 2 || tree.Cursor != "" {
			t.Errorf("it is reported as %s, %d entries, %d branches", tree.Head, tree.Total, tree.Branches)
		}
		last := tree.Nodes[len(tree.Nodes)-1]
		if last.Kind != firn.KindMessage || last.Role != firn.RoleUser || last.Preview != "one" || last.Time.IsZero() || last.Tokens == 0 {
			t.Errorf("the first entry is %+v", last)
		}
		for _, limit := range []int{1, 4, 14, 15, 1 << 40} {
			var nodes []wire.Node
			cursor := ""
			for n := 0; ; n++ {
				page := got(r.Tree(r.ctx, id, limit, cursor))(t)
				nodes = append(nodes, page.Nodes...)
				if cursor = page.Cursor; cursor == "" {
					break
				}
				if n == 0 { // appends do not change older pages
					r.write(id, body("", &firn.Label{Target: "user-2", Name: ""}))
				}
			}
			// New entries change only the first page.
			if limit < 15 {
				id = sampleSession(r)
			}
			same(t, fmt.Sprint("by ", limit), drawn(nodes), gardenTree)
		}
		for _, cursor := range []string{"x", "0", "-1", "1.5", strings.Repeat("9", 99)} {
			_, err := r.Tree(r.ctx, id, 0, cursor)
			isKind(t, "cursor "+cursor, err, wire.Invalid)
		}
		if empty := got(r.Tree(r.ctx, r.start(firn.Header{}), 0, ""))(t); empty.Total != 0 || empty.Nodes == nil || empty.Head != "" {
			t.Errorf("an empty tree is %+v", empty)
		}
		_, err := r.Tree(r.ctx, "nobody", 0, "")
		isKind(t, "no session", err, wire.NotFound)
		_, err = r.Tree(r.ctx, "../x", 0, "")
		isKind(t, "no id", err, wire.Invalid)
	})
}

func TestTreeOfCompactions(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.start(firn.Header{}, says("user-1", "one"), answers("answer-1", "uno"),
			body("comp-1", &firn.Compaction{Summary: "one", FirstKept: "answer-1"}),
			says("user-2", "two"),
			body("comp-2", &firn.Compaction{Summary: "two", FirstKept: "comp-2"}),
			says("user-3", "three"),
			body("comp-3", &firn.Compaction{Summary: "three", FirstKept: "user-3"}),
			firn.Hide("comp-3"),
		)
		tree := got(r.Tree(r.ctx, id, 0, ""))(t)
		var texts []string
		for _, n := range tree.Nodes {
			if n.Compaction != "" {
				texts = append(texts, string(n.ID)+" "+n.Compaction)
			}
			if n.Compacted {
				texts = append(texts, string(n.ID))
			}
		}
		same(t, "compactions", strings.Join(texts, ", "), "comp-3 undone, comp-2 current, user-2, comp-1 past, comp-1, answer-1, user-1")
	})
}

func TestTreeOfADamagedFile(t *testing.T) {
	r := fileRoom(t)
	id := r.start(firn.Header{}, says("user-1", "one"))
	appendFile(t, got(r.Session(r.ctx, string(id)))(t).Files[0],
		`{"type":"message","id":"lost-1","parentId":"nowhere","timestamp":"2026-03-01T12:00:00.000Z","message":{"role":"user","content":"x","timestamp":1}}`+"\n"+
			"not JSON\n"+
			`{"type":"message","id":"user-1","parentId":"lost-1","timestamp":"2026-03-01T12:00:00.000Z","message":{"role":"user","content":"again","timestamp":1}}`+"\n")
	tree := got(r.Tree(r.ctx, id, 0, ""))(t)
	same(t, "the tree", drawn(tree.Nodes), "3 user-1<lost-1 path\n2 lost-1<user-1 path\n1 user-1< path")
	if !strings.Contains(tree.Nodes[0].Fault, "has the same id") || !strings.Contains(tree.Nodes[1].Fault, "its parent nowhere does not precede") || tree.Nodes[2].Fault != "" {
		t.Errorf("the faults are %q, %q, %q", tree.Nodes[0].Fault, tree.Nodes[1].Fault, tree.Nodes[2].Fault)
	}
	if len(tree.Damage) != 1 || !tree.Damage[0].Lost || tree.Damage[0].After != 2 {
		t.Errorf("the damage is %+v", tree.Damage)
	}
}
