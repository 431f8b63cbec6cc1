package chain

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
)

// Kind is a kind of difference between a journal and its chain.
type Kind string

const (
	// Changed means that a line has other bytes than it had.
	Changed Kind = "changed"
	// Erased means that the entry of a line was purged. It is not tampering.
	Erased Kind = "erased"
	// Removed means that lines are missing, Inserted that there are lines that were not
	// there, and Moved that a line was elsewhere.
	Removed  Kind = "removed"
	Inserted Kind = "inserted"
	Moved    Kind = "moved"
	// Cut means that the journal ends before the chain does.
	Cut Kind = "cut"
	// Replaced means that nothing matches from a line on.
	Replaced Kind = "replaced"
	// OtherSession means that the chain belongs to another session.
	OtherSession Kind = "other session"
)

// Difference is a difference between a journal and its chain. Lines is the number of lines
// it concerns, At the position of the first of them.
type Difference struct {
	Kind  Kind
	At    firn.Pos
	Lines int
	// Session is the session of the chain if it is another one.
	Session firn.ID
}

// ahead is the number of lines and records within which a check finds the place where the
// two match again.
const ahead = 32

// Check compares the lines of a journal with its chain. Lines are passed one by one, in
// order; a line may wait until later ones are known.
type Check struct {
	file   *file
	hasher *hasher
	report func(Difference)
	// next is the number of the next record, before the sum in front of it.
	next   int64
	before Sum
	// waiting are lines that do not match.
	waiting []journal.Line
	// removed are the numbers of records whose lines were not found, in order.
	removed []int64
	// lost is set if nothing matches any more.
	lost bool
	err  error
}

// NewCheck returns a check of the journal of a session. It returns nil if it has no chain.
func NewCheck(source journal.Source, id firn.ID, report func(Difference)) (*Check, error) {
	f, err := source.FS.Open(Path(source.Path), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := open(f)
	if err != nil {
		err = errors.Join(err, f.Close())
		if errors.Is(err, errNoChain) {
			return nil, nil
		}
		return nil, err
	}
	check := &Check{file: c, hasher: newHasher(source), report: report, before: Start(c.session)}
	if c.session != id {
		report(Difference{Kind: OtherSession, Session: c.session})
		check.lost = true
	}
	return check, nil
}

// Line compares the next line.
func (c *Check) Line(line journal.Line) {
	if c.err != nil || c.lost || line.Unfinished || c.next >= c.file.count && len(c.waiting) == 0 {
		return
	}
	if len(c.waiting) == 0 && c.matches(line, c.next) {
		c.accept(c.next)
		return
	}
	line.Data = bytes.Clone(line.Data)
	if c.waiting = append(c.waiting, line); len(c.waiting) >= ahead {
		c.align()
	}
}

// Close finishes the check after the last line. It returns an error if the chain could not
// be read.
func (c *Check) Close() error {
	for c.err == nil && !c.lost && len(c.waiting) > 0 {
		c.align()
	}
	c.reportRemoved()
	if c.err == nil && !c.lost && c.next < c.file.count {
		c.difference(Cut, c.endOf(c.next-1), int(c.file.count-c.next))
	}
	return errors.Join(c.err, c.file.file.Close())
}

// matches reports whether a line is the one of a record.
func (c *Check) matches(line journal.Line, n int64) bool {
	if n >= c.file.count || c.err != nil {
		return false
	}
	before := c.before
	if n != c.next {
		before = c.sum(n - 1)
	}
	sum, err := c.hasher.after(before, line)
	if c.err = errors.Join(c.err, err); c.err != nil {
		return false
	}
	return sum == c.sum(n)
}

// sum returns the sum of a record.
func (c *Check) sum(n int64) Sum {
	if n < 0 {
		return Start(c.file.session)
	}
	l, _, err := c.file.link(n)
	c.err = errors.Join(c.err, err)
	return l.Sum
}

// endOf returns the position after the line of a record.
func (c *Check) endOf(n int64) firn.Pos {
	if n < 0 {
		return 0
	}
	l, _, err := c.file.link(n)
	c.err = errors.Join(c.err, err)
	return l.End
}

// accept continues after a record.
func (c *Check) accept(n int64) { c.before, c.next = c.sum(n), n+1 }

func (c *Check) difference(kind Kind, at firn.Pos, lines int) {
	if lines > 0 {
		c.report(Difference{Kind: kind, At: at, Lines: lines})
	}
}

// align finds the first waiting line that matches a record again, and reports what is
// before it.
func (c *Check) align() {
	for k, line := range c.waiting {
		for n := c.next; n < min(c.next+ahead, c.file.count); n++ {
			if c.matches(line, n) {
				c.between(k, n)
				c.accept(n)
				c.resume(c.waiting[k+1:])
				return
			}
		}
	}
	if c.err != nil {
		return
	}
	if left := c.file.count - c.next; left < ahead { // what follows the last record is not recorded yet
		n := min(left, int64(len(c.waiting)))
		c.between(int(n), c.next+n)
		c.before, c.next, c.waiting = c.sum(c.next+n-1), c.next+n, nil
		return
	}
	c.report(Difference{Kind: Replaced, At: c.waiting[0].Start, Lines: int(c.file.count - c.next)})
	c.lost = true
}

// resume passes lines again that waited.
func (c *Check) resume(lines []journal.Line) {
	c.waiting = nil
	for i, line := range lines {
		if c.next >= c.file.count {
			return
		}
		if !c.matches(line, c.next) {
			c.waiting = append(c.waiting, lines[i:]...)
			return
		}
		c.accept(c.next)
	}
}

// between reports the first waiting lines, which stand in the place of the records before
// n.
func (c *Check) between(lines int, n int64) {
	same := min(lines, int(n-c.next))
	for i, line := range c.waiting[:lines] {
		if i < same {
			c.changed(line, c.next+int64(i))
		} else {
			c.inserted(line)
		}
	}
	for gone := c.next + int64(same); gone < n; gone++ {
		c.removed = append(c.removed, gone)
	}
}

// changed reports a line that has other bytes. A purged entry leaves a line of the same
// length.
func (c *Check) changed(line journal.Line, n int64) {
	kind := Changed
	if line.Next == c.endOf(n) && isErased(line) {
		kind = Erased
	}
	c.difference(kind, line.Start, 1)
}

// isErased reports whether a line is what a purge leaves of an entry: its ID, or blanks if
// it was very short.
func isErased(line journal.Line) bool {
	return line.Gap == "" && len(line.Data) > 0 &&
		(bytes.HasPrefix(line.Data, []byte(`{"type":"erased"`)) || len(bytes.TrimSpace(line.Data)) == 0)
}

// inserted reports a line that has no record, or that of a line that was removed before.
func (c *Check) inserted(line journal.Line) {
	for i := max(0, len(c.removed)-ahead); i < len(c.removed); i++ {
		n := c.removed[i]
		if sum, err := c.hasher.after(c.sum(n-1), line); err == nil && sum == c.sum(n) {
			c.removed = slices.Delete(c.removed, i, i+1)
			c.difference(Moved, line.Start, 1)
			return
		}
	}
	c.difference(Inserted, line.Start, 1)
}

// reportRemoved reports the records whose lines were not found anywhere.
func (c *Check) reportRemoved() {
	for i := 0; i < len(c.removed); {
		n := 1
		for i+n < len(c.removed) && c.removed[i+n] == c.removed[i]+int64(n) {
			n++
		}
		c.difference(Removed, c.endOf(c.removed[i]-1), n)
		i += n
	}
}
