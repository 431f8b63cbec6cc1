package pi

import (
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// pi knows no tombstones. What hides an entry from it is that the entry is not
// on the path to the last line: so what came after it is said once more behind
// the entry before it, and the tombstone comes last. The old branch stays in
// the file. See docs/decisions/0017-branch-around.md.

// grave is a tombstone of the file.
type grave struct {
	id, target firn.EntryID
	// left is the last line of the path that was left when it was written; ""
	// if none was.
	left firn.EntryID
}

// aroundField is the member of a tombstone that tells which path was left. It
// is ours.
const aroundField = "around"

// bury remembers a tombstone that is in the file.
func (p *printer) bury(e firn.Entry, b *firn.Tombstone) {
	p.graves = append(p.graves, grave{e.ID, b.Target, firn.EntryID(text(e.Extra.Get(aroundField)))})
}

// recall remembers a tombstone that is in the file, and what it made of the
// path.
func (p *printer) recall(e firn.Entry, b *firn.Tombstone) {
	p.bury(e, b)
	if p.graves[len(p.graves)-1].left == "" {
		return
	}
	if at := slices.IndexFunc(p.graves, func(g grave) bool { return g.id == b.Target }); at >= 0 {
		for id := range p.nodes.path(p.graves[at].left) {
			p.moves.forget(id)
		}
		return
	}
	target := p.moves.now(b.Target)
	p.moves.leave(target, p.moves.under(p.nodes[target].parent))
	p.moves.next[target] = e.ID
}

// tombstone hides an entry, or shows one again.
func (p *printer) tombstone(dst []byte, e firn.Entry, b *firn.Tombstone) ([]byte, error) {
	if b.Target == firn.EntryID(p.to.Session) {
		return p.mark(dst, e, b, limitSession)
	}
	at := slices.IndexFunc(p.graves, func(g grave) bool { return g.id == b.Target })
	switch {
	case at >= 0:
		return p.restore(dst, e, b, p.graves[at])
	case p.to.Told == nil:
		return p.omit(dst, e, b)
	}
	return p.hide(dst, e, b)
}

// mark writes the tombstone alone, which pi does not mind.
func (p *printer) mark(dst []byte, e firn.Entry, b *firn.Tombstone, limit string) ([]byte, error) {
	dst, err := p.line(dst, e)
	if err != nil {
		return dst, err
	}
	p.bury(e, b)
	if limit != "" {
		p.lose(e, limit)
	}
	return dst, nil
}

// omit hides an entry without writing anything of what came after it: by an
// edit of the context, which pi knows since 0.87.
func (p *printer) omit(dst []byte, e firn.Entry, b *firn.Tombstone) ([]byte, error) {
	target := p.moves.now(b.Target)
	if !p.nodes[target].editable || e.Time.IsZero() {
		return p.mark(dst, e, b, limitHidden)
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
	p.note(e.ID, e.Parent, false)
	p.time = e.Time
	p.bury(e, b)
	p.lose(e, limitHidden)
	return dst, nil
}

// hide leaves the entry out of the path: what came after it is copied behind
// what came before it.
func (p *printer) hide(dst []byte, e firn.Entry, b *firn.Tombstone) ([]byte, error) {
	told := slices.Collect(p.to.Told(p.moves.now(b.Target)))
	if len(told) == 0 || len(told[0].Lines) == 0 {
		return p.mark(dst, e, b, limitElse)
	}
	target, before := p.standing(told[0])
	c := copier{p: p, by: e.ID, calls: callsOf(told[0].Entry), hidden: p.hidden(grave{id: e.ID, target: b.Target}), chain: before}
	c.pass(told[0].Entry.ID, target)
	return p.around(dst, e, c, told)
}

// restore goes back to the path that was left when a tombstone was written, and
// says again what came after the tombstone. It does not if that would show
// something else that is hidden, too.
func (p *printer) restore(dst []byte, e firn.Entry, b *firn.Tombstone, was grave) ([]byte, error) {
	if was.left == "" || p.to.Told == nil {
		return p.mark(dst, e, b, limitRestored)
	}
	c := copier{p: p, by: e.ID, hidden: p.hidden(grave{id: e.ID, target: b.Target}), chain: was.left}
	for id := range p.nodes.path(was.left) {
		if c.hidden[p.original(id)] {
			return p.mark(dst, e, b, limitRestored)
		}
		c.back = append(c.back, id)
	}
	told := slices.Collect(p.to.Told(b.Target))
	if len(told) == 0 || len(c.back) == 0 || p.nodes[c.back[len(c.back)-1]].parent != "" {
		return p.mark(dst, e, b, limitRestored)
	}
	c.pass(told[0].Entry.ID, b.Target)
	return p.around(dst, e, c, told)
}

// around writes the copies of what was told after the first, and then the
// tombstone.
func (p *printer) around(dst []byte, e firn.Entry, c copier, told []dialect.Told) ([]byte, error) {
	start := len(dst)
	left, _ := p.standing(told[len(told)-1])
	var err error
	for _, t := range told[1:] {
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
	c.settle(e.ID)
	p.bury(e, e.Body.(*firn.Tombstone))
	return out, nil
}

// standing tells the last line of what was told, and the line that it follows.
func (p *printer) standing(t dialect.Told) (id, parent firn.EntryID) {
	for _, line := range t.Lines {
		if g, err := p.lines.Glance(line); err == nil && g.ID != "" {
			if id == "" {
				parent = p.moves.under(g.Parent)
			}
			id = g.ID
		}
	}
	if id == "" {
		return p.moves.under(t.Entry.ID), p.moves.under(t.Entry.Parent)
	}
	return id, parent
}

// shows reports whether pi would be shown what is hidden if an entry had this
// parent. While one follows the other nothing is shown that was not before.
func (p *printer) shows(parent firn.EntryID) bool {
	if len(p.graves) == 0 || parent == p.last {
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

// hidden tells what is hidden, once further tombstones are written, as original
// lines. Tombstones are not among them: they say nothing.
func (p *printer) hidden(more ...grave) map[firn.EntryID]bool {
	graves := append(slices.Clip(p.graves), more...)
	hidden, entries := make(map[firn.EntryID]bool), make(map[firn.EntryID]bool)
	for _, g := range slices.Backward(graves) { // what hides a tombstone stands after it
		if hidden[g.id] {
			continue
		}
		hidden[g.target] = true
		if !slices.ContainsFunc(graves, func(other grave) bool { return other.id == g.target }) {
			entries[p.original(g.target)] = true
		}
	}
	return entries
}

// original is the line that one is a copy of; itself if it is none.
func (p *printer) original(id firn.EntryID) firn.EntryID {
	if first, ok := p.first[id]; ok {
		return first
	}
	return id
}
