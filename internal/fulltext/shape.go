package fulltext

import (
	"encoding/json"
	"slices"
	"sort"

	"firn"
	"firn/internal/search"
)

// shape is as much of a session's tree as it takes to tell what has become of
// an entry: on which branch it is, and whether it is hidden or compacted.
// Entries are named by their number, from 1. A session without branches has one
// run, however long it is.
type shape struct {
	// Runs are entries that follow each other: from, to, and what the first of
	// them follows; 0 is nothing.
	Runs [][3]int `json:"r,omitempty"`
	// Stones are tombstones: their number and what they hide, -1 for the session,
	// 0 for what is not there.
	Stones [][2]int `json:"t,omitempty"`
	// Cuts are compactions: their number and the first entry they keep, 0 if they
	// keep none.
	Cuts [][2]int `json:"c,omitempty"`
}

func (s *shape) encode() []byte {
	data, err := json.Marshal(s)
	if err != nil {
		return nil // numbers always can be
	}
	return data
}

func decodeShape(data []byte) (shape, error) {
	var s shape
	err := json.Unmarshal(data, &s)
	return s, err
}

// shaper builds a shape from glances in the order of the file.
type shaper struct {
	shape
	session firn.ID
	count   int
	last    firn.EntryID
	// ids are the numbers of all entries; nil if only the last is known, when it
	// goes on with a shape that was stored.
	ids map[firn.EntryID]int
	// lost says that an entry was named that is not known: the shape must be
	// built from the beginning.
	lost bool
}

// add takes the next entry and returns its number; false if it has none.
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

// parent is the number of an entry that is followed; one that is not there is
// taken to be the one before.
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

// target is the number of an entry that is pointed at.
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

// fate is a shape in the form in which it is asked.
type fate struct {
	shape
	// path are the stretches of entries that lead to the head, the last first.
	path   [][2]int
	hidden map[int]bool
	// kept is the first entry that the compaction in force keeps, 0 if there is
	// none in force.
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
		n = min(s.Runs[run][2], s.Runs[run][0]-1) // parents stand before
	}
	for _, stone := range slices.Backward(s.Stones) {
		if !f.hidden[stone[0]] {
			f.hidden[stone[1]] = true
		}
	}
	for _, cut := range slices.Backward(s.Cuts) {
		if f.onPath(cut[0]) && !f.hidden[cut[0]] {
			f.kept = cut[1]
			if f.kept == 0 || f.kept > cut[0] {
				f.kept = cut[0]
			}
			break
		}
	}
	return f
}

// run is the number of the run that an entry is in, or -1.
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

// hides reports whether an entry is hidden, or its session as a whole.
func (f *fate) hides(n int) bool { return f.hidden[n] || f.hidden[-1] }

// marks tells what has become of an entry. Titles are of the whole session.
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

// lineage are the stretches of entries on the branch of an entry: what leads to
// it, and what follows it, on the path to the head if it is on it, else as it
// went on at once.
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
