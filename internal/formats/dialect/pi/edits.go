package pi

import (
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// kindEdit is the type of lines with which pi, since 0.87, omits or replaces an entry in
// the model's context.
const kindEdit firn.Kind = "context_edit"

// tombstoneField is the member that marks an edit as firn's tombstone, which applies to all
// branches. It is firn's own.
const tombstoneField = "tombstone"

// edits tracks the entries that pi's context edits hide. An edit applies only to its own
// branch, a tombstone to all branches: where a file switches to another branch, entries are
// hidden or restored there.
//
// An edit that replaces the content of an entry has no equivalent in firn. It is carried,
// and the entry keeps its original content.
type edits struct {
	all []edit
	// hides maps a hidden entry to the tombstone that currently hides it.
	hides map[firn.EntryID]firn.EntryID
}

// edit is one line of that type.
type edit struct {
	id, target firn.EntryID
	hides      bool
}

// edit processes a context edit.
func (s *scanner) edit(e firn.Entry, line []byte) {
	target, hides, ok := readEdit(line)
	target = s.resolve(target)
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
			shown := firn.Entry{ID: s.extraID(e.ID), Parent: e.Parent, Time: e.Time, Body: &firn.Tombstone{Target: by}}
			s.add(shown)
			e.Parent = shown.ID
			delete(s.edits.hides, target)
		}
	}
	e.Body = body
	s.add(e)
}

// readEdit reads the target of an edit and whether it hides the target.
func readEdit(line []byte) (target firn.EntryID, hides, ok bool) {
	id, replacement := text(member(line, "targetId")), member(line, "replacement")
	return firn.EntryID(id), string(replacement) == "null", id != "" && replacement != nil
}

// member returns the value of the first member of this name, nil if there is none.
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

// switchBranch is called before an entry is added. If the entry starts another branch, it
// first adds tombstones that hide the entries hidden by edits on that branch and restore
// the others. It returns the entry's parent.
func (s *scanner) switchBranch(e firn.Entry) firn.EntryID {
	if len(s.edits.all) == 0 || e.Parent == s.last {
		return e.Parent
	}
	wanted := s.hiddenByEdits(e.Parent)
	parent, seen := e.Parent, make(map[firn.EntryID]bool)
	for _, d := range s.edits.all {
		by, hidden := s.edits.hides[d.target]
		if seen[d.target] || hidden == wanted[d.target] {
			continue
		}
		seen[d.target] = true
		mark := &firn.Tombstone{Target: d.target}
		id := s.extraID(e.ID)
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

// extraID returns an ID for an additional entry before the entry of a line.
func (s *scanner) extraID(id firn.EntryID) firn.EntryID {
	for n := 1; ; n++ {
		if made := firn.EntryID(fmt.Sprintf("%s.%d", id, n)); !s.taken(made) {
			return made
		}
	}
}

// hiddenByEdits returns the entries that edits hide on the path to an entry. The latest
// edit of an entry counts.
func (s *scanner) hiddenByEdits(id firn.EntryID) map[firn.EntryID]bool {
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
