package firn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// grow builds a tree from lines such as "b a" (b follows a), "b" (a root), "b ?" (no parent
// field) and "t a !x" (a tombstone under a that hides x).
func grow(lines ...string) *Tree {
	t := new(Tree)
	for i, line := range lines {
		words := strings.Fields(line)
		g := Glance{Kind: KindMessage, ID: EntryID(words[0])}
		for _, w := range words[1:] {
			switch {
			case w == "?":
				g.NoParent = true
			case w[0] == '!':
				g.Kind, g.Target = KindTombstone, EntryID(w[1:])
			default:
				g.Parent = EntryID(w)
			}
		}
		t.Add(Pos(i), g)
	}
	return t
}

// ids formats a path as the ids of its entries.
func ids(t *Tree, path []int) string {
	var words []string
	for _, n := range path {
		words = append(words, string(t.Node(n).ID))
	}
	return strings.Join(words, " ")
}

// faults formats gaps as kind@entry.
func faults(gaps []Gap) string {
	var words []string
	for _, g := range gaps {
		words = append(words, fmt.Sprintf("%s@%s", g.Kind, g.Entry))
	}
	return strings.Join(words, " ")
}

func TestTreePaths(t *testing.T) {
	cases := []struct {
		name  string
		lines []string
		path  string // from the root to the head
		gaps  string
	}{
		{"empty", nil, "", ""},
		{"one", []string{"a"}, "a", ""},
		{"linear", []string{"a", "b a", "c b"}, "a b c", ""},
		{"branch", []string{"a", "b a", "c b", "d a"}, "a d", ""},
		{"branch left and taken up again", []string{"a", "b a", "c a", "d b"}, "a b d", ""},
		{"second root", []string{"a", "b a", "x", "y x"}, "x y", ""},
		{"own parent", []string{"a a"}, "a", "dangling-parent@a"},
		{"own parent, later", []string{"a", "b b", "c b"}, "a b c", "dangling-parent@b"},
		{"circle of two", []string{"a b", "b a"}, "a b", "dangling-parent@a"},
		{"circle of two, later", []string{"r", "a b", "b a", "c b"}, "r a b c", "dangling-parent@a"},
		{"circle of three", []string{"a c", "b a", "c b"}, "a b c", "dangling-parent@a"},
		{"child before parent", []string{"a", "c b", "b a"}, "a b", "dangling-parent@c"},
		{"duplicate", []string{"a", "b a", "b a", "c b"}, "a b c", "duplicate-id@b"},
		{"duplicate follows itself", []string{"a", "a a", "b a"}, "a a b", "duplicate-id@a"},
		{"duplicate and dangling", []string{"a", "a x", "b a"}, "a a b", "dangling-parent@a duplicate-id@a"},
		{"dangling first", []string{"a x", "b a"}, "a b", "dangling-parent@a"},
		{"dangling", []string{"a", "b a", "d c", "e d"}, "a b d e", "dangling-parent@d"},
		{"no parent first", []string{"a ?", "b a"}, "a b", "no-parent@a"},
		{"no parent", []string{"a", "b ?", "c ?"}, "a b c", "no-parent@b no-parent@c"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tree := grow(c.lines...)
			if got := ids(tree, tree.Path(tree.Head())); got != c.path {
				t.Errorf("the path to the head is %q, want %q", got, c.path)
			}
			if got := faults(tree.Gaps()); got != c.gaps {
				t.Errorf("the gaps are %q, want %q", got, c.gaps)
			}
		})
	}
}

func TestTreeSkipsNonNodes(t *testing.T) {
	tree := new(Tree)
	if n := tree.Add(0, Glance{Kind: KindHeader, ID: "session"}); n != -1 {
		t.Errorf("the header got number %d", n)
	}
	if n := tree.Add(1, Glance{Kind: KindMessage}); n != -1 {
		t.Errorf("an entry without an id got number %d", n)
	}
	if tree.Len() != 0 || tree.Head() != -1 || len(tree.Path(tree.Head())) != 0 || tree.Find("session") != -1 {
		t.Errorf("the tree is not empty: %d entries, head %d", tree.Len(), tree.Head())
	}
	if n := tree.Add(9, Glance{Kind: KindMessage, ID: "a"}); n != 0 || tree.Node(0).At != 9 {
		t.Errorf("the first entry got number %d at %d", n, tree.Node(0).At)
	}
}

