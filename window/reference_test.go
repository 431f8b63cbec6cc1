package window_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// reference is an unoptimized Collect: it reads everything into a tree and returns the tree's
// path.
func reference(l log, head firn.EntryID) (entries, gap, tombstoned string, kept bool, compaction firn.EntryID) {
	var tree firn.Tree
	var recs []firn.Record
	for _, rec := range l {
		if rec.Gap == nil && tree.Add(rec.At, rec.Glance) >= 0 {
			recs = append(recs, rec)
		}
	}
	hidden := make([]bool, len(recs)) // by a tombstone in effect that is after it
	for i := len(recs) - 1; i >= 0; i-- {
		if g := recs[i].Glance; g.Kind == firn.KindTombstone && !hidden[i] {
			for j := range i {
				hidden[j] = hidden[j] || recs[j].Glance.ID == g.Target
			}
		}
	}
	n := tree.Head()
	if head != "" {
		n = tree.Find(head)
	}
	var path []firn.Entry
	var gapWords, hiddenWords []string
	keep, later := firn.EntryID(""), 0
	for ; n >= 0; n = tree.Node(n).ParentIndex {
		entry, err := recs[n].Entry()
		switch {
		case hidden[n]:
			hiddenWords = append(hiddenWords, string(recs[n].Glance.ID))
		case err != nil:
			gapWords = append(gapWords, "damaged:"+string(recs[n].Glance.ID))
		default:
			path = append(path, entry)
			if c, ok := entry.Body.(*firn.Compaction); ok && compaction == "" {
				compaction, keep, later = entry.ID, c.FirstKept, len(path)
			}
		}
		if compaction != "" && (keep == "" || keep == recs[n].Glance.ID) {
			kept = true
			break
		}
		for _, g := range tree.Gaps() {
			if g.At == recs[n].At && (g.Kind == firn.GapDangling || g.Kind == firn.GapNoParent) {
				gapWords = append(gapWords, string(g.Kind)+":"+string(g.Entry))
			}
		}
	}
	if compaction != "" && !kept {
		path = path[:later]
	}
	slices.Reverse(path)
	slices.Reverse(gapWords)
	slices.Reverse(hiddenWords)
	return ids(path), strings.Join(gapWords, " "), strings.Join(hiddenWords, " "), kept, compaction
}

// drawLog generates a session that may be as broken as a file can be: duplicate IDs, and
// parents that are missing, appear later or are the entry itself.
func drawLog(t *rapid.T) log {
	l := parse("s header")
	size := rapid.IntRange(0, 40).Draw(t, "size")
	names := rapid.IntRange(1, 30).Draw(t, "names")
	name := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("e", rapid.IntRange(0, names).Draw(t, "n")) })
	honest := rapid.Bool().Draw(t, "honest")
	for i := range size {
		id := name.Draw(t, "id")
		if honest || rapid.IntRange(0, 9).Draw(t, "fresh") > 0 {
			id = fmt.Sprint("e", i)
		}
		words := []string{id}
		switch k := rapid.IntRange(0, 19).Draw(t, "parent"); {
		case k == 0:
		case k == 1 && !honest:
			words = append(words, "<", "?")
		case k < 4 && !honest:
			words = append(words, "<", name.Draw(t, "any parent"))
		case k < 7 && i > 0:
			words = append(words, "<", fmt.Sprint("e", rapid.IntRange(0, i-1).Draw(t, "earlier parent")))
		case i > 0:
			words = append(words, "<", fmt.Sprint("e", i-1))
		}
		switch k := rapid.IntRange(0, 19).Draw(t, "kind"); k {
		case 0:
			words = append(words, "keep="+name.Draw(t, "keep"))
		case 1, 2, 3:
			words = append(words, "hide="+name.Draw(t, "target"))
		case 4:
			words = append(words, "bad")
		case 5:
			words = append(words, "keep=")
		}
		l = append(l, parseRecord(firn.Pos(10*len(l)), words))
	}
	return l
}

// TestCollectAgreesWithTree checks that the backward reader, which stops early, and the tree
// of the whole file agree for every file.
func TestCollectAgreesWithTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLog(t)
		var head firn.EntryID
		if len(l) > 1 && rapid.Bool().Draw(t, "branch view") {
			head = l[rapid.IntRange(1, len(l)-1).Draw(t, "head")].Glance.ID
		}
		var read int
		p, err := window.Collect(l.back(&read))
		if head != "" {
			p, err = window.CollectFrom(l.back(&read), head)
		}
		if err != nil {
			t.Fatal(err)
		}
		entries, gap, tombstoned, _, compaction := reference(l, head)
		var got firn.EntryID
		if p.Compaction != nil {
			got = p.Compaction.ID
		}
		count := 0
		for _, o := range p.Out {
			if o.Why == window.Tombstoned {
				count += o.Count
			}
		}
		want := []any{entries, gap, len(strings.Fields(tombstoned)), compaction}
		if diff := cmp.Diff(want, []any{ids(p.Entries), gaps(p), count, got}); diff != "" {
			t.Fatalf("results differ: - tree, + Collect\n%s", diff)
		}
	})
}

// TestCollectCountsEverything checks that Out and Entries together account for every entry
// read.
func TestCollectCountsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLog(t)
		var read int
		p, err := window.Collect(l.back(&read))
		if err != nil {
			t.Fatal(err)
		}
		all, tombstones := 0, 0
		for _, rec := range l {
			if rec.At >= p.Start && rec.Glance.ID != "" {
				all++
				if rec.Glance.Kind == firn.KindTombstone {
					tombstones++
				}
			}
		}
		count := len(p.Entries)
		for _, o := range p.Out {
			count += max(o.Count, 0)
		}
		for _, g := range p.Gaps {
			if g.Kind == firn.GapDamaged {
				count++
			}
		}
		// Tombstones on other branches take effect and are not counted.
		if count > all || count < all-tombstones {
			t.Fatalf("%d entries were read (%d of them tombstones), %d are accounted for", all, tombstones, count)
		}
	})
}
