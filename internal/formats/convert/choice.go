package convert

import (
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// choice decides, entry by entry, what another tool is told: nothing that is
// hidden, and only the current branch if it knows no branches. What hung under
// an entry that is left hangs under that one's parent.
type choice struct {
	shape  *survey
	linear bool
	// onePath leaves out the tool's own lines on other branches too, and moves of
	// the head: the tool sends whatever is in the file.
	onePath bool
	// from and to are whose transcript it is and becomes.
	from, to dialect.Name
	report   *Report

	// number counts the entries of the tree, and last is the latest one that
	// was chosen.
	number int
	last   firn.EntryID
	// left tells under what to hang the children of entries that were left.
	left map[firn.EntryID]firn.EntryID
	// next tells what was chosen after an entry that was left, for compactions
	// that keep from there; waiting are those after which nothing was yet.
	next    map[firn.EntryID]firn.EntryID
	waiting []firn.EntryID
	// tail is what was chosen since the first entry that a compaction to come
	// keeps.
	tail []Told
	// stale is set if the tail may be longer than is needed.
	stale bool
}

func newChoice(shape *survey, linear bool, from, to dialect.Name, report *Report) *choice {
	return &choice{
		shape: shape, linear: linear, from: from, to: to, report: report,
		left: make(map[firn.EntryID]firn.EntryID), next: make(map[firn.EntryID]firn.EntryID),
	}
}

// choose says whether the entry is to be told, and how; rehung is set if it has
// another parent than its line says.
func (c *choice) choose(t Told) (told Told, wanted, rehung bool) {
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
	if why := c.refuse(n, t.Entry); why != "" {
		c.leave(t.Entry, why)
		return t, false, false
	}
	t, rehung = c.hang(t)
	c.follow(t.Entry.ID)
	return t, true, rehung
}

// wrote keeps an entry as it was written, for a compaction to come.
func (c *choice) wrote(t Told) {
	if t.Entry.ID != "" && (c.shape.keptFrom(t.Entry.ID) || len(c.tail) > 0) {
		c.tail = append(c.tail, keep(t))
	}
}

// refuse gives the reason why the entry is not told, if any.
func (c *choice) refuse(n int, e firn.Entry) string {
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
		return OtherBranch // unless the tool's own lines say how it left that branch
	case c.onePath && e.Body.Kind() == firn.KindHead:
		return HeadMove
	}
	return ""
}

// leave notes where the children of an entry that is not told belong.
func (c *choice) leave(e firn.Entry, why string) {
	c.report.leave(why)
	c.report.told(e, c.from, nil)
	if c.linear && why == OtherBranch {
		return // its children are not told either
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

// hang puts the entry under one that is told, and a compaction's mark on one.
func (c *choice) hang(t Told) (told Told, rehung bool) {
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

// kept is the first entry that a compaction keeps and that is told.
func (c *choice) kept(b *firn.Compaction) firn.EntryID {
	if first, ok := c.next[b.FirstKept]; ok {
		return first
	}
	return b.FirstKept
}

// follow notes what came after those that were left.
func (c *choice) follow(id firn.EntryID) {
	for _, left := range c.waiting {
		c.next[left] = id
		c.shape.pass(left, id)
	}
	c.waiting = nil
	c.last = id
}

// trim forgets what no compaction to come keeps.
func (c *choice) trim() {
	if !c.stale {
		return
	}
	c.stale = false
	needed := slices.IndexFunc(c.tail, func(t Told) bool { return c.shape.keptFrom(t.Entry.ID) })
	if needed < 0 {
		c.tail = nil
		return
	}
	c.tail = slices.Clone(c.tail[needed:])
}

// told yields what was chosen since an entry; nothing if that is further back
// than any compaction keeps.
func (c *choice) told(since firn.EntryID) iter.Seq[Told] {
	return func(yield func(Told) bool) {
		start := slices.IndexFunc(c.tail, func(t Told) bool { return t.Entry.ID == since })
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
