package claudecode

import (
	"strconv"

	"firn.dev"
)

// thread says where entries hang. Claude Code names a line's parent by uuid;
// the entries that carry other lines stand in the chain as they came. So a
// message follows the last entry if there is nothing but such lines between it
// and its parent, and otherwise it begins a branch at its parent.
type thread struct {
	// tail is the entry that was handed out last, spoken the uuid of the latest
	// message up from there.
	tail   firn.EntryID
	spoken string
	nodes  map[string]*node
	used   map[firn.EntryID]bool
}

// node is what is known of a uuid. The last line that has it counts.
type node struct {
	// entry says it, and first is where a compaction that keeps from here
	// begins to.
	entry, first firn.EntryID
	// spoken is the uuid of the message that it is or follows.
	spoken string
	// after is the message that what names this one as its parent follows, if
	// it is another: the last of the reply that it is part of, or the
	// compaction that keeps it.
	after string
	reply *reply
	// up is the entry of the message before it, and sum what it says, both to
	// tell a line that says something new from one that repeats another.
	up  firn.EntryID
	sum uint64
	// followed is set if another line names it as its parent.
	followed bool
}

func newThread() thread {
	return thread{nodes: make(map[string]*node), used: make(map[firn.EntryID]bool)}
}

func (t *thread) has(uuid string) bool { return uuid != "" && t.nodes[uuid] != nil }

// fresh returns an id that no entry has yet.
func (t *thread) fresh(name string) firn.EntryID {
	id := firn.EntryID(name)
	for n := 2; t.used[id]; n++ {
		id = firn.EntryID(name + "~" + strconv.Itoa(n))
	}
	t.used[id] = true
	return id
}

// before is the uuid of the message that a line follows. A parent that is not
// known is taken to be the last message, and so is one that is not told.
func (t *thread) before(l *line) string {
	if !l.hasParent {
		return t.spoken
	}
	if l.parent == "" {
		return ""
	}
	if n := t.nodes[l.parent]; n != nil {
		return t.behind(n.spoken, t.nodes[l.uuid])
	}
	return t.spoken
}

// behind is the message that what names one as its parent follows. Old is what
// was known of the line before, if it comes again: within its reply it has a
// place of its own.
func (t *thread) behind(uuid string, old *node) string {
	n := t.nodes[uuid]
	if n == nil || n.after == "" || old != nil && old.reply != nil && old.reply == n.reply {
		return uuid
	}
	return n.after
}

// name notes that a line names another as its parent.
func (t *thread) name(parent string) {
	if n := t.nodes[parent]; n != nil {
		n.followed = true
	}
}

// under is the entry that what follows a message hangs under.
func (t *thread) under(spoken string) firn.EntryID {
	if spoken == t.spoken {
		return t.tail
	}
	return t.entryOf(spoken)
}

// entryOf is the entry of a message; none if there is none.
func (t *thread) entryOf(spoken string) firn.EntryID {
	if n := t.nodes[spoken]; n != nil {
		return n.entry
	}
	return ""
}

// alias makes a line that is no message stand for the message it follows.
func (t *thread) alias(l *line, id firn.EntryID) {
	if l.uuid != "" {
		t.nodes[l.uuid] = &node{entry: id, first: id, spoken: t.spokenBefore(l)}
	}
}

// spokenBefore is the message up from a line that is none.
func (t *thread) spokenBefore(l *line) string {
	if n := t.nodes[l.parent]; l.hasParent && n != nil {
		return n.spoken
	}
	return t.before(l)
}

// stands makes a compaction that keeps from a copy keep from what was copied.
func (t *thread) stands(uuid, original string) {
	if n := t.nodes[original]; n != nil && uuid != "" {
		t.nodes[uuid].first = n.first
	}
}

// isTip reports whether a uuid is the end of another branch than the last one.
func (t *thread) isTip(uuid string) bool {
	n := t.nodes[uuid]
	return n != nil && t.behind(n.spoken, nil) != t.spoken && !n.followed
}

// move makes a message the last one and returns its entry.
func (t *thread) move(uuid string) firn.EntryID {
	t.spoken = t.behind(t.nodes[uuid].spoken, nil)
	return t.entryOf(t.spoken)
}
