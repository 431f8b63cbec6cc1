package convert

import (
	"errors"
	"hash/maphash"
	"iter"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// survey is the structure of a transcript, determined in a first pass: the path to the last
// entry, the hidden entries and the first entries kept by compactions. It takes eight bytes
// per entry and a little more per branch, so that a transcript of any size can be surveyed.
type survey struct {
	seed maphash.Seed
	// ids are the hashes of the IDs, in file order.
	ids []uint64
	// up holds the parents of entries that do not follow the previous one.
	up map[int]int
	// known maps the hash of an ID to its entry, once there are many branches.
	known map[uint64]int
	tombs []hiddenBy
	// kept counts the compactions that keep from an entry and were not yet reached in the
	// second pass.
	kept map[uint64]int
	// path is a bit set of the entries on the path.
	path []uint64
	// ours is set if there is a branch that the target tool did not start itself.
	ours bool
	// hidden holds the hidden entries; the value is true if the target tool itself hid the
	// entry.
	hidden map[uint64]bool
}

// hiddenBy is a tombstone and its target, by hash. theirs is set if the target tool itself
// wrote it.
type hiddenBy struct {
	id, target uint64
	theirs     bool
}

// manyBranches is the number of branches from which a lookup table pays off.
const manyBranches = 256

// root is the parent of an entry without one.
const root = -1

// takeSurvey surveys a transcript for a target tool.
func takeSurvey(reported iter.Seq2[dialect.EntryLines, error], to dialect.Name) (*survey, error) {
	s := newSurvey()
	var last firn.EntryID
	for t, err := range reported {
		if err != nil {
			return nil, err
		}
		if t.Entry.ID == "" {
			continue
		}
		s.add(t.Entry, last, to)
		last = t.Entry.ID
	}
	s.walk()
	s.hide()
	return s, nil
}

// glanceOver surveys a transcript without decoding its lines. It returns false if a line
// must be decoded: it is damaged, lacks the fields that the tree needs, or hides an entry,
// which the tool may have done itself.
func glanceOver(src Source) (*survey, bool, error) {
	if src.Glances == nil {
		return nil, false, nil
	}
	s := newSurvey()
	var last firn.EntryID
	begun := false
	for g, err := range src.Glances() {
		if err != nil {
			return nil, false, ignoreCorrupt(err)
		}
		if g.Kind == firn.KindHeader && !begun {
			begun = true
			continue
		}
		if g.ID == "" || g.Kind == firn.KindHeader || g.Kind == firn.KindTombstone {
			return nil, false, nil
		}
		begun = true
		if g.NoParent {
			g.Parent = last
		}
		s.place(g.ID, g.Parent, last)
		if g.Kind == firn.KindCompaction {
			s.kept[s.hash(g.Target)]++
		}
		last = g.ID
	}
	s.walk()
	return s, true, nil
}

// ignoreCorrupt returns nil for damage, which is handled when the line is read.
func ignoreCorrupt(err error) error {
	if errors.Is(err, firn.ErrCorrupt) {
		return nil
	}
	return err
}

func newSurvey() *survey {
	return &survey{seed: maphash.MakeSeed(), up: make(map[int]int), kept: make(map[uint64]int), hidden: make(map[uint64]bool)}
}

func (s *survey) hash(id firn.EntryID) uint64 { return maphash.String(s.seed, string(id)) }

func (s *survey) add(e firn.Entry, last firn.EntryID, to dialect.Name) {
	id := s.place(e.ID, e.Parent, last)
	s.ours = s.ours || e.Parent != last && !isOf(e, to)
	switch b := e.Body.(type) {
	case *firn.Tombstone:
		s.tombs = append(s.tombs, hiddenBy{id, s.hash(b.Target), isOf(e, to)})
	case *firn.Compaction:
		s.kept[s.hash(b.FirstKept)]++
	}
}

// place records an entry and its parent, and returns the hash of its ID.
func (s *survey) place(id, parent, last firn.EntryID) uint64 {
	n, hash := len(s.ids), s.hash(id)
	if parent != last {
		s.up[n] = s.parent(parent, n)
	}
	s.ids = append(s.ids, hash)
	if s.known != nil {
		s.known[hash] = n
	}
	return hash
}

// parent returns the number of an earlier entry. A missing parent is taken to be the
// previous entry, as in the tree.
func (s *survey) parent(id firn.EntryID, n int) int {
	if id == "" || id == firn.Root {
		return root
	}
	want := s.hash(id)
	if s.known == nil && len(s.up) > manyBranches {
		s.known = make(map[uint64]int, len(s.ids))
		for i, h := range s.ids {
			s.known[h] = i
		}
	}
	if s.known != nil {
		if at, ok := s.known[want]; ok {
			return at
		}
		return n - 1
	}
	for i := n - 1; i >= 0; i-- {
		if s.ids[i] == want {
			return i
		}
	}
	return n - 1
}

// walk marks the path from the last entry to its root.
func (s *survey) walk() {
	s.path = make([]uint64, len(s.ids)/64+1)
	for n := len(s.ids) - 1; n >= 0; {
		s.path[n/64] |= 1 << (n % 64)
		if up, ok := s.up[n]; ok {
			n = up
		} else {
			n--
		}
	}
}

// hide determines the hidden entries: the last tombstone counts, one that is hidden by a
// later one does not.
func (s *survey) hide() {
	for i := len(s.tombs) - 1; i >= 0; i-- {
		t := s.tombs[i]
		if _, undone := s.hidden[t.id]; undone {
			continue
		}
		theirs, before := s.hidden[t.target]
		s.hidden[t.target] = t.theirs && (theirs || !before)
	}
}

// isOf reports whether the tool itself wrote the entry: it carries lines of the tool, or
// belongs to one that does.
func isOf(e firn.Entry, tool dialect.Name) bool {
	name, _ := dialect.CarriedBy(e)
	return name == tool
}

// onPath reports whether the entry with this number is on the path.
func (s *survey) onPath(n int) bool {
	return n/64 < len(s.path) && s.path[n/64]&(1<<(n%64)) != 0
}

// isHidden reports whether an entry is hidden, and whether the tool did it.
func (s *survey) isHidden(id firn.EntryID) (hidden, theirs bool) {
	theirs, hidden = s.hidden[s.hash(id)]
	return hidden, theirs
}

// keptFrom reports whether a later compaction keeps from this entry on.
func (s *survey) keptFrom(id firn.EntryID) bool { return s.kept[s.hash(id)] > 0 }

// met records that a compaction which keeps from the entry was reached.
func (s *survey) met(kept firn.EntryID) { s.kept[s.hash(kept)]-- }

// pass makes the compactions that keep from one entry keep from another.
func (s *survey) pass(from, to firn.EntryID) {
	s.kept[s.hash(to)] += s.kept[s.hash(from)]
	delete(s.kept, s.hash(from))
}
