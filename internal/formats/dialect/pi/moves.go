package pi

import "firn.dev"

// moves maps lines that are not in the file, or no longer on its path, to their
// replacements.
type moves struct {
	// copies maps lines to their copies.
	copies map[firn.EntryID]firn.EntryID
	// parents maps lines without a copy to the line that their children follow; next maps
	// them to the first line copied after them.
	parents, next map[firn.EntryID]firn.EntryID
}

func newMoves() moves {
	return moves{
		copies:  make(map[firn.EntryID]firn.EntryID),
		parents: make(map[firn.EntryID]firn.EntryID),
		next:    make(map[firn.EntryID]firn.EntryID),
	}
}

// copy records that a line was copied.
func (m moves) copy(old, now firn.EntryID) {
	m.forget(old)
	if old != now {
		m.copies[old] = now
	}
}

// detach records that a line is not on the path, and the new parent of its children.
func (m moves) detach(old, parent firn.EntryID) {
	m.forget(old)
	if old != parent {
		m.parents[old] = parent
	}
}

// forget records that a line is on the path again.
func (m moves) forget(id firn.EntryID) {
	delete(m.copies, id)
	delete(m.parents, id)
	delete(m.next, id)
}

// current returns the latest copy of a line.
func (m moves) current(id firn.EntryID) firn.EntryID {
	for range len(m.copies) {
		next, ok := m.copies[id]
		if !ok {
			break
		}
		id = next
	}
	return id
}

// parentFor returns the line that an entry with this parent follows.
func (m moves) parentFor(parent firn.EntryID) firn.EntryID {
	for range len(m.copies) + len(m.parents) {
		up, ok := m.parents[m.current(parent)]
		if !ok {
			break
		}
		parent = up
	}
	return m.current(parent)
}

// firstKept returns the first kept line: the line itself or, if it is not on the path, the
// next one copied.
func (m moves) firstKept(id firn.EntryID) firn.EntryID {
	for range len(m.copies) + len(m.next) {
		next, ok := m.next[m.current(id)]
		if !ok {
			break
		}
		id = next
	}
	return m.parentFor(id)
}
