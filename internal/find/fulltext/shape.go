package fulltext

import (
	"encoding/json"
	"slices"
	"sort"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// shape is a compact form of a session's tree: enough to determine an entry's branch, and
// whether the entry is hidden or compacted. Entries are numbered from 1. A session without
// branches has a single run.
type shape struct {
	// Runs are sequences of consecutive entries: the first, the last, and the parent of the
	// first, or 0 if it has none.
	Runs [][3]int `json:"r,omitempty"`
	// Stones are tombstones: the number of the tombstone and of the entry it hides; -1
	// hides the session, 0 stands for an unknown entry.
	Stones [][2]int `json:"t,omitempty"`
	// Cuts are compactions: the number of the compaction and of the first entry it keeps,
	// or 0 if it keeps none.
	Cuts [][2]int `json:"c,omitempty"`
}

func (s *shape) encode() []byte {
	data, err := json.Marshal(s)
	if err != nil {
		return nil // cannot happen: numbers always marshal
	}
	return data
}

func decodeShape(data []byte) (shape, error) {
	var s shape
	err := json.Unmarshal(data, &s)
	return s, err
}

// shaper builds a shape from glances in file order.
type shaper struct {
	shape
	session firn.ID
	count   int
	last    firn.EntryID
	// ids maps entry IDs to numbers. It is nil if the shaper continues a stored shape and
	// knows only the last entry.
	ids map[firn.EntryID]int
	// lost is set if an unknown entry was referenced; the shape must then be built from the
	// beginning.
	lost bool
}

// add adds the next entry and returns its number, or false if it gets none.
func (s *shaper) add(g firn.Glance) (int, bool) {
	if g.Kind == firn.KindHeader || g.ID == "" {
		return 0, false
	}
	up := s.count
	if !g.NoParent && g.Parent != s.last {
		up = s.parent(g.Parent)
	}
	s.count++
	n := s.count
	if last := len(s.Runs) - 1; last >= 0 && s.Runs[last][1] == n-1 && up == n-1 {
		s.Runs[last][1] = n
	} else {
		s.Runs = append(s.Runs, [3]int{n, n, up})
	}
	switch g.Kind {
	case firn.KindTombstone:
		s.Stones = append(s.Stones, [2]int{n, s.target(g.Target)})
	case firn.KindCompaction:
		first := n
		if g.Target != g.ID {
			first = s.target(g.Target)
		}
		s.Cuts = append(s.Cuts, [2]int{n, max(first, 0)})
	}
	s.last = g.ID
	if s.ids != nil {
		s.ids[g.ID] = n
	}
	return n, true
}

// parent returns the number of a parent entry. An unknown parent is replaced by the
// preceding entry.
func (s *shaper) parent(id firn.EntryID) int {
	if id == "" {
		return 0
	}
	if s.ids == nil {
		s.lost = true
		return s.count
	}
	if n, ok := s.ids[id]; ok {
		return n
	}
	return s.count
}

// target returns the number of a referenced entry.
func (s *shaper) target(id firn.EntryID) int {
	switch {
	case id == firn.EntryID(s.session):
		return -1
	case id == "":
		return 0
	case id == s.last:
		return s.count - 1
	case s.ids == nil:
		s.lost = true
		return 0
	}
	return s.ids[id]
}

// fate is a shape prepared for lookups.
type fate struct {
	shape
	// path holds the ranges of entries that lead to the head, last first.
	path   [][2]int
	hidden map[int]bool
	// kept is the first entry that the effective compaction keeps, or 0 if there is none.
	kept int
}

func (s shape) fate(count int) *fate {
	f := &fate{shape: s, hidden: make(map[int]bool)}
	for n := count; n > 0; {
		run := s.run(n)
		if run < 0 {
			break
		}
		f.path = append(f.path, [2]int{s.Runs[run][0], n})
		n = min(s.Runs[run][2], s.Runs[run][0]-1) // parents precede their children
	}
	for _, stone := range slices.Backward(s.Stones) {
		if !f.hidden[stone[0]] {
			f.hidden[stone[1]] = true
		}
	}
	for _, cut := range slices.Backward(s.Cuts) {
		if f.onPath(cut[0]) && !f.hidden[cut[0]] {
			f.kept = cut[1]
			if f.kept > cut[0] || !f.onPath(f.kept) { // it keeps nothing of this branch
				f.kept = cut[0]
			}
			break
		}
	}
	return f
}

// run returns the index of the run that contains entry n, or -1.
func (s shape) run(n int) int {
	i := sort.Search(len(s.Runs), func(i int) bool { return s.Runs[i][1] >= n })
	if i == len(s.Runs) || s.Runs[i][0] > n {
		return -1
	}
	return i
}

func (f *fate) onPath(n int) bool {
	return within(f.path, n)
}

// hides reports whether an entry or its whole session is hidden.
func (f *fate) hides(n int) bool { return f.hidden[n] || f.hidden[-1] }

// marks returns the state of an entry as labels. Titles belong to the whole session and
// have none.
func (f *fate) marks(n int, role search.Role) []string {
	var marks []string
	if f.hides(n) {
		marks = append(marks, search.MarkHidden)
	}
	switch {
	case role == search.RoleTitle:
	case !f.onPath(n):
		marks = append(marks, search.MarkOtherBranch)
	case n < f.kept:
		marks = append(marks, search.MarkCompacted)
	}
	return marks
}

// lineage returns the ranges of entries on the branch of entry n: its ancestors and its
// descendants. The descendants follow the path to the head if n is on it, and otherwise the
// entries appended directly after it.
func (f *fate) lineage(n, count int) [][2]int {
	if f.onPath(n) {
		return f.path
	}
	var own [][2]int
	run := f.run(n)
	if run < 0 {
		return [][2]int{{n, n}}
	}
	own = append(own, [2]int{f.Runs[run][0], f.Runs[run][1]})
	for up := f.Runs[run][2]; up > 0; {
		run := f.run(up)
		if run < 0 {
			break
		}
		own = append(own, [2]int{f.Runs[run][0], up})
		up = min(f.Runs[run][2], f.Runs[run][0]-1)
	}
	return own
}
