package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"firn.dev"
)

// leaves counts the ends of branches in a whole tree: entries that nothing
// follows, but for those that only move the head.
func leaves(tree *firn.Tree) int {
	followed := make([]bool, tree.Len())
	n := 0
	for i := tree.Len() - 1; i >= 0; i-- {
		node := tree.Node(i)
		head := node.Kind == firn.KindHead
		if node.ParentIndex >= 0 && (!head || followed[i]) {
			followed[node.ParentIndex] = true
		}
		if !followed[i] && !head {
			n++
		}
	}
	return n
}

// TestBranches moves the head at random and compares the incremental counts with those of
// the whole tree.
func TestBranches(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var tree firn.Tree
		var b branches
		var texts []firn.EntryID
		add := func(kind firn.Kind, parent firn.EntryID) {
			g := firn.Glance{Kind: kind, ID: firn.EntryID(fmt.Sprint("e", tree.Len())), Parent: parent}
			tree.Add(firn.Pos(tree.Len()), g)
			b.add(g)
			if kind != firn.KindHead {
				texts = append(texts, g.ID)
			}
		}
		for range 40 {
			switch n := random.IntN(10); {
			case n < 3 && len(texts) > 0:
				add(firn.KindHead, texts[random.IntN(len(texts))])
			case n == 3 && len(texts) > 0: // as other tools do: without a head entry
				add(firn.KindMessage, texts[random.IntN(len(texts))])
			case n == 4 && !b.moved && b.last != "": // the end of a turn, and a restart
				left := slices.Clone(b.left)
				parent := b.last
				b = branches{left: left}
				add(firn.KindCustom, parent)
			default:
				add(firn.KindMessage, b.last)
			}
			if got, want := b.count(), leaves(&tree); got != want {
				t.Fatalf("seed %d: after %d entries it counts %d branches, want %d", seed, tree.Len(), got, want)
			}
		}
	}
}
