package claudecode

import (
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Claude Code knows no line that hides another, but of lines with the same uuid
// the last counts. So what follows a hidden message is written again under the
// same uuids, the first of it under another parent. A private line tells firn
// what was hidden. Restoring is the same the other way round.

// hiding is what a tombstone did to the records of the file.
type hiding struct {
	target firn.EntryID
	// gone are the records that were passed over, in their order, and moved are
	// those that were hung elsewhere, with the parents they had.
	gone  []string
	moved map[string]string
	// note is the record that the conversation went on from, if what was hidden
	// was the last.
	note string
	// changed are those of which a part was taken away, and answer is the id of
	// the answer that lost a piece.
	changed []string
	answer  string
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
		dst, done = p.restore(dst, e, h)
		p.undone[e.ID] = h.target
	} else {
		dst, h, done = p.hide(dst, e, target)
	}
	if !done {
		p.lose(e, limitHidden, false)
	}
	members := []member{text("target", string(p.scanned(b.Target))), text("reason", b.Reason)}
	if done && !undo {
		p.hid[e.ID] = h
		members = append(members,
			raw("gone", list(h.gone)), raw("moved", pairs(h.moved)), text("note", h.note), raw("changed", list(h.changed)), text("answer", h.answer))
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
				target: b.Target, gone: texts(valueOf(l.firn, "gone")), moved: unpaired(valueOf(l.firn, "moved")), note: textOf(l.firn, "note"),
				changed: texts(valueOf(l.firn, "changed")), answer: textOf(l.firn, "answer"),
			}
		}
	}
}

// hide writes again what follows an entry, without it.
func (p *printer) hide(dst []byte, e firn.Entry, target firn.EntryID) ([]byte, hiding, bool) {
	h := hiding{target: target}
	l := p.links[target]
	if l == nil || !l.own || p.to.Told == nil {
		return dst, h, false
	}
	s := p.strand()
	var hidden firn.Entry
	here := p.present(target, l, e.Parent)
	for t := range p.to.Told(p.beginning(here)) {
		if t.Entry.ID == here {
			hidden = t.Entry
		}
		s.add(t.Lines)
	}
	if hidden.Body == nil || s.find(l.from) == nil {
		return dst, h, false
	}
	s.cut(hidden, l.from)
	h.gone, h.changed, h.answer = s.order, s.altered, s.answer
	end := p.above(e.Parent)
	leaf := s.through(end)
	if leaf == "" {
		return dst, h, false // nothing would be left
	}
	h.moved = s.moved()
	dst = p.rewrite(dst, s, leaf)
	if leaf != end {
		dst = p.turnTo(dst, e, leaf)
		h.note = p.end
	}
	p.links[e.ID].uuid = p.end
	return dst, h, true
}

// present is the entry on the way up from another that says what an entry does:
// itself, or what a later copy of its record says.
func (p *printer) present(target firn.EntryID, l *link, from firn.EntryID) firn.EntryID {
	ordinal := func(id firn.EntryID) string { return strings.TrimPrefix(string(id), base(string(id))) }
	part := func(id firn.EntryID) string { _, after, _ := strings.Cut(ordinal(id), "."); return after }
	for id := from; ; {
		other := p.links[id]
		if other == nil {
			return target
		}
		if id == target || other.own && other.from == l.from && part(other.id) == part(l.id) {
			return id
		}
		id = other.up
	}
}

// beginning is the first entry of the answer that an entry is part of, with the
// results to it: they are written again together, as they are read together.
func (p *printer) beginning(id firn.EntryID) firn.EntryID {
	for {
		l := p.links[id]
		if l == nil || l.answer == "" {
			return id
		}
		up := l.up
		for p.links[up] != nil && !p.links[up].own {
			up = p.links[up].up // lines stand between, and some of those of the answer with them
		}
		if p.links[up] == nil || p.links[up].answer != l.answer {
			return id
		}
		id = up
	}
}

