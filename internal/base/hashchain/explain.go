package hashchain

import "slices"

// Line is what is needed of a line to explain a fault.
type Line struct {
	// Data is the line without its newline; it is not retained.
	Data []byte
	// ID and Parent are those of the line's entry, if it has any.
	ID, Parent string
}

// Kind is the kind of a fault.
type Kind string

// The kinds of faults.
const (
	// Changed means that this line, or a line without link before it, was changed.
	Changed Kind = "changed"
	// Removed means that lines before this one are missing.
	Removed Kind = "removed"
	// Inserted is a line that was not there.
	Inserted Kind = "inserted"
	// Reordered is a line in another place than before.
	Reordered Kind = "reordered"
	// Swapped is the line of another session.
	Swapped Kind = "swapped"
	// Altered is a line with the hash of its original, as in copies that are shared with
	// parts left out, in a store that has the originals.
	Altered Kind = "altered"
	// Unproven means that an erased line left no hash, so that the lines up to this one
	// cannot be checked.
	Unproven Kind = "unproven"
)

// Fault is the first place at which a session differs from what its links say.
type Fault struct {
	Kind Kind
	// From and To are the affected lines, counted from 1.
	From, To int
}

// item is a line in short.
type item struct {
	mark       Mark
	link       State
	linked     bool
	gone       bool // erased, without a hash
	redacted   bool // it has the hash of an original instead of a link
	unsure     bool // lines between it and the link before it were not read
	id, parent string
}

// fits reports whether the line's link fits after a state.
func (i *item) fits(s State) bool { return i.linked && s.With(i.mark) == i.link }

// Explainer finds out what happened to a session with a fault. It keeps about a hundred
// bytes for every line.
type Explainer struct {
	session string
	items   []item
	numbers []int // the number of each item's line
	lines   int
	skip    bool
}

// NewExplainer returns an explainer for a session.
func NewExplainer(session string) *Explainer { return &Explainer{session: session} }

// Add adds the next line.
func (x *Explainer) Add(l Line) {
	x.lines++
	if Blank(l.Data) {
		return
	}
	i := item{mark: MarkOf(l.Data), id: l.ID, parent: l.Parent}
	i.link, i.linked = LinkOf(l.Data)
	_, kept := KeptSum(l.Data)
	i.gone, i.unsure = IsErased(l.Data) && !kept, x.skip
	i.redacted = kept && !IsErased(l.Data)
	x.skip = x.skip && !i.linked
	x.items = append(x.items, i)
	x.numbers = append(x.numbers, x.lines)
}

// Skip adds a line that was not read; the one after it cannot be checked.
func (x *Explainer) Skip() {
	x.lines++
	x.skip = true
}

// maxExplained is the number of faults that are explained by comparing lines. Further ones
// are changes.
const maxExplained = 20

// Faults returns the faults in the order of the lines. owner is the session in the header of
// the lines; whole is as in [Checker.Whole].
func (x *Explainer) Faults(owner string, whole bool) []Fault {
	var faults []Fault
	states := []State{Start(x.session)} // states[i] is the one before item i
	fitting := 0                        // the item after the latest one whose link fits
	for i := range x.items {
		it := &x.items[i]
		next := states[i].With(it.mark)
		switch broken := it.linked && it.link != next && !it.unsure; {
		case whole && it.redacted:
			faults = append(faults, x.fault(Altered, i, i))
		case broken && len(faults) < maxExplained:
			faults = append(faults, x.explain(states, fitting, owner))
		case broken:
			faults = append(faults, x.fault(Changed, i, i))
		}
		if it.linked {
			fitting, next = i+1, it.link
		}
		states = append(states, next)
	}
	return faults
}

// explain explains the fault of the last item that has a state.
func (x *Explainer) explain(states []State, fitting int, owner string) Fault {
	at := len(states) - 1
	it := &x.items[at]
	known := slices.IndexFunc(states[:at], it.fits) // the line fits after item known-1
	next := x.lead(states[at], at)
	switch {
	case known >= 0 && next == 0:
		return x.fault(Inserted, known, at-1)
	case next > 0 && known < 0 && x.follows(it):
		return x.fault(Reordered, at, next)
	case next > 0:
		return x.fault(Inserted, at, next-1)
	}
	switch {
	case owner != x.session && it.fits(Start(owner)):
		return x.fault(Swapped, at, at)
	case x.erasedBefore(fitting, at):
		return x.fault(Unproven, fitting, at)
	case it.parent != "" && !x.hasBefore(it.parent, at):
		return x.fault(Removed, at, at)
	}
	return x.fault(Changed, fitting, at)
}

func (x *Explainer) fault(kind Kind, from, to int) Fault {
	return Fault{Kind: kind, From: x.numbers[from], To: x.numbers[to]}
}

// lead returns the first item after at whose link fits after a state; 0 if there is none.
func (x *Explainer) lead(s State, at int) int {
	for j := at + 1; j < len(x.items); j++ {
		if x.items[j].fits(s) {
			return j
		}
	}
	return 0
}

// follows reports whether an item's link fits after the link of another one.
func (x *Explainer) follows(it *item) bool {
	for i := range x.items {
		if x.items[i].linked && it.fits(x.items[i].link) {
			return true
		}
	}
	return false
}

// erasedBefore reports whether an erased line without hash is among some items.
func (x *Explainer) erasedBefore(from, to int) bool {
	for i := from; i < to; i++ {
		if x.items[i].gone {
			return true
		}
	}
	return false
}

// hasBefore reports whether an entry is among the first n items.
func (x *Explainer) hasBefore(id string, n int) bool {
	for i := range n {
		if x.items[i].id == id {
			return true
		}
	}
	return false
}
