package pi

import "firn.dev"

// moves tells, of lines that are not in the file or not on its path any more,
// what to name in their stead.
type moves struct {
	// copies are lines that were said again.
	copies map[firn.EntryID]firn.EntryID
	// steads tells of lines that were not where to hang what follows them, and
	// next what was said after them.
	steads, next map[firn.EntryID]firn.EntryID
}

func newMoves() moves {
	return moves{
		copies: make(map[firn.EntryID]firn.EntryID),
		steads: make(map[firn.EntryID]firn.EntryID),
		next:   make(map[firn.EntryID]firn.EntryID),
	}
}

// copy notes that a line was said again.
func (m moves) copy(old, now firn.EntryID) {
	m.forget(old)
	if old != now {
		m.copies[old] = now
	}
}

// leave notes that a line is not on the path, and where what follows it hangs.
func (m moves) leave(old, parent firn.EntryID) {
	m.forget(old)
	if old != parent {
		m.steads[old] = parent
	}
}

// forget notes that a line is on the path, after all.
func (m moves) forget(id firn.EntryID) {
	delete(m.copies, id)
	delete(m.steads, id)
	delete(m.next, id)
}

// now is the latest copy of a line.
func (m moves) now(id firn.EntryID) firn.EntryID {
	for range len(m.copies) {
		next, ok := m.copies[id]
		if !ok {
			break
		}
		id = next
	}
	return id
}

// under is the line that an entry with this parent hangs under.
func (m moves) under(parent firn.EntryID) firn.EntryID {
	for range len(m.copies) + len(m.steads) {
		up, ok := m.steads[m.now(parent)]
		if !ok {
			break
		}
		parent = up
	}
	return m.now(parent)
}

// kept is the line that is meant by the first one that something keeps: what
// was said after it if it is not on the path.
func (m moves) kept(id firn.EntryID) firn.EntryID {
	for range len(m.copies) + len(m.next) {
		next, ok := m.next[m.now(id)]
		if !ok {
			break
		}
		id = next
	}
	return m.under(id)
}
