package pi

import (
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// kindEdit is the type of lines with which pi, since 0.87, leaves an entry out
// of what it sends or sends something else in its place.
const kindEdit firn.Kind = "context_edit"

// tombstoneField is the member by which an edit is known to be one of firn's,
// which counts everywhere. It is ours.
const tombstoneField = "tombstone"

// edits keeps what pi's context edits hide. An edit counts only on the branch
// that it stands on, a tombstone everywhere: so where a file goes over to
// another branch, entries are hidden or shown again there.
//
// An edit that puts other words in the place of an entry cannot be said in
// ours. It is carried, and the entry is shown as it was said.
type edits struct {
	all []edit
	// hides tells which tombstone hides an entry at present.
	hides map[firn.EntryID]firn.EntryID
}

// edit is one line of that type.
type edit struct {
	id, target firn.EntryID
	hides      bool
}

// edit takes a line with which pi edits its context.
func (s *scanner) edit(e firn.Entry, line []byte) {
	target, hides, ok := readEdit(line)
	target = s.meant(target)
	if ok && string(member(line, tombstoneField)) == "true" {
		e.Body = &firn.Tombstone{Target: target, Reason: text(member(line, "reason"))}
		s.add(e)
		return
	}
	var body firn.Body = carried(kindEdit, line)
	if ok && s.nodes[target].editable {
		s.edits.all = append(s.edits.all, edit{e.ID, target, hides})
		by, hidden := s.edits.hides[target]
		switch {
		case hides && !hidden:
			body = &firn.Tombstone{Target: target}
			s.edits.hide(target, e.ID)
		case !hides && hidden:
			shown := firn.Entry{ID: s.besides(e.ID), Parent: e.Parent, Time: e.Time, Body: &firn.Tombstone{Target: by}}
			s.add(shown)
			e.Parent = shown.ID
			delete(s.edits.hides, target)
		}
	}
	e.Body = body
	s.add(e)
}

// readEdit reads what an edit is of, and whether it hides it.
func readEdit(line []byte) (target firn.EntryID, hides, ok bool) {
	id, replacement := text(member(line, "targetId")), member(line, "replacement")
	return firn.EntryID(id), string(replacement) == "null", id != "" && replacement != nil
}

// member returns the value of the first member of that name of a line, nil if
// there is none.
func member(line []byte, name string) []byte {
	r := rawjson.New(line)
	for ok := r.Object(); ok && r.Member(); {
		if string(r.Key()) == name {
			return r.Raw()
		}
		r.Skip()
	}
	return nil
}

func (d *edits) hide(target, by firn.EntryID) {
	if d.hides == nil {
		d.hides = make(map[firn.EntryID]firn.EntryID)
	}
	d.hides[target] = by
}

// turn is called before an entry is added. If the entry begins another branch,
// it puts before it what hides and shows the entries that edits hide there and
// did not here, and the other way round. It returns what the entry follows.
func (s *scanner) turn(e firn.Entry) firn.EntryID {
	if len(s.edits.all) == 0 || e.Parent == s.last {
		return e.Parent
	}
	wanted := s.editsAbove(e.Parent)
	parent, seen := e.Parent, make(map[firn.EntryID]bool)
	for _, d := range s.edits.all {
		by, hidden := s.edits.hides[d.target]
		if seen[d.target] || hidden == wanted[d.target] {
			continue
		}
		seen[d.target] = true
		mark := &firn.Tombstone{Target: d.target}
		id := s.besides(e.ID)
		if hidden {
			mark.Target = by
			delete(s.edits.hides, d.target)
		} else {
			s.edits.hide(d.target, id)
		}
		s.add(firn.Entry{ID: id, Parent: parent, Time: e.Time, Body: mark})
		parent = id
	}
	return parent
}

// besides makes an id for an entry that stands before the one of a line.
func (s *scanner) besides(id firn.EntryID) firn.EntryID {
	for n := 1; ; n++ {
		if made := firn.EntryID(fmt.Sprintf("%s.%d", id, n)); !s.taken(made) {
			return made
		}
	}
}

// editsAbove tells what edits hide on the path to an entry. The latest one of
// an entry counts.
func (s *scanner) editsAbove(id firn.EntryID) map[firn.EntryID]bool {
	above := make(map[firn.EntryID]bool)
	for id := range s.nodes.path(id) {
		above[id] = true
	}
	wanted := make(map[firn.EntryID]bool)
	for _, d := range s.edits.all {
		if above[d.id] {
			wanted[d.target] = d.hides
		}
	}
	return wanted
}
