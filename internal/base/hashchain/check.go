package hashchain

// Checker checks the lines of a session from the first to the last. The zero value is not
// ready: use [NewChecker].
type Checker struct {
	// Linked and Unlinked count the lines with and without a link. Erased and Redacted count
	// those that have the hash of an original instead.
	Linked, Unlinked, Erased, Redacted int
	// Whole is set by the caller if the lines are those of a store: a redacted line is then a
	// fault, since only copies that are shared have such lines.
	Whole bool
	// First is the first line whose link does not fit, counted from 1; 0 if all links fit.
	First int
	// Unproven counts the links that do not fit because a line before them was erased without
	// leaving a hash.
	Unproven int
	// Broken counts the other lines whose links do not fit.
	Broken int

	state State
	lines int
	// blind is set while the state is unknown, after a line that was not read.
	blind bool
	// gone is set after an erased line without hash, up to the next link.
	gone bool
	// loose counts the lines without link after the latest fitting one.
	loose   int
	skipped int // lines that were not read
	// wanted are the states to be reached, with the line after which each was.
	wanted map[State]int
}

// NewChecker returns a checker for a session. Of wanted, it records which states occur.
func NewChecker(session string, wanted ...State) *Checker {
	c := &Checker{state: Start(session)}
	if len(wanted) > 0 {
		c.wanted = make(map[State]int, len(wanted))
		for _, s := range wanted {
			c.wanted[s] = 0
		}
	}
	return c
}

// Add checks the next line, without its newline, and reports whether its link fits. A line
// without link fits until a later link shows that it was not there.
func (c *Checker) Add(line []byte) bool {
	c.lines++
	if Blank(line) {
		return true
	}
	c.state = c.state.With(MarkOf(line))
	recorded, linked := LinkOf(line)
	fits := true
	switch _, kept := KeptSum(line); {
	case linked:
		c.Linked++
		switch fits = c.blind || recorded == c.state; {
		case !fits && c.gone:
			fits = true
			c.Unproven++
		case !fits:
			c.broken()
		}
		c.state = recorded // so that the lines after it are checked against it
		c.loose, c.blind, c.gone = 0, false, false
	case kept && IsErased(line):
		c.Erased++
	case kept:
		c.Redacted++
		if fits = !c.Whole; !fits {
			c.broken()
		}
	default:
		c.Unlinked++
		c.loose++
		c.gone = c.gone || IsErased(line)
	}
	if _, ok := c.wanted[c.state]; ok && c.First == 0 && c.skipped == 0 && c.Unproven == 0 {
		c.wanted[c.state] = c.lines
	}
	return fits
}

// Skip notes a line that was not read. The lines up to the next link cannot be checked.
func (c *Checker) Skip() {
	c.lines++
	c.skipped++
	c.blind = true
}

func (c *Checker) broken() {
	c.Broken++
	if c.First == 0 {
		c.First = c.lines
	}
}

// State returns the state after the lines added so far.
func (c *Checker) State() State { return c.state }

// Lines returns the number of lines added so far.
func (c *Checker) Lines() int { return c.lines }

// Loose returns the number of lines at the end that no link covers.
func (c *Checker) Loose() int { return c.loose }

// Reached reports whether a wanted state occurred before any fault: everything up to that
// state is as it was when the state was recorded, except for erased lines.
func (c *Checker) Reached(s State) bool { return c.wanted[s] > 0 }
