package pi

import (
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// copier says again what came after an entry, on another path. What it learns
// counts only once the tombstone is written.
type copier struct {
	p *printer
	// by is the tombstone that all is for, and chain the last line.
	by, chain firn.EntryID
	// calls are those of a hidden answer. Their results go with it: no
	// provider takes a result without its call, and pi sends it.
	calls []string
	// hidden are the original lines that are not to be said.
	hidden map[firn.EntryID]bool
	// back are lines that are on the path again.
	back []firn.EntryID
	// made are the copies, in order; passed those that were not copied and
	// where the chain was then.
	made   []pair
	passed []pair
	// waiting are those behind which nothing was copied yet, and next what was.
	waiting []firn.EntryID
	next    []pair
}

// pair is a line and what it is now.
type pair struct{ old, now firn.EntryID }

// entry copies one entry, if it belongs on the path.
func (c *copier) entry(dst []byte, t dialect.Told) ([]byte, error) {
	own, _ := c.p.standing(t)
	if !c.wants(t.Entry) || c.hidden[c.p.original(own)] {
		c.pass(t.Entry.ID, own)
		return dst, nil
	}
	for _, line := range t.Lines {
		g, err := c.p.lines.Glance(line)
		if err != nil || g.ID == "" || g.Kind == firn.KindHeader {
			continue
		}
		now := firn.EntryID(dialect.UUID(string(c.p.to.Session), string(c.by)+"/"+string(g.ID)))
		if dst, err = relink(dst, line, link{id: now, parent: c.chain, meant: c.meant, of: c.p.original(g.ID)}); err != nil {
			return dst, err
		}
		dst = append(dst, '\n')
		c.copied(g.ID, now, editable(t.Entry))
	}
	if own != t.Entry.ID {
		c.passed = append(c.passed, pair{t.Entry.ID, c.chain})
	}
	return dst, nil
}

// copied notes a copy.
func (c *copier) copied(old, now firn.EntryID, editable bool) {
	c.made = append(c.made, pair{old, now})
	for _, id := range c.waiting {
		c.next = append(c.next, pair{id, now})
	}
	c.waiting = c.waiting[:0]
	c.p.note(now, c.chain, editable) // harmless if nothing comes of it
	c.chain = now
}

// pass notes that a line, which may have another name as an entry, is not on
// the path.
func (c *copier) pass(entry, line firn.EntryID) {
	for _, id := range []firn.EntryID{entry, line} {
		if id != "" && id != c.by && !slices.Contains(c.waiting, id) {
			c.passed = append(c.passed, pair{id, c.chain})
			c.waiting = append(c.waiting, id)
		}
	}
}

// settle makes what was learned count. The tombstone is the last line.
func (c *copier) settle(last firn.EntryID) {
	m := c.p.moves
	for _, id := range c.waiting {
		c.next = append(c.next, pair{id, last})
	}
	for _, id := range c.back {
		m.forget(id)
	}
	for _, id := range c.back { // which may be copies themselves
		if first := c.p.original(id); first != id && !slices.Contains(c.back, first) {
			m.copy(first, id)
		}
	}
	for _, l := range c.passed {
		m.leave(l.old, l.now)
	}
	for _, l := range c.next {
		m.next[l.old] = l.now
	}
	for _, l := range c.made {
		m.copy(l.old, l.now)
		c.p.first[l.now] = c.p.original(l.old)
	}
	for id := range c.hidden {
		if node, ok := c.p.nodes[id]; ok && m.under(id) == id {
			m.leave(id, node.parent)
		}
	}
}

// meant is what a copied line means by an entry that it points at.
func (c *copier) meant(id firn.EntryID) firn.EntryID {
	for _, list := range [][]pair{c.made, c.next} {
		for _, m := range slices.Backward(list) {
			if m.old == id {
				return m.now
			}
		}
	}
	return id
}

// wants reports whether an entry belongs on the new path. Those that count
// wherever they stand do not.
func (c *copier) wants(e firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Tombstone, *firn.Head, *firn.Title:
		return false
	case *firn.Custom:
		return !aboutAll(b.Type)
	case *firn.Message:
		if len(b.Parts) == 1 {
			result, ok := b.Parts[0].(firn.ToolResult)
			return !ok || !slices.Contains(c.calls, result.CallID)
		}
	}
	return true
}

// aboutAll reports whether custom entries of that type tell of the session as a
// whole: told twice, they would count twice.
func aboutAll(kind string) bool {
	switch kind {
	case "firn.counters", "firn.usage", "firn.queued", "firn.unqueued", "firn.reset", "firn.spawned", "firn.draft":
		return true
	}
	return kind == dialect.LineType(dialect.Pi, "usage") || kind == dialect.LineType(dialect.OpenClaw, "usage")
}

// callsOf lists the ids of the calls in an answer.
func callsOf(e firn.Entry) (calls []string) {
	m, ok := e.Body.(*firn.Message)
	if !ok {
		return nil
	}
	for _, part := range m.Parts {
		if call, ok := part.(firn.ToolCall); ok {
			calls = append(calls, call.ID)
		}
	}
	return calls
}

// appendText adds a member with a text.
func appendText(dst []byte, name, s string) []byte {
	dst = append(rawjson.AppendString(append(dst, ','), name), ':')
	return rawjson.AppendString(dst, s)
}
