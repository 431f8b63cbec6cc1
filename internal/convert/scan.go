package convert

import (
	"bytes"
	"fmt"
	"iter"

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
		if piece.Kind != rawjson.Whole {
			r.damage(piece)
			continue
		}
		ok, more := r.object(piece.Bytes, yield)
		if !ok {
			r.damage(rawjson.Piece{Kind: rawjson.Damaged, Detail: "it cannot be read"})
		}
		if !more {
			return false
		}
	}
	return true
}

func (r *reading) damage(p rawjson.Piece) {
	if p.Kind == rawjson.BOM {
		return
	}
	r.report.Damaged++
	if len(r.report.Faults) < maxFaults {
		r.report.Faults = append(r.report.Faults, fmt.Sprintf("line %d: %s: %s", r.number, p.Kind, p.Detail))
	}
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
