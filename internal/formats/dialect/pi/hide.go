package pi

import (
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// pi has no tombstones. An entry is hidden from it if it is not on the path to the last
// line. So to hide an entry, the entries after it are copied as children of the entry
// before it, followed by the tombstone. The old branch stays in the file. See
// docs/decisions/0017-hidden-entries-in-pi-files.md.

// tombstoneRef is a tombstone in the file.
type tombstoneRef struct {
	id, target firn.EntryID
	// left is the last line of the path that was abandoned when it was written, "" if none
	// was.
	left firn.EntryID
}

// aroundField is the member of a tombstone with the last line of the abandoned path. It is
// firn's own.
const aroundField = "around"

// addTombstone records a tombstone that is in the file.
func (p *printer) addTombstone(e firn.Entry, b *firn.Tombstone) {
	p.tombstones = append(p.tombstones, tombstoneRef{e.ID, b.Target, firn.EntryID(text(e.Extra.Get(aroundField)))})
}

// repeatTombstone records a tombstone that is in the file and its effect on the path.
func (p *printer) repeatTombstone(e firn.Entry, b *firn.Tombstone) {
	p.addTombstone(e, b)
	if p.tombstones[len(p.tombstones)-1].left == "" {
		return
	}
	if at := slices.IndexFunc(p.tombstones, func(g tombstoneRef) bool { return g.id == b.Target }); at >= 0 {
		for id := range p.nodes.path(p.tombstones[at].left) {
			p.moves.forget(id)
		}
		return
	}
	target := p.moves.current(b.Target)
	p.moves.detach(target, p.moves.parentFor(p.nodes[target].parent))
	p.moves.next[target] = e.ID
}

// tombstone hides or restores an entry.
func (p *printer) tombstone(dst []byte, e firn.Entry, b *firn.Tombstone) ([]byte, error) {
	if b.Target == firn.EntryID(p.to.Session) {
		return p.writeTombstone(dst, e, b, limitSession)
	}
	at := slices.IndexFunc(p.tombstones, func(g tombstoneRef) bool { return g.id == b.Target })
	switch {
	case at >= 0:
		return p.restore(dst, e, b, p.tombstones[at])
	case p.to.Written == nil:
		return p.omitByEdit(dst, e, b)
	}
	return p.hide(dst, e, b)
}

// writeTombstone writes only the tombstone, which pi ignores.
func (p *printer) writeTombstone(dst []byte, e firn.Entry, b *firn.Tombstone, limit string) ([]byte, error) {
	dst, err := p.line(dst, e)
	if err != nil {
		return dst, err
	}
	p.addTombstone(e, b)
	if limit != "" {
		p.to.ReportLoss(&e, limit, false)
	}
	return dst, nil
}

// omitByEdit hides an entry with a context edit, which pi supports since 0.87. It rewrites
// no later entries.
func (p *printer) omitByEdit(dst []byte, e firn.Entry, b *firn.Tombstone) ([]byte, error) {
	target := p.moves.current(b.Target)
	if !p.nodes[target].editable || e.Time.IsZero() {
		return p.writeTombstone(dst, e, b, limitHidden)
	}
	dst = rawjson.AppendString(append(dst, `{"type":`...), string(kindEdit))
	dst = appendText(dst, "id", string(e.ID))
	if e.Parent == "" || e.Parent == firn.Root {
		dst = append(dst, `,"parentId":null`...)
	} else {
		dst = appendText(dst, "parentId", string(e.Parent))
	}
	dst = appendText(dst, "timestamp", e.Time.UTC().Format("2006-01-02T15:04:05.000Z"))
	dst = append(appendText(dst, "targetId", string(target)), `,"replacement":null,"tombstone":true`...)
	if b.Reason != "" {
		dst = appendText(dst, "reason", b.Reason)
	}
	dst = append(dst, "}\n"...)
	p.addLine(e.ID, e.Parent, false)
	p.time = e.Time
	p.addTombstone(e, b)
	p.to.ReportLoss(&e, limitHidden, false)
	return dst, nil
}

// hide removes the entry from the path: the entries after it are copied as children of the
// entry before it.
func (p *printer) hide(dst []byte, e firn.Entry, b *firn.Tombstone) ([]byte, error) {
	entries := slices.Collect(p.to.Written(p.moves.current(b.Target)))
	if len(entries) == 0 || len(entries[0].Lines) == 0 {
		return p.writeTombstone(dst, e, b, limitElse)
	}
	target, before := p.linePlace(entries[0])
	c := copier{p: p, by: e.ID, calls: callsOf(entries[0].Entry), hidden: p.hidden(tombstoneRef{id: e.ID, target: b.Target}), chain: before}
	c.skip(entries[0].Entry.ID, target)
	return p.branchAround(dst, e, c, entries)
}

// restore returns to the path that was abandoned when a tombstone was written, and copies
// the entries after the tombstone. It does nothing of the kind if that would reveal another
// hidden entry.
func (p *printer) restore(dst []byte, e firn.Entry, b *firn.Tombstone, was tombstoneRef) ([]byte, error) {
	if was.left == "" || p.to.Written == nil {
		return p.writeTombstone(dst, e, b, limitRestored)
	}
	c := copier{p: p, by: e.ID, hidden: p.hidden(tombstoneRef{id: e.ID, target: b.Target}), chain: was.left}
	for id := range p.nodes.path(was.left) {
		if c.hidden[p.original(id)] {
			return p.writeTombstone(dst, e, b, limitRestored)
		}
		c.back = append(c.back, id)
	}
	entries := slices.Collect(p.to.Written(b.Target))
	if len(entries) == 0 || len(c.back) == 0 || p.nodes[c.back[len(c.back)-1]].parent != "" {
		return p.writeTombstone(dst, e, b, limitRestored)
	}
	c.skip(entries[0].Entry.ID, b.Target)
	return p.branchAround(dst, e, c, entries)
}

// branchAround writes copies of the given entries except the first, followed by the
// tombstone.
func (p *printer) branchAround(dst []byte, e firn.Entry, c copier, entries []dialect.EntryLines) ([]byte, error) {
	start := len(dst)
	left, _ := p.linePlace(entries[len(entries)-1])
	var err error
	for _, t := range entries[1:] {
		if dst, err = c.entry(dst, t); err != nil {
			return dst[:start], err
		}
	}
	e.Parent = c.chain
	e.Extra = append(slices.Clip(without(e.Extra, aroundField)), firn.Field{Name: aroundField, Value: rawjson.AppendString(nil, string(left))})
	if e.Parent == "" {
		e.Parent = firn.Root
	}
	out, err := p.line(dst, e)
	if err != nil {
		return dst[:start], err
	}
	c.commit(e.ID)
	p.addTombstone(e, e.Body.(*firn.Tombstone))
	return out, nil
}

// linePlace returns the last line of a written entry and that line's parent.
func (p *printer) linePlace(t dialect.EntryLines) (id, parent firn.EntryID) {
	for _, line := range t.Lines {
		if g, err := p.lines.Glance(line); err == nil && g.ID != "" {
			if id == "" {
				parent = p.moves.parentFor(g.Parent)
			}
			id = g.ID
		}
	}
	if id == "" {
		return p.moves.parentFor(t.Entry.ID), p.moves.parentFor(t.Entry.Parent)
	}
	return id, parent
}

// revealsHidden reports whether pi would show a hidden entry if a new entry had this
// parent. Appending to the last line never does.
func (p *printer) revealsHidden(parent firn.EntryID) bool {
	if len(p.tombstones) == 0 || parent == p.last {
		return false
	}
	hidden := p.hidden()
	for id := range p.nodes.path(parent) {
		if hidden[p.original(id)] {
			return true
		}
	}
	return false
}

// hidden returns the hidden entries, including the targets of more, by their original
// lines. Tombstones themselves are not included: they have no content.
func (p *printer) hidden(more ...tombstoneRef) map[firn.EntryID]bool {
	graves := append(slices.Clip(p.tombstones), more...)
	hidden, entries := make(map[firn.EntryID]bool), make(map[firn.EntryID]bool)
	for _, g := range slices.Backward(graves) { // a tombstone that hides another follows it
		if hidden[g.id] {
			continue
		}
		hidden[g.target] = true
		if !slices.ContainsFunc(graves, func(other tombstoneRef) bool { return other.id == g.target }) {
			entries[p.original(g.target)] = true
		}
	}
	return entries
}

// original returns the line that id is a copy of, or id itself.
func (p *printer) original(id firn.EntryID) firn.EntryID {
	if first, ok := p.originals[id]; ok {
		return first
	}
	return id
}