func TestTreeFindsTheLatest(t *testing.T) {
	tree := grow("a", "b a", "a b")
	if got := tree.Find("a"); got != 2 {
		t.Errorf("Find(a) = %d, want the later one", got)
	}
	if got := tree.Find("nobody"); got != -1 {
		t.Errorf("Find of an unknown ID = %d", got)
	}
}

func TestTreeChildren(t *testing.T) {
	tree := grow("a", "b a", "c a", "d b", "x")
	want := map[int][]int{-1: {0, 4}, 0: {1, 2}, 1: {3}}
	if got := tree.Children(); !maps.EqualFunc(got, want, slices.Equal[[]int]) {
		t.Errorf("Children() = %v, want %v", got, want)
	}
}

func TestTreeHidden(t *testing.T) {
	cases := []struct {
		name   string
		lines  []string
		hidden string // sorted
	}{
		{"nothing", []string{"a", "b a"}, ""},
		{"a message", []string{"a", "b a", "t b !a"}, "a"},
		{"restored", []string{"a", "t a !a", "u t !t"}, "t"},
		{"hidden again", []string{"a", "t a !a", "u t !t", "v u !u"}, "a u"},
		{"restored again", []string{"a", "t a !a", "u t !t", "v u !u", "w v !v"}, "t v"},
		{"hidden twice, restored once", []string{"a", "t a !a", "u t !a", "v u !u"}, "a u"},
		{"on another branch", []string{"a", "b a", "c a", "t b !c", "d c"}, "c"},
		{"under another root", []string{"a", "x", "t x !a"}, "a"},
		{"missing target", []string{"a", "t a !missing"}, "missing"},
		{"itself", []string{"a", "t a !t"}, "t"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, id := range slices.Sorted(maps.Keys(grow(c.lines...).Hidden())) {
				got = append(got, string(id))
			}
			if s := strings.Join(got, " "); s != c.hidden {
				t.Errorf("hidden: %q, want %q", s, c.hidden)
			}
		})
	}
}

// TestTreeHiddenByLongChains uses a long chain of tombstones, each hiding the one before:
// every second one is in effect.
func TestTreeHiddenByLongChains(t *testing.T) {
	for length := 1; length <= 200; length++ {
		lines := []string{"e0"}
		for i := 1; i <= length; i++ {
			lines = append(lines, fmt.Sprintf("e%d e%d !e%d", i, i-1, i-1))
		}
		hidden := grow(lines...).Hidden()
		for i := range length {
			if want := (length-i)%2 == 1; hidden[EntryID(fmt.Sprintf("e%d", i))] != want {
				t.Fatalf("of %d tombstones, number %d: hidden is not %v", length, i, want)
			}
		}
	}
}

func TestTreeDeepPath(t *testing.T) {
	const deep = 100_000
	tree := new(Tree)
	parent := EntryID("")
	for i := range deep {
		id := formatEntryID(uint64(i))
		tree.Add(Pos(i), Glance{Kind: KindMessage, ID: id, Parent: parent})
		parent = id
	}
	path := tree.Path(tree.Head())
	if len(path) != deep || path[0] != 0 || path[deep-1] != deep-1 || len(tree.Gaps()) != 0 {
		t.Errorf("the path has %d entries from %d to %d, with %d gaps", len(path), path[0], path[len(path)-1], len(tree.Gaps()))
	}
}

// TestTreeWithAnyOneRecordDropped checks that losing one of a thousand records loses only that
// record.
func TestTreeWithAnyOneRecordDropped(t *testing.T) {
	const length = 1000
	for drop := range length {
		tree := new(Tree)
		for i := range length {
			if i == drop {
				continue
			}
			g := Glance{Kind: KindMessage, ID: formatEntryID(uint64(i))}
			if i > 0 {
				g.Parent = formatEntryID(uint64(i - 1))
			}
			tree.Add(Pos(i), g)
		}
		if got := len(tree.Path(tree.Head())); got != length-1 {
			t.Fatalf("without record %d, %d entries can be reached, want %d", drop, got, length-1)
		}
		want := fmt.Sprintf("%s@%s", GapDangling, formatEntryID(uint64(drop+1)))
		if drop == length-1 {
			want = "" // no entry depends on the last one
		}
		if got := faults(tree.Gaps()); got != want {
			t.Fatalf("without record %d the gaps are %q, want %q", drop, got, want)
		}
	}
}

