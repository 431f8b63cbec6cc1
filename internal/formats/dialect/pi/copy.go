package pi

import (
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// copier copies the entries after an entry to another path. Its results take effect with
// commit, once the tombstone is written.
type copier struct {
	p *printer
	// by is the tombstone that causes the copies, chain the last line.
	by, chain firn.EntryID
	// calls are those of a hidden response. Their results are hidden with it: providers
	// reject a result without its call, and pi would send it.
	calls []string
	// hidden are the original lines of hidden entries.
	hidden map[firn.EntryID]bool
	// back are lines that are on the path again.
	back []firn.EntryID
	// made are the copies in order; skipped are the lines not copied, with the last line of
	// the chain at that point.
	made    []pair
	skipped []pair
	// waiting are the skipped lines without a copy after them yet; next maps the others to
	// the first copy after them.
	waiting []firn.EntryID
	next    []pair
}

// pair maps a line to its replacement.
type pair struct{ old, now firn.EntryID }

// entry copies one entry if it belongs on the path.
func (c *copier) entry(dst []byte, t dialect.EntryLines) ([]byte, error) {
	own, _ := c.p.linePlace(t)
	if !c.belongs(t.Entry) || c.hidden[c.p.original(own)] {
		c.skip(t.Entry.ID, own)
		return dst, nil
	}
	for _, line := range t.Lines {
		g, err := c.p.lines.Glance(line)
		if err != nil || g.ID == "" || g.Kind == firn.KindHeader {
			continue
		}
		now := firn.EntryID(dialect.UUID(string(c.p.to.Session), string(c.by)+"/"+string(g.ID)))
		if dst, err = relink(dst, line, link{id: now, parent: c.chain, resolve: c.resolve, of: c.p.original(g.ID)}); err != nil {
			return dst, err
		}
		dst = append(dst, '\n')
		c.addCopy(g.ID, now, editable(t.Entry))
	}
	if own != t.Entry.ID {
		c.skipped = append(c.skipped, pair{t.Entry.ID, c.chain})
	}
	return dst, nil
}

// addCopy records a copy.
func (c *copier) addCopy(old, now firn.EntryID, editable bool) {
	c.made = append(c.made, pair{old, now})
	for _, id := range c.waiting {
		c.next = append(c.next, pair{id, now})
	}
	c.waiting = c.waiting[:0]
	c.p.addLine(now, c.chain, editable) // harmless if the copy is discarded
	c.chain = now
}

// skip records that a line, which may have a different entry ID, is not on the path.
func (c *copier) skip(entry, line firn.EntryID) {
	for _, id := range []firn.EntryID{entry, line} {
		if id != "" && id != c.by && !slices.Contains(c.waiting, id) {
			c.skipped = append(c.skipped, pair{id, c.chain})
			c.waiting = append(c.waiting, id)
		}
	}
}

// commit applies the results to the printer. The tombstone is the last line.
func (c *copier) commit(last firn.EntryID) {
	m := c.p.moves
	for _, id := range c.waiting {
		c.next = append(c.next, pair{id, last})
	}
	for _, id := range c.back {
		m.forget(id)
	}
	for _, id := range c.back { // these may be copies themselves
		if first := c.p.original(id); first != id && !slices.Contains(c.back, first) {
			m.copy(first, id)
		}
	}
	for _, l := range c.skipped {
		m.detach(l.old, l.now)
	}
	for _, l := range c.next {
		m.next[l.old] = l.now
	}
	for _, l := range c.made {
		m.copy(l.old, l.now)
		c.p.originals[l.now] = c.p.original(l.old)
	}
	for id := range c.hidden {
		if node, ok := c.p.nodes[id]; ok && m.parentFor(id) == id {
			m.detach(id, node.parent)
		}
	}
}

// resolve returns the replacement of an entry that a copied line refers to.
func (c *copier) resolve(id firn.EntryID) firn.EntryID {
	for _, list := range [][]pair{c.made, c.next} {
		for _, m := range slices.Backward(list) {
			if m.old == id {
				return m.now
			}
		}
	}
	return id
}

// belongs reports whether an entry belongs on the new path. Entries that take effect
// anywhere in the file do not.
func (c *copier) belongs(e firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Tombstone, *firn.Head, *firn.Title:
		return false
	case *firn.Custom:
		return !isSessionWide(b.Type)
	case *firn.Message:
		if len(b.Parts) == 1 {
			result, ok := b.Parts[0].(firn.ToolResult)
			return !ok || !slices.Contains(c.calls, result.CallID)
		}
	}
	return true
}

// isSessionWide reports whether custom entries of this type apply to the whole session:
// copies of them would count twice.
func isSessionWide(kind string) bool {
	switch kind {
	case "firn.counters", "firn.usage", "firn.queued", "firn.unqueued", "firn.reset", "firn.spawned", "firn.draft", "firn.approval.asked", "firn.approval.answered":
		return true
	}
	return kind == dialect.LineType(dialect.Pi, "usage") || kind == dialect.LineType(dialect.OpenClaw, "usage")
}

// callsOf lists the IDs of the calls in a response.
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

// appendText appends a string member.
func appendText(dst []byte, name, s string) []byte {
	dst = append(rawjson.AppendString(append(dst, ','), name), ':')
	return rawjson.AppendString(dst, s)
}
