package convert

import (
	"errors"
	"hash/maphash"
	"iter"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// survey is the shape of a transcript, found in a first pass: which entries are
// on the path to the last one, which are hidden, and from where compactions
// keep. It takes eight bytes an entry and a little for each branch, so that a
// transcript of any size can be surveyed.
type survey struct {
	seed maphash.Seed
	// ids are the hashes of the ids, in file order.
	ids []uint64
	// up holds the parents of those entries that do not follow the one before.
	up map[int]int
	// known finds an entry by the hash of its id, once there are many branches.
	known map[uint64]int
	tombs []tomb
	// kept counts the compactions that keep from an entry and were not yet met
	// by who reads the transcript a second time.
	kept map[uint64]int
	// path is a bit for each entry, once the transcript was read.
	path []uint64
	// ours is set if there is a branch that the tool that is written to did not
	// begin itself.
	ours bool
	// hidden holds what is hidden; true if the tool that is written to did that
	// itself.
	hidden map[uint64]bool
}

// tomb is a tombstone and what it hides, by hash. Theirs is one that the tool
// that is written to wrote itself.
type tomb struct {
	id, target uint64
	theirs     bool
}

// manyBranches is when a table to look parents up pays.
const manyBranches = 256

// root is the parent of an entry that has none.
const root = -1

// takeSurvey reads a transcript for its shape, for a tool that it will be
// written for.
func takeSurvey(told iter.Seq2[Told, error], to dialect.Name) (*survey, error) {
	s := newSurvey()
	var last firn.EntryID
	for t, err := range told {
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

// glanceOver takes the survey of a transcript whose lines need not be read for
// that. It is false if there is one that must be: it is damaged, does not tell
// what the tree must know, or hides something, which the tool may have done
// itself.
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

// ignoreCorrupt is nil for damage, which is dealt with when the line is read.
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
		s.tombs = append(s.tombs, tomb{id, s.hash(b.Target), isOf(e, to)})
	case *firn.Compaction:
		s.kept[s.hash(b.FirstKept)]++
	}
}

// place notes an entry and where it hangs, and returns the hash of its id.
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

// parent finds the number of an entry that was read before. One that is not
// there is taken for the entry before it, as the tree does.
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

// hide finds what is hidden: the last tombstone counts, one that is hidden by
// a later one does not.
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

// isOf reports whether the tool itself wrote the entry: it carries the lines, or
// goes with one that does.
func isOf(e firn.Entry, tool dialect.Name) bool {
	name, _ := dialect.CarriedBy(e)
	return name == tool
}

// onPath reports whether the entry with that number is on the path.
func (s *survey) onPath(n int) bool {
	return n/64 < len(s.path) && s.path[n/64]&(1<<(n%64)) != 0
}

// isHidden reports whether an entry is hidden, and whether the tool did it.
func (s *survey) isHidden(id firn.EntryID) (hidden, theirs bool) {
	theirs, hidden = s.hidden[s.hash(id)]
	return hidden, theirs
}

// keptFrom reports whether a compaction to come keeps what is from that entry on.
func (s *survey) keptFrom(id firn.EntryID) bool { return s.kept[s.hash(id)] > 0 }

// met notes that a compaction was met that keeps from the entry.
func (s *survey) met(kept firn.EntryID) { s.kept[s.hash(kept)]-- }

// pass lets the compactions that keep from one entry keep from another.
func (s *survey) pass(from, to firn.EntryID) {
	s.kept[s.hash(to)] += s.kept[s.hash(from)]
	delete(s.kept, s.hash(from))
}
