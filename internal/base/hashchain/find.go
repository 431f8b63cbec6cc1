package hashchain

import "slices"

// MaxUnlinked is the number of bytes without links, written by other programs, that an
// append reads in order to continue the chain. After more of them, the lines that follow
// are not linked.
const MaxUnlinked = 1 << 20

// Finder finds the state at the end of a session by reading its lines backward, up to the
// latest link.
type Finder struct {
	marks []Mark
	bytes int
	state State
	phase phase
}

// phase is how far a search is.
type phase int

const (
	searching phase = iota // no link was found so far
	found                  // a link was found
	unknown                // the chain cannot be continued
)

// Add adds the line before those that were added, and reports whether the search continues.
func (f *Finder) Add(line []byte) bool {
	if state, ok := LinkOf(line); ok {
		f.state, f.phase = state, found
		return false
	}
	if f.bytes += len(line); f.bytes > MaxUnlinked {
		f.phase = unknown
		return false
	}
	if !Blank(line) {
		f.marks = append(f.marks, MarkOf(line))
	}
	return true
}

// Unreadable notes that the line before those that were added cannot be read, which ends the
// search.
func (f *Finder) Unreadable() { f.phase = unknown }

// State returns the state at the end of a session, and false if the chain cannot be
// continued.
func (f *Finder) State(session string) (State, bool) {
	state := f.state
	if f.phase == searching { // no line has a link
		state = Start(session)
	}
	for _, mark := range slices.Backward(f.marks) {
		state = state.With(mark)
	}
	return state, f.phase != unknown
}