// restore hangs what follows hidden records under them again.
func (p *printer) restore(dst []byte, e firn.Entry, h hiding) ([]byte, bool) {
	if p.to.Told == nil || len(h.gone)+len(h.changed) == 0 {
		return dst, false
	}
	s := p.strand()
	for t := range p.to.Told(p.top(e.Parent)) {
		s.add(t.Lines)
	}
	for _, uuid := range h.changed {
		if !s.recover(uuid) {
			return dst, false
		}
	}
	if h.answer != "" {
		s.rename(h.answer+renamed, h.answer)
	}
	leaf := p.above(e.Parent)
	for uuid, parent := range h.moved {
		s.parents[uuid] = parent
	}
	for _, r := range s.records {
		if h.note != "" && r.parent == h.note {
			s.parents[r.uuid] = h.gone[len(h.gone)-1]
		}
	}
	dst = p.rewrite(dst, s, leaf)
	if h.note != "" && leaf == h.note {
		dst = p.turnTo(dst, e, h.gone[len(h.gone)-1])
	}
	p.links[e.ID].uuid = p.end
	return dst, true
}

// top is the first entry on the way to one.
func (p *printer) top(id firn.EntryID) firn.EntryID {
	for {
		l := p.links[id]
		if l == nil || p.links[l.up] == nil {
			return id
		}
		id = l.up
	}
}

// rewrite writes the records again that the strand has other words or another
// parent for, and all below them; last the one that the conversation goes on
// from, which all versions then take for it.
func (p *printer) rewrite(dst []byte, s *strand, leaf string) []byte {
	below := s.below()
	for _, r := range below {
		if r.uuid != leaf {
			dst = p.again(dst, s, r, r.at)
		}
	}
	p.end = leaf
	end := s.find(leaf)
	if end == nil {
		return dst
	}
	at := end.at
	if at.Before(p.last) {
		at = p.stamp(at)
	}
	dst = p.again(dst, s, end, at)
	if p.pointed != "" { // it may be a leaf again now
		dst = p.point(dst, leaf)
	}
	return dst
}

// again writes a record once more.
func (p *printer) again(dst []byte, s *strand, r *strandRecord, at time.Time) []byte {
	start := len(dst)
	dst = s.again(dst, r, at)
	if l, err := readLine(dst[start:]); err == nil {
		p.learn(&l)
	}
	return append(dst, '\n')
}

// turnTo makes all versions go on from a record that others follow: a note of
// the system behind it is the newest leaf, and is named as the one.
func (p *printer) turnTo(dst []byte, e firn.Entry, uuid string) []byte {
	dst = p.note(dst, e, uuid, "A message was removed or restored")
	return p.point(dst, p.end)
}

// note writes a note of the system behind a record.
func (p *printer) note(dst []byte, e firn.Entry, uuid, why string) []byte {
	note := dialect.UUID(p.scope, "on from "+uuid+" by "+string(e.ID))
	p.end = note
	return p.record(dst, record{kind: "system", subtype: "informational", content: why, parent: uuid, uuid: note, at: p.stamp(e.Time)})
}

// leads reports whether the way up from the last record comes to the one that
// was named as the one to go on from. If it does not, the last one is on another
// branch, and Claude Code would leave it out.
func (p *printer) leads() bool {
	for uuid := p.end; uuid != ""; {
		if uuid == p.pointed || uuid == p.led {
			p.led = p.end
			return true
		}
		f := p.facts[uuid]
		if f == nil {
			return false
		}
		uuid = orElse(f.parent, f.logical)
	}
	return false
}

// point names the record that the conversation goes on from.
func (p *printer) point(dst []byte, uuid string) []byte {
	p.pointed, p.led = uuid, uuid
	w := writer{dst: append(dst, '{')}
	w.text("type", "last-prompt")
	w.text("leafUuid", uuid)
	w.text("sessionId", p.session)
	return append(w.dst, '}', '\n')
}
