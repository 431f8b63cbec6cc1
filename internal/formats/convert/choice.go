package convert

import (
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// choice decides which entries are written for another tool: no hidden ones, and only the
// current branch if the tool has no branches. Children of an omitted entry become children
// of its parent.
type choice struct {
	shape  *survey
	linear bool
	// onePath also omits the tool's own lines on other branches and head entries, because
	// the tool sends everything in the file.
	onePath bool
	// from and to are the source and target tools.
	from, to dialect.Name
	report   *Report

	// number counts the entries of the tree; last is the latest one chosen.
	number int
	last   firn.EntryID
	// left maps omitted entries to the new parent of their children.
	left map[firn.EntryID]firn.EntryID
	// next maps omitted entries to the next one chosen, for compactions that keep from
	// there; waiting are those without a next one yet.
	next    map[firn.EntryID]firn.EntryID
	waiting []firn.EntryID
	// tail holds the chosen entries since the first one that a later compaction keeps.
	tail []dialect.EntryLines
	// stale is set if the tail may be longer than needed.
	stale bool
}

func newChoice(shape *survey, linear bool, from, to dialect.Name, report *Report) *choice {
	return &choice{
		shape: shape, linear: linear, from: from, to: to, report: report,
		left: make(map[firn.EntryID]firn.EntryID), next: make(map[firn.EntryID]firn.EntryID),
	}
}

// choose reports whether the entry is to be written, and returns it with its new parent.
// rehung is set if the entry differs from its line.
func (c *choice) choose(t dialect.EntryLines) (item dialect.EntryLines, wanted, rehung bool) {
	if t.Entry.ID == "" {
		return t, true, false // the header
	}
	n := c.number
	c.number++
	c.trim()
	if b, ok := t.Entry.Body.(*firn.Compaction); ok {
		c.shape.met(c.kept(b))
		c.stale = true
	}
	if why := c.reasonToOmit(n, t.Entry); why != "" {
		c.omit(t.Entry, why)
		return t, false, false
	}
	t, rehung = c.reparent(t)
	c.follow(t.Entry.ID)
	return t, true, rehung
}

// recordWritten stores a written entry for a later compaction.
func (c *choice) recordWritten(t dialect.EntryLines) {
	if t.Entry.ID != "" && (c.shape.keptFrom(t.Entry.ID) || len(c.tail) > 0) {
		c.tail = append(c.tail, keep(t))
	}
}

// reasonToOmit returns the reason why the entry is omitted, "" if it is not.
func (c *choice) reasonToOmit(n int, e firn.Entry) string {
	_, tombstone := e.Body.(*firn.Tombstone)
	hidden, theirs := c.shape.isHidden(e.ID)
	if tombstone && !hidden {
		hidden, theirs = true, isOf(e, c.to)
	}
	switch {
	case hidden && !(theirs && isOf(e, c.to)):
		return Hidden
	case dialect.ContextOf(e) != "" && dialect.ContextOf(e) != c.to:
		return ToolContext
	case c.linear && !c.shape.onPath(n) && (c.onePath || c.shape.ours || !isOf(e, c.to)):
		return OtherBranch // unless the tool's own lines record the switch to another branch
	case c.onePath && e.Body.Kind() == firn.KindHead:
		return HeadMove
	}
	return ""
}

// omit records the new parent of the children of an omitted entry.
func (c *choice) omit(e firn.Entry, why string) {
	c.report.leave(why)
	c.report.countUnknown(e, c.from, nil)
	if c.linear && why == OtherBranch {
		return // its children are omitted too
	}
	parent := e.Parent
	if up, ok := c.left[parent]; ok {
		parent = up
	}
	c.left[e.ID] = parent
	if c.shape.keptFrom(e.ID) {
		c.waiting = append(c.waiting, e.ID)
	}
}

// reparent moves the entry to a written parent, and updates the first kept entry of a
// compaction.
func (c *choice) reparent(t dialect.EntryLines) (item dialect.EntryLines, rehung bool) {
	if up, ok := c.left[t.Entry.Parent]; ok {
		t.Entry.Parent, rehung = up, true
	}
	if b, ok := t.Entry.Body.(*firn.Compaction); ok && c.kept(b) != b.FirstKept {
		moved := *b
		moved.FirstKept = c.kept(b)
		t.Entry.Body, rehung = &moved, true
	}
	return t, rehung
}

// kept returns the first entry that a compaction keeps and that is written.
func (c *choice) kept(b *firn.Compaction) firn.EntryID {
	if first, ok := c.next[b.FirstKept]; ok {
		return first
	}
	return b.FirstKept
}

// follow records the entry after omitted ones.
func (c *choice) follow(id firn.EntryID) {
	for _, left := range c.waiting {
		c.next[left] = id
		c.shape.pass(left, id)
	}
	c.waiting = nil
	c.last = id
}

// trim discards the entries that no later compaction keeps.
func (c *choice) trim() {
	if !c.stale {
		return
	}
	c.stale = false
	needed := slices.IndexFunc(c.tail, func(t dialect.EntryLines) bool { return c.shape.keptFrom(t.Entry.ID) })
	if needed < 0 {
		c.tail = nil
		return
	}
	c.tail = slices.Clone(c.tail[needed:])
}

// written yields the chosen entries from since on; none if since is earlier than the first
// entry that a compaction keeps.
func (c *choice) written(since firn.EntryID) iter.Seq[dialect.EntryLines] {
	return func(yield func(dialect.EntryLines) bool) {
		start := slices.IndexFunc(c.tail, func(t dialect.EntryLines) bool { return t.Entry.ID == since })
		if start < 0 {
			return
		}
		for _, t := range c.tail[start:] {
			if !yield(t) {
				return
			}
		}
	}
}
