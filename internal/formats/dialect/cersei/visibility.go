package cersei

import (
	"slices"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// node is the printer's state of an entry.
type node struct {
	id firn.EntryID
	// key identifies the entry. uuid is that of its current line, "" if it is never sent to
	// the model.
	key, uuid string
	kind      kind
	// ref is the key of a tombstone's target or of a compaction's first kept entry.
	ref   string
	state state
}

// kind classifies an entry.
type kind byte

const (
	isOther kind = iota
	isTombstone
	isCompaction
)

// state is the state of an entry's line. A covered line was deleted directly after a
// compaction, which firn treats as part of the compaction; a dead line was deleted on its
// own.
type state byte

const (
	live state = iota
	covered
	dead
)

// compaction writes a compaction: since Cersei skips summary lines, the summary is a
// message, and tombstones delete the messages that it replaces.
func (p *printer) compaction(dst []byte, e firn.Entry, c *firn.Compaction) []byte {
	n := node{id: e.ID, key: p.key(e.ID), uuid: p.key(e.ID), kind: isCompaction, ref: p.originalKey(c.FirstKept), state: dead}
	p.nodes = append(p.nodes, n)
	if p.bare {
		p.to.ReportLoss(&e, limitCompaction, false)
		return p.summary(dst, e, c, n.uuid, "")
	}
	return p.applyChange(dst, e)
}

// tombstone hides or restores an entry.
func (p *printer) tombstone(dst []byte, e firn.Entry, b *firn.Tombstone) []byte {
	target := p.resolve(b.Target)
	i := p.find(target)
	p.nodes = append(p.nodes, node{id: e.ID, key: p.key(e.ID), kind: isTombstone, ref: target})
	mute := i >= 0 && p.nodes[i].kind == isOther && p.nodes[i].uuid == ""
	if p.bare || mute || string(b.Target) == string(p.to.Session) {
		p.to.ReportLoss(&e, limitHiding, true)
		return dst
	}
	return p.applyChange(dst, e)
}

// find returns the index of the entry with this key, or -1.
func (p *printer) find(key string) int {
	for i, n := range slices.Backward(p.nodes) {
		if n.key == key {
			return i
		}
	}
	return -1
}

// resolve returns the key of an entry. A tombstone written by this printer and read again
// has an unknown ID; its target identifies it.
func (p *printer) resolve(id firn.EntryID) string {
	key := p.originalKey(id)
	if p.to.Written == nil || p.find(key) >= 0 {
		return key
	}
	for t := range p.to.Written(id) {
		b, ok := t.Entry.Body.(*firn.Tombstone)
		if !ok {
			break
		}
		target := p.originalKey(b.Target)
		for _, n := range slices.Backward(p.nodes) {
			if n.kind == isTombstone && n.ref == target {
				return n.key
			}
		}
		break
	}
	return key
}

// view is the set of nodes that the model sees.
type view struct {
	seen   []bool
	hidden map[string]bool
	// kept is the index of the first kept node, last that of the effective compaction, or
	// -1.
	kept, last int
}

// computeView returns the nodes that the model sees.
func computeView(nodes []node) view {
	v := view{seen: make([]bool, len(nodes)), hidden: make(map[string]bool), last: -1}
	for _, n := range slices.Backward(nodes) { // a tombstone that hides another follows it
		if n.kind == isTombstone && !v.hidden[n.key] {
			v.hidden[n.ref] = true
		}
	}
	for i, n := range nodes {
		if n.kind == isCompaction && !v.hidden[n.key] {
			v.last = i
		}
	}
	if v.last >= 0 {
		first := slices.IndexFunc(nodes[:v.last], func(n node) bool { return n.key == nodes[v.last].ref })
		if v.kept = first; first < 0 {
			v.kept = v.last
		}
	}
	for i, n := range nodes {
		v.seen[i] = i >= v.kept && n.uuid != "" && !v.hidden[n.key] && (n.kind != isCompaction || i == v.last)
	}
	return v
}

// applyChange updates the file for entry e, the last node: it deletes lines that are no
// longer visible and writes entries that are visible again. Cersei cannot restore deleted
// lines, and messages must be in order, so all visible entries after the first restored one
// are rewritten as well.
func (p *printer) applyChange(dst []byte, e firn.Entry) []byte {
	last := len(p.nodes) - 1
	before, after := computeView(p.nodes[:last]), computeView(p.nodes)
	before.seen = append(before.seen, false)
	first := min(p.firstMissing(before, after), p.firstSharedLine(before, after))
	if c, ok := e.Body.(*firn.Compaction); ok && first == last {
		return p.compacted(dst, e, c, before, after)
	}
	var reported map[string]firn.Entry
	if first <= last {
		reported = p.contents(first, after, e)
		p.to.ReportLoss(&e, limitRestoring, reported == nil)
	}
	if reported == nil {
		first = last + 1
	}
	return p.rewriteFrom(p.deleteAll(dst, before, after, first), e.ID, after, first, reported)
}

// firstMissing returns the first visible node without a line, or len(p.nodes) if there is
// none.
func (p *printer) firstMissing(before, after view) int {
	for i, n := range p.nodes {
		if after.seen[i] && !before.seen[i] && n.state != live {
			return i
		}
	}
	return len(p.nodes)
}

// firstSharedLine returns the first visible node that shares its line with one that is no
// longer visible, or len(p.nodes) if there is none.
func (p *printer) firstSharedLine(before, after view) int {
	gone := make(map[string]bool)
	for i, n := range p.nodes {
		if before.seen[i] && !after.seen[i] && n.state == live {
			gone[n.uuid] = true
		}
	}
	for i, n := range p.nodes {
		if after.seen[i] && n.state == live && gone[n.uuid] {
			return i
		}
	}
	return len(p.nodes)
}

// compacted writes a new compaction and deletes the lines that it replaces.
func (p *printer) compacted(dst []byte, e firn.Entry, c *firn.Compaction, before, after view) []byte {
	last := len(p.nodes) - 1
	kept := p.keptBy(after)
	if kept != "" {
		p.to.ReportLoss(&e, limitCompaction, false)
	}
	dst = p.summary(dst, e, c, p.nodes[last].uuid, kept)
	p.nodes[last].state = live
	done := make(map[string]bool)
	for i, n := range p.nodes {
		if !before.seen[i] || after.seen[i] || n.state != live {
			continue
		}
		p.nodes[i].state = covered
		if !done[n.uuid] {
			dst = p.deleteLine(dst, n.uuid)
		}
		done[n.uuid] = true
	}
	return dst
}

// keptBy returns the uuid of the first line that the compaction keeps, "" if it keeps none.
func (p *printer) keptBy(v view) string {
	for i := v.kept; i < v.last; i++ {
		if v.seen[i] {
			return p.nodes[i].uuid
		}
	}
	return ""
}

// deleteAll deletes the lines that are no longer visible and those to be rewritten from
// first on. Lines covered by a compaction are then deleted on their own, since the
// compaction may no longer be in effect.
func (p *printer) deleteAll(dst []byte, before, after view, first int) []byte {
	done := make(map[string]bool)
	for i, n := range p.nodes {
		again := after.seen[i] && i >= first
		gone := before.seen[i] && !after.seen[i] && n.state == live || again && n.state != dead || after.hidden[n.key] && n.state == covered
		if n.uuid == "" || !gone {
			continue
		}
		p.nodes[i].state = dead
		if !done[n.uuid] {
			dst = p.deleteLine(dst, n.uuid)
		}
		done[n.uuid] = true
	}
	return dst
}

// contents reads the entries to rewrite from first on. It returns nil if they cannot be
// read.
func (p *printer) contents(first int, after view, e firn.Entry) map[string]firn.Entry {
	reported := map[string]firn.Entry{p.key(e.ID): e}
	for _, id := range []firn.EntryID{p.nodes[first].id, firn.EntryID(p.nodes[first].uuid)} {
		if p.to.Written == nil || len(reported) > 1 {
			break
		}
		for t := range p.to.Written(id) {
			reported[p.originalKey(t.Entry.ID)] = t.Entry
		}
	}
	for i, n := range p.nodes {
		if _, ok := reported[n.key]; i >= first && after.seen[i] && !ok {
			return nil
		}
	}
	return reported
}

// rewriteFrom writes all visible entries from first on under uuids derived from entry by.
// Their losses were reported before.
func (p *printer) rewriteFrom(dst []byte, by firn.EntryID, after view, first int, reported map[string]firn.Entry) []byte {
	lose := p.to.OnLoss
	p.to.OnLoss = nil
	for i := first; i < len(p.nodes); i++ {
		if !after.seen[i] {
			continue
		}
		n := &p.nodes[i]
		n.uuid, n.state = p.copyUUID(by, n.key), live
		p.firsts[n.uuid] = n.key
		e := reported[n.key]
		if c, ok := e.Body.(*firn.Compaction); ok {
			dst = p.summary(dst, e, c, n.uuid, p.keptBy(after))
		} else {
			dst, _ = p.entry(dst, e, n.uuid)
		}
	}
	p.to.OnLoss = lose
	return dst
}

// copyUUID returns the uuid of an entry that is rewritten because of entry by.
func (p *printer) copyUUID(by firn.EntryID, key string) string {
	return p.key(by + "/" + firn.EntryID(key))
}

// summary writes the message of a compaction, with a mark of its first kept line.
func (p *printer) summary(dst []byte, e firn.Entry, c *firn.Compaction, uuid, kept string) []byte {
	mark := []byte(`{"compaction":true`)
	if kept != "" {
		mark = appendText(mark, `,"first_kept":`, kept)
	}
	mark = appendNumber(mark, `,"tokens_before":`, c.TokensBefore)
	mark = append(mark, '}')
	text := firn.Text{Text: summaryBegin + c.Summary + summaryEnd}
	dst, _ = p.write(dst, e, utterance{kind: "user", parts: []firn.Part{text}, uuid: uuid, mark: string(mark)})
	return dst
}

// deleteLine appends a tombstone.
func (p *printer) deleteLine(dst []byte, uuid string) []byte {
	dst = appendText(dst, `{"type":"tombstone","deleted_uuid":`, uuid)
	dst = appendText(dst, `,"timestamp":`, dialect.ChronoTime(p.time))
	return append(dst, "}\n"...)
}
