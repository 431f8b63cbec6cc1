package claudecode

import (
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Claude Code has no line that hides another, but of lines with the same uuid the last
// counts. To hide a message, the records after it are written again under the same uuids,
// the first of them with another parent. A private line records the change for firn.
// Restoring reverses it in the same way.

// hiding records the effect of a tombstone on the records of the file.
type hiding struct {
	target firn.EntryID
	// gone are the hidden records in order; moved maps records with a new parent to their
	// old parent.
	gone  []string
	moved map[string]string
	// note is the record from which the conversation continues if the last record was
	// hidden.
	note string
	// changed are the records from which a part was removed; answer is the ID of the
	// response that lost a part.
	changed []string
	answer  string
}

// tombstone hides or restores its target.
func (p *printer) tombstone(dst []byte, e firn.Entry, b *firn.Tombstone) []byte {
	p.followParent(e)
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
		p.to.ReportLoss(&e, limitHidden, false)
	}
	members := []member{text("target", string(p.scannerID(b.Target))), text("reason", b.Reason)}
	if done && !undo {
		p.hid[e.ID] = h
		members = append(members,
			raw("gone", encodeStrings(h.gone)), raw("moved", encodePairs(h.moved)), text("note", h.note), raw("changed", encodeStrings(h.changed)), text("answer", h.answer))
	}
	return p.private(dst, e, members...)
}

// readHiding records a tombstone that is in the file.
func (p *printer) readHiding(e firn.Entry, b *firn.Tombstone, lines [][]byte) {
	if h, ok := p.hid[b.Target]; ok {
		p.undone[e.ID] = h.target
		return
	}
	for _, data := range lines {
		l, err := readLine(data)
		if err == nil && l.kind == "firn" && l.uuid == baseUUID(string(e.ID)) {
			p.hid[e.ID] = hiding{
				target: b.Target, gone: parseStrings(valueOf(l.firn, "gone")), moved: parsePairs(valueOf(l.firn, "moved")), note: textOf(l.firn, "note"),
				changed: parseStrings(valueOf(l.firn, "changed")), answer: textOf(l.firn, "answer"),
			}
		}
	}
}

// hide rewrites the records after an entry without it.
func (p *printer) hide(dst []byte, e firn.Entry, target firn.EntryID) ([]byte, hiding, bool) {
	h := hiding{target: target}
	l := p.links[target]
	if l == nil || !l.own || p.to.Written == nil {
		return dst, h, false
	}
	s := p.strand()
	var hidden firn.Entry
	here := p.currentCopy(target, l, e.Parent)
	for t := range p.to.Written(p.answerStart(here)) {
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
	end := p.recordAbove(e.Parent)
	leaf := s.survivor(end)
	if leaf == "" {
		return dst, h, false // no records would remain
	}
	h.moved = s.moved()
	dst = p.rewrite(dst, s, leaf)
	if leaf != end {
		dst = p.continueFrom(dst, e, leaf)
		h.note = p.end
	}
	p.links[e.ID].uuid = p.end
	return dst, h, true
}

// currentCopy returns the ancestor of from that holds the target's record: the target
// itself or a later copy.
func (p *printer) currentCopy(target firn.EntryID, l *link, from firn.EntryID) firn.EntryID {
	ordinal := func(id firn.EntryID) string { return strings.TrimPrefix(string(id), baseUUID(string(id))) }
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

// answerStart returns the first entry of the response that an entry belongs to, as a part
// or a tool result: a response and its results are rewritten together.
func (p *printer) answerStart(id firn.EntryID) firn.EntryID {
	for {
		l := p.links[id]
		if l == nil || l.answer == "" {
			return id
		}
		up := l.up
		for p.links[up] != nil && !p.links[up].own {
			up = p.links[up].up // entries without a record may lie between parts of the response
		}
		if p.links[up] == nil || p.links[up].answer != l.answer {
			return id
		}
		id = up
	}
}

// restore makes the records after hidden ones follow them again.
func (p *printer) restore(dst []byte, e firn.Entry, h hiding) ([]byte, bool) {
	if p.to.Written == nil || len(h.gone)+len(h.changed) == 0 {
		return dst, false
	}
	s := p.strand()
	for t := range p.to.Written(p.firstAncestor(e.Parent)) {
		s.add(t.Lines)
	}
	for _, uuid := range h.changed {
		if !s.recover(uuid) {
			return dst, false
		}
	}
	if h.answer != "" {
		s.rename(h.answer+cutSuffix, h.answer)
	}
	leaf := p.recordAbove(e.Parent)
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
		dst = p.continueFrom(dst, e, h.gone[len(h.gone)-1])
	}
	p.links[e.ID].uuid = p.end
	return dst, true
}

// firstAncestor returns the topmost ancestor of an entry.
func (p *printer) firstAncestor(id firn.EntryID) firn.EntryID {
	for {
		l := p.links[id]
		if l == nil || p.links[l.up] == nil {
			return id
		}
		id = l.up
	}
}

// rewrite writes the changed records of the strand and their descendants again. The record
// from which the conversation continues is last, since all versions continue from there.
func (p *printer) rewrite(dst []byte, s *strand, leaf string) []byte {
	below := s.affected()
	for _, r := range below {
		if r.uuid != leaf {
			dst = p.rewriteRecord(dst, s, r, r.at)
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
	dst = p.rewriteRecord(dst, s, end, at)
	if p.pointed != "" { // it may be a leaf again
		dst = p.writeLeaf(dst, leaf)
	}
	return dst
}

// rewriteRecord writes a record again.
func (p *printer) rewriteRecord(dst []byte, s *strand, r *strandRecord, at time.Time) []byte {
	start := len(dst)
	dst = s.appendRecord(dst, r, at)
	if l, err := readLine(dst[start:]); err == nil {
		p.noteRecord(&l)
	}
	return append(dst, '\n')
}

// continueFrom makes all versions continue from a record that has children: it adds a
// system note as the newest leaf and names it in a last-prompt line.
func (p *printer) continueFrom(dst []byte, e firn.Entry, uuid string) []byte {
	dst = p.note(dst, e, uuid, "A message was removed or restored")
	return p.writeLeaf(dst, p.end)
}

// note writes a system note after a record.
func (p *printer) note(dst []byte, e firn.Entry, uuid, why string) []byte {
	note := dialect.UUID(p.scope, "on from "+uuid+" by "+string(e.ID))
	p.end = note
	return p.record(dst, record{kind: "system", subtype: "informational", content: why, parent: uuid, uuid: note, at: p.stamp(e.Time)})
}

// leadsToPointed reports whether the last record descends from the last named leaf.
// Otherwise it is on another branch, and Claude Code would ignore it.
func (p *printer) leadsToPointed() bool {
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

// writeLeaf writes a last-prompt line: the conversation continues from this record.
func (p *printer) writeLeaf(dst []byte, uuid string) []byte {
	p.pointed, p.led = uuid, uuid
	w := writer{dst: append(dst, '{')}
	w.text("type", "last-prompt")
	w.text("leafUuid", uuid)
	w.text("sessionId", p.session)
	return append(w.dst, '}', '\n')
}
