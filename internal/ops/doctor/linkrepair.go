package doctor

import (
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// standInType is the type of the custom entry that replaces a lost one.
const standInType = "firn.repair"

// remedy is a set of entries to append to a session so that programs that follow parent IDs
// find the way from its head to its root.
type remedy struct {
	entries []firn.Entry
	steps   []Step
	// repaired are the nodes whose faults the remedy repairs.
	repaired map[int]bool
}

// planLinkRepair returns the remedy for the links of a session. It has no side effects: the
// same tree gives the same remedy, except for the IDs and times of its entries.
//
// For a lost parent, a stand-in with its ID is appended as a child of the entry before the
// orphan in the file, and the head is restored. No entry leaves the branch. Only if the
// path from the head is a cycle is the head moved to the last entry with a path to a root.
func planLinkRepair(session firn.ID, tree *firn.Tree, now time.Time) remedy {
	m := linkRepairer{session: session, tree: tree, links: newLinks(tree), now: now}
	m.appendPlaceholders()
	m.moveHead()
	return m.remedy
}

type linkRepairer struct {
	session firn.ID
	tree    *firn.Tree
	links   *links
	now     time.Time
	remedy
}

// loss is a lost entry that gets a stand-in.
type loss struct {
	id      firn.EntryID
	orphans []int
	entry   firn.Entry
	// above is the parent node of the stand-in, or root.
	above int
}

// appendPlaceholders appends an entry for each lost parent.
func (m *linkRepairer) appendPlaceholders() {
	losses := m.losses()
	if len(losses) == 0 {
		return
	}
	// Try it first: the stand-ins must not create a cycle.
	n := m.tree.Len()
	tried := &links{up: slices.Clone(m.links.up), fate: make([]fate, n+len(losses))}
	for i, l := range losses {
		for _, orphan := range l.orphans {
			tried.up[orphan] = n + i
		}
	}
	for _, l := range losses {
		tried.up = append(tried.up, l.above)
	}
	tried.judge()
	m.repaired = make(map[int]bool)
	for i, l := range losses {
		if f := tried.fate[n+i]; f != circling && f != inCircle {
			m.accept(l)
			for _, orphan := range l.orphans {
				m.links.up[orphan] = l.above // has the same fate
			}
		}
	}
	m.links.judge()
}

// losses returns the lost parents whose IDs a stand-in can have.
func (m *linkRepairer) losses() []loss {
	var all []loss
	at := make(map[firn.EntryID]int)
	for n, up := range m.links.up {
		if up != lost {
			continue
		}
		id := m.tree.Node(n).Parent
		i, known := at[id]
		if !known {
			i = len(all)
			at[id] = i
			all = append(all, m.newLoss(id, n))
		}
		all[i].orphans = append(all[i].orphans, n)
	}
	return slices.DeleteFunc(all, func(l loss) bool { return !m.fits(l.entry) })
}

func (m *linkRepairer) newLoss(id firn.EntryID, orphan int) loss {
	l := loss{id: id, above: root}
	parent := firn.Root
	if orphan > 0 {
		parent = m.tree.Node(orphan - 1).ID
		l.above = m.tree.Find(parent)
	}
	l.entry = firn.NewEntry(&firn.Custom{Type: standInType, Data: []byte(`{"reason":"the entry with this id was lost; this one stands in its place, so that those behind it stay connected"}`)})
	l.entry.ID, l.entry.Parent = id, parent
	return l
}

// fits reports whether a store would accept the entry.
func (m *linkRepairer) fits(e firn.Entry) bool {
	_, err := prepare(m.session, m.tree, m.now, []firn.Entry{e})
	return err == nil
}

// prepare prepares entries for writing at the end of the session.
func prepare(session firn.ID, tree *firn.Tree, now time.Time, entries []firn.Entry) ([]firn.Entry, error) {
	tail := store.Tail{Session: session, Head: tree.Node(tree.Head()).ID, Use: func(id firn.EntryID) (store.Use, error) {
		if tree.Find(id) >= 0 {
			return store.InUse, nil
		}
		return store.Late, nil // a stand-in has the ID of an earlier entry
	}}
	return store.Prepare(tail, now, entries, func(id firn.EntryID) (bool, error) { return tree.Find(id) >= 0, nil })
}

func (m *linkRepairer) accept(l loss) {
	m.entries = append(m.entries, l.entry)
	for _, n := range l.orphans {
		m.repaired[n] = true
	}
	where := "as a root"
	if l.entry.Parent != firn.Root {
		where = "under " + string(l.entry.Parent)
	}
	m.steps = append(m.steps, Step{
		Action:  ActPlaceholder,
		Message: fmt.Sprintf("append a placeholder for the lost entry %s, %s, to reconnect %s", l.id, where, plural(len(l.orphans), "orphan")),
	})
}

// moveHead appends an entry that sets the head of the session.
func (m *linkRepairer) moveHead() {
	head := m.tree.Head()
	if head < 0 {
		return
	}
	if f := m.links.fate[head]; f == circling || f == inCircle {
		m.leaveCircle(head)
		return
	}
	if len(m.entries) > 0 { // the stand-ins must not become the head
		id := m.tree.Node(head).ID
		m.head(id, fmt.Sprintf("append a head entry after %s, so that the session continues where it did", id))
	}
}

// leaveCircle moves the head to the last entry with a path to a root.
func (m *linkRepairer) leaveCircle(head int) {
	for n := head - 1; n >= 0; n-- {
		id := m.tree.Node(n).ID
		if m.links.fate[n] != rooted || m.tree.Find(id) != n {
			continue
		}
		m.head(id, fmt.Sprintf("append a head entry after %s: the parents of the present head form a cycle; %s after it stay in the file, on their own branch", id, plural(head-n, "entry")))
		if m.repaired == nil {
			m.repaired = make(map[int]bool)
		}
		for n := range m.links.reaches(head) {
			m.repaired[n] = true
		}
		return
	}
}

func (m *linkRepairer) head(parent firn.EntryID, message string) {
	e := firn.NewEntry(&firn.Head{Reason: "repair: parents of the branch were lost or led in a circle"})
	e.Parent = parent
	m.entries = append(m.entries, e)
	m.steps = append(m.steps, Step{Action: ActMoveHead, Message: message})
}
