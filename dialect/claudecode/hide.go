package claudecode

import (
	"firn"
)

// Claude Code knows no line that hides another, but of lines with the same uuid
// the last counts. So what follows a hidden message is written again under the
// same uuids, the first of it under another parent. A private line tells firn
// what was hidden. Restoring is the same the other way round.

// hiding is what a tombstone did to the records of the file.
type hiding struct {
	target firn.EntryID
	// gone are the records that were passed over, in their order, and parent is
	// what followed them was hung under instead.
	gone   []string
	parent string
	// changed are those of which a part was taken away.
	changed []string
}

// tombstone hides what it is meant for, or restores it.
func (p *printer) tombstone(dst []byte, e firn.Entry, b *firn.Tombstone) []byte {
	p.follow(e)
	target := b.Target
	if again, ok := p.undone[target]; ok {
		target = again
	}
	h, undo := p.hid[target]
	done := false
	if undo {
		dst, done = p.restore(dst, h)
		p.undone[e.ID] = h.target
	} else {
		dst, h, done = p.hide(dst, target)
	}
	if !done {
		p.lose(e, limitHidden, false)
	} else {
		p.links[e.ID].uuid = p.end
	}
	members := []member{text("target", string(p.scanned(b.Target))), text("reason", b.Reason)}
	if done && !undo {
		p.hid[e.ID] = h
		members = append(members, raw("gone", list(h.gone)), text("parent", h.parent), raw("changed", list(h.changed)))
	}
	return p.private(dst, e, members...)
}

// remember notes a tombstone that is in the file.
func (p *printer) remember(e firn.Entry, b *firn.Tombstone, lines [][]byte) {
	if h, ok := p.hid[b.Target]; ok {
		p.undone[e.ID] = h.target
		return
	}
	for _, data := range lines {
		l, err := readLine(data)
		if err == nil && l.kind == "firn" && l.uuid == base(string(e.ID)) {
			p.hid[e.ID] = hiding{
				target: b.Target, gone: texts(valueOf(l.firn, "gone")), parent: textOf(l.firn, "parent"), changed: texts(valueOf(l.firn, "changed")),
			}
		}
	}
}

// hide writes again what follows an entry, without it.
func (p *printer) hide(dst []byte, target firn.EntryID) ([]byte, hiding, bool) {
	h := hiding{target: target}
	l := p.links[target]
	if l == nil || !l.own || p.to.Told == nil {
		return dst, h, false
	}
	s := newStrand()
	var hidden firn.Entry
	for t := range p.to.Told(target) {
		if t.Entry.ID == target {
			hidden = t.Entry
		}
		s.add(t.Lines)
	}
	if hidden.Body == nil || s.find(l.from) == nil {
		return dst, h, false
	}
	s.cut(hidden, l.from)
	h.gone, h.changed = s.order, s.altered
	if len(h.gone) > 0 {
		h.parent = s.through(h.gone[0])
	}
	dst, done := p.rewrite(dst, s, hidden.Parent)
	return dst, h, done
}

// restore hangs what follows hidden records under them again.
func (p *printer) restore(dst []byte, h hiding) ([]byte, bool) {
	l := p.links[h.target]
	if l == nil || p.to.Told == nil {
		return dst, false
	}
	s := newStrand()
	for _, since := range []firn.EntryID{h.target, l.up} { // it may not be on the path any more
		for t := range p.to.Told(since) {
			s.add(t.Lines)
		}
	}
	for _, uuid := range h.changed {
		if !s.recover(uuid) {
			return dst, false
		}
	}
	if len(h.gone) > 0 {
		last := h.gone[len(h.gone)-1]
		for _, r := range s.records {
			if r.parent == h.parent && r.uuid != h.gone[0] {
				s.parents[r.uuid] = last
			}
		}
		if p.end == h.parent {
			p.end = last
		}
	}
	return p.rewrite(dst, s, l.up)
}

// rewrite writes the records again that the strand has other words or another
// parent for, and all below them; last the one that the conversation goes on
// from, which all versions then take for it. Before is an entry above them.
func (p *printer) rewrite(dst []byte, s *strand, before firn.EntryID) ([]byte, bool) {
	leaf := s.through(p.end)
	if leaf == "" {
		return dst, false // nothing would be left
	}
	for up := 0; s.find(leaf) == nil && before != "" && up < 64; up++ {
		l := p.links[before]
		if l == nil {
			break
		}
		for t := range p.to.Told(before) {
			s.addMissing(t.Lines)
		}
		before = l.up
	}
	end := s.find(leaf)
	if end == nil {
		return dst, false
	}
	for _, r := range s.below() {
		if r.uuid != leaf {
			dst = append(s.again(dst, r, r.at), '\n')
		}
	}
	at := end.at
	if at.Before(p.last) {
		at = p.stamp(at)
	}
	p.end = leaf
	return append(s.again(dst, end, at), '\n'), true
}