// TestTreeOfAnyFile checks that for any file every entry is a root or has one earlier parent,
// and that exactly the faults are reported.
func TestTreeOfAnyFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few ids make many duplicates, cycles and dangling parents.
		id := rapid.SampledFrom([]EntryID{"a", "b", "c", "d", "e", "f", "g", "h"})
		glances := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Glance {
			g := Glance{
				Kind:     rapid.SampledFrom([]Kind{KindMessage, KindTombstone, "unknown"}).Draw(t, "kind"),
				ID:       id.Draw(t, "id"),
				NoParent: rapid.IntRange(0, 9).Draw(t, "no parent") == 0,
			}
			if !g.NoParent && rapid.IntRange(0, 4).Draw(t, "root") > 0 {
				g.Parent = id.Draw(t, "parent")
			}
			if g.Kind == KindTombstone {
				g.Target = id.Draw(t, "target")
			}
			return g
		}), 0, 60).Draw(t, "glances")

		tree := new(Tree)
		for i, g := range glances {
			if n := tree.Add(Pos(i), g); n != i {
				t.Fatalf("entry %d got number %d", i, n)
			}
		}
		checkShape(t, tree, glances)
		checkHidden(t, tree, glances)
	})
}

// checkShape compares parents with a slow reference implementation.
func checkShape(t *rapid.T, tree *Tree, glances []Glance) {
	var want []string
	for i, g := range glances {
		up, found, twice := -1, false, false
		for j, earlier := range glances[:i] {
			if earlier.ID == g.Parent {
				up, found = j, true
			}
			twice = twice || earlier.ID == g.ID
		}
		switch {
		case g.NoParent:
			up = i - 1
			want = append(want, fmt.Sprintf("%s@%s", GapNoParent, g.ID))
		case g.Parent != "" && !found:
			up = i - 1
			want = append(want, fmt.Sprintf("%s@%s", GapDangling, g.ID))
		}
		if twice {
			want = append(want, fmt.Sprintf("%s@%s", GapDuplicate, g.ID))
		}
		if got := tree.Node(i).ParentIndex; got != up {
			t.Fatalf("entry %d hangs under %d, want %d", i, got, up)
		}
		path := tree.Path(i)
		if !slices.IsSorted(path) || path[len(path)-1] != i || tree.Node(path[0]).ParentIndex != -1 {
			t.Fatalf("the path to %d is %v", i, path)
		}
	}
	if got := faults(tree.Gaps()); got != strings.Join(want, " ") {
		t.Fatalf("the gaps are %q, want %q", got, want)
	}
	seen := 0
	for up, children := range tree.Children() {
		for _, child := range children {
			seen++
			if tree.Node(child).ParentIndex != up {
				t.Fatalf("%d is listed under %d", child, up)
			}
		}
	}
	if seen != len(glances) {
		t.Fatalf("%d of %d entries are children", seen, len(glances))
	}
}

// checkHidden checks that an entry is hidden if and only if it is the target of a tombstone
// that is not itself hidden.
func checkHidden(t *rapid.T, tree *Tree, glances []Glance) {
	counts := make([]bool, len(glances))
	want := make(map[EntryID]bool)
	for i := len(glances) - 1; i >= 0; i-- {
		counts[i] = glances[i].Kind == KindTombstone
		for later := i + 1; later < len(glances); later++ {
			if counts[later] && glances[later].Target == glances[i].ID {
				counts[i] = false
			}
		}
		if counts[i] {
			want[glances[i].Target] = true
		}
	}
	if hidden := tree.Hidden(); !maps.Equal(hidden, want) {
		t.Fatalf("hidden: %v, want %v", hidden, want)
	}
}
