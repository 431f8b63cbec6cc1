package claudecode

import (
	"strconv"

	"firn.dev"
)

// thread determines the parents of entries. Claude Code identifies a line's parent by uuid;
// entries for other lines are added in file order. A message therefore follows the last
// entry if only such lines lie between it and its parent, and otherwise starts a branch at
// its parent.
type thread struct {
	// tail is the last emitted entry, spoken the uuid of the last message on the path to
	// it.
	tail   firn.EntryID
	spoken string
	nodes  map[string]*node
	used   map[firn.EntryID]bool
}

// node holds the state of a uuid. The last line with the uuid counts.
type node struct {
	// entry is the entry of the line; first is the first kept entry of a compaction that
	// keeps from this line.
	entry, first firn.EntryID
	// spoken is the uuid of the message that it is or follows.
	spoken string
	// after, if set, is the message that children of this one follow instead: the last of
	// its reply, or the compaction that keeps it.
	after string
	reply *reply
	// up is the entry of the previous message and sum a hash of the content. Both serve to
	// detect repeated lines.
	up  firn.EntryID
	sum uint64
	// followed is set if another line refers to it as its parent.
	followed bool
}

func newThread() thread {
	return thread{nodes: make(map[string]*node), used: make(map[firn.EntryID]bool)}
}

func (t *thread) has(uuid string) bool { return uuid != "" && t.nodes[uuid] != nil }

// uniqueID returns an unused ID.
func (t *thread) uniqueID(name string) firn.EntryID {
	id := firn.EntryID(name)
	for n := 2; t.used[id]; n++ {
		id = firn.EntryID(name + "~" + strconv.Itoa(n))
	}
	t.used[id] = true
	return id
}

// messageBefore returns the uuid of the message that a line follows. If the parent is
// unknown or missing, it is the last message.
func (t *thread) messageBefore(l *line) string {
	if !l.hasParent {
		return t.spoken
	}
	if l.parent == "" {
		return ""
	}
	if n := t.nodes[l.parent]; n != nil {
		return t.continuation(n.spoken, t.nodes[l.uuid])
	}
	return t.spoken
}

// continuation returns the message that children of a message follow. old is the previous
// state of the line if it is repeated: within its own reply it keeps its place.
func (t *thread) continuation(uuid string, old *node) string {
	n := t.nodes[uuid]
	if n == nil || n.after == "" || old != nil && old.reply != nil && old.reply == n.reply {
		return uuid
	}
	return n.after
}

// markFollowed records that a line refers to another as its parent.
func (t *thread) markFollowed(parent string) {
	if n := t.nodes[parent]; n != nil {
		n.followed = true
	}
}

// parentFor returns the parent entry for children of a message.
func (t *thread) parentFor(spoken string) firn.EntryID {
	if spoken == t.spoken {
		return t.tail
	}
	return t.entryOf(spoken)
}

// entryOf returns the entry of a message, "" if there is none.
func (t *thread) entryOf(spoken string) firn.EntryID {
	if n := t.nodes[spoken]; n != nil {
		return n.entry
	}
	return ""
}

// alias registers a line that is not a message as standing for the message it follows.
func (t *thread) alias(l *line, id firn.EntryID) {
	if l.uuid != "" {
		t.nodes[l.uuid] = &node{entry: id, first: id, spoken: t.spokenBefore(l)}
	}
}

// spokenBefore returns the message before a line that is not a message.
func (t *thread) spokenBefore(l *line) string {
	if n := t.nodes[l.parent]; l.hasParent && n != nil {
		return n.spoken
	}
	return t.messageBefore(l)
}

// keepOriginal makes a compaction that keeps from a copy keep from the original.
func (t *thread) keepOriginal(uuid, original string) {
	if n := t.nodes[original]; n != nil && uuid != "" {
		t.nodes[uuid].first = n.first
	}
}

// isTip reports whether a uuid is the end of a branch other than the current one.
func (t *thread) isTip(uuid string) bool {
	n := t.nodes[uuid]
	return n != nil && t.continuation(n.spoken, nil) != t.spoken && !n.followed
}

// move makes a message the last one and returns its entry.
func (t *thread) move(uuid string) firn.EntryID {
	t.spoken = t.continuation(t.nodes[uuid].spoken, nil)
	return t.entryOf(t.spoken)
}
