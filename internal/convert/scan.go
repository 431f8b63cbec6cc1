package convert

import (
	"bytes"
	"fmt"
	"iter"
	"time"

	"firn"
	"firn/dialect"
	"firn/internal/rawjson"
)

// Told is an entry and the lines that say it.
type Told = dialect.Told

// reading turns the lines of a transcript into entries, and counts.
type reading struct {
	tool    dialect.Tool
	origin  dialect.Origin
	source  iter.Seq2[[]byte, error]
	report  *Report
	number  int64
	scanner dialect.Scanner
	// begun is set once there is an entry; last is the last one, and time when
	// it was written. If there is a gap, before is the one before it.
	begun, gap   bool
	last, before firn.EntryID
	time         time.Time
	// held are lines that made no entry yet; lines is room for those of one.
	held, lines [][]byte
}

// all yields what the transcript tells, in file order. What is told is valid
// until the next step.
func (r *reading) all(yield func(Told, error) bool) {
	r.scanner = r.tool.Scanner(r.origin)
	for line, err := range r.source {
		if err != nil {
			yield(Told{}, err)
			return
		}
		r.number++
		r.report.BytesRead += int64(len(line)) + 1
		if !r.line(line, yield) {
			return
		}
	}
	r.tell(r.scanner.Finish(), r.held, yield)
}

// line reads a line, or what is whole of it.
func (r *reading) line(line []byte, yield func(Told, error) bool) bool {
	if rawjson.IsBlank(line) {
		return true
	}
	r.report.Lines++
	if ok, more := r.object(line, yield); ok {
		return more
	}
	for _, piece := range rawjson.Split(line) {
		ok, more := false, true
		if piece.Kind == rawjson.Whole {
			ok, more = r.object(piece.Bytes, yield)
		}
		if !ok {
			more = r.damage(piece, yield)
		}
		if !more {
			return false
		}
	}
	return true
}

// damage names a piece that cannot be read, and carries it: an entry that says
// nothing and has the bytes, after the entry before it.
func (r *reading) damage(p rawjson.Piece, yield func(Told, error) bool) bool {
	if p.Kind == rawjson.BOM {
		return true
	}
	r.report.Damaged++
	if len(r.report.Faults) < maxFaults {
		detail := p.Detail
		if p.Kind == rawjson.Whole {
			detail = "it is no line of the tool"
		}
		r.report.Faults = append(r.report.Faults, fmt.Sprintf("line %d: %s: %s", r.number, p.Kind, detail))
	}
	if !r.begun { // the first entry that can be read carries it
		r.held = append(r.held, bytes.Clone(p.Bytes))
		return true
	}
	e := firn.Entry{
		ID: firn.EntryID(fmt.Sprintf("damaged-%d-%d", r.number, p.Offset)), Parent: r.last, Time: r.time,
		Body: &firn.Custom{Type: dialect.LineType(r.tool.Name(), "damaged")},
	}
	if !r.gap {
		r.before, r.gap = r.last, true
	}
	r.last = e.ID
	r.lines = append(append(r.lines[:0], r.held...), p.Bytes)
	r.held = nil
	return yield(Told{Entry: e, Lines: r.lines}, nil)
}

// object reads one JSON object, and reports whether it is one and whether more
// is wanted. The last of the entries it makes has the lines that were read since
// the one before it; the others go with it. So lines that only make sense with
// later ones are kept in the order they stood in.
func (r *reading) object(line []byte, yield func(Told, error) bool) (ok, more bool) {
	entries, err := r.scanner.Scan(line)
	if err != nil {
		return false, true
	}
	if len(entries) == 0 {
		r.held = append(r.held, bytes.Clone(line))
		return true, true
	}
	r.lines = append(append(r.lines[:0], r.held...), line)
	return true, r.tell(entries, r.lines, yield)
}

// tell yields entries and the lines that say them together.
func (r *reading) tell(entries []firn.Entry, lines [][]byte, yield func(Told, error) bool) bool {
	r.held = nil
	for i, e := range entries {
		r.begun = true
		if e.ID != "" {
			if r.gap && e.Parent == r.before {
				e.Parent = r.last // behind what could not be read
			}
			r.gap, r.last, r.time = false, e.ID, e.Time
		}
		told := Told{Entry: e}
		if i == len(entries)-1 {
			told.Lines = lines
		}
		if !yield(told, nil) {
			return false
		}
	}
	return true
}

// glances reads what the tree must know of each line.
func glances(g Glancer, lines iter.Seq2[[]byte, error]) iter.Seq2[firn.Glance, error] {
	return func(yield func(firn.Glance, error) bool) {
		for line, err := range lines {
			if err != nil {
				yield(firn.Glance{}, err)
				return
			}
			if rawjson.IsBlank(line) {
				continue
			}
			if glance, err := g.Glance(line); !yield(glance, err) {
				return
			}
		}
	}
}
