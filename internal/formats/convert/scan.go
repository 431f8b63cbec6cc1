package convert

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// reading converts the lines of a transcript to entries and counts them.
type reading struct {
	tool    dialect.Tool
	origin  dialect.Origin
	source  iter.Seq2[[]byte, error]
	report  *Report
	number  int64
	scanner dialect.Scanner
	// started is set once there is an entry; last is the last one, and time its time. If
	// gap is set, before is the entry before the gap.
	started, gap bool
	last, before firn.EntryID
	time         time.Time
	// held are lines without an entry yet; bare is set if no newline follows the last of
	// them; lines is a buffer for the lines of one entry.
	held, lines [][]byte
	bare        bool
	// open is the size of the transcript once the last line was read, when entries may
	// still change; 0 before.
	open int64
	// ended is set if the last line ends with a newline, or there is no line; rest is the
	// incomplete data after the last newline.
	ended bool
	rest  []byte
	// glued is set if rest follows a complete object on its line, lined once an entry has
	// lines.
	glued, lined bool
	// finished is set once there are no more lines.
	finished bool
}

// all yields the entries of the transcript in file order. An entry is valid until the next
// step.
func (r *reading) all(yield func(dialect.EntryLines, error) bool) {
	r.scanner, r.ended = r.tool.Scanner(r.origin), true
	var last []byte // a line without a newline, which may be the last one
	for line, err := range r.source {
		if err != nil {
			yield(dialect.EntryLines{}, err)
			return
		}
		if last != nil && !r.line(last, yield) {
			return
		}
		last = nil
		r.report.BytesRead += int64(len(line))
		text, ended := bytes.CutSuffix(line, []byte{'\n'})
		if !ended {
			last = bytes.Clone(text)
			continue
		}
		if !r.line(text, yield) {
			return
		}
	}
	r.open = max(1, r.report.BytesRead)
	if last != nil && !r.unfinished(last, yield) {
		return
	}
	r.finished = true
	entries := r.scanner.Finish()
	if len(entries) > 0 && !r.emit(entries, r.held, r.bare, yield) {
		return
	}
	r.end(yield)
}

// line reads a line, or its intact parts.
func (r *reading) line(line []byte, yield func(dialect.EntryLines, error) bool) bool {
	r.number++
	if rawjson.IsBlank(line) {
		r.hold(line, false) // the next entry carries it
		return true
	}
	r.report.Lines++
	if ok, more := r.object(line, line, false, yield); ok {
		return more
	}
	return r.pieces(line, rawjson.Split(line), false, yield)
}

// unfinished reads a last line without a newline. Complete objects at its start are
// emitted; the rest may still be growing and is left for the end.
func (r *reading) unfinished(line []byte, yield func(dialect.EntryLines, error) bool) bool {
	r.number++
	r.ended = false
	if rawjson.IsBlank(line) {
		r.rest = line
		return true
	}
	r.report.Lines++
	if ok, more := r.object(line, line, false, yield); ok {
		return more
	}
	whole, rest := 0, 0
	all := rawjson.Split(line)
	for _, p := range all {
		if p.Kind != rawjson.Complete && p.Kind != rawjson.BOM {
			r.fault(p)
			break
		}
		whole, rest = whole+1, p.Offset+len(p.Bytes)
	}
	r.rest, r.glued = line[rest:], rest > 0
	return r.pieces(line[:rest], all[:whole], len(r.rest) > 0, yield)
}

// end emits the end of the transcript, unless it ends with a newline after its last line.
func (r *reading) end(yield func(dialect.EntryLines, error) bool) bool {
	if r.ended && len(r.held) == 0 || !r.started {
		return true
	}
	rest := strings.Join(toStrings(r.held), "\n")
	if len(r.rest) > 0 {
		if len(r.held) > 0 && !r.bare {
			rest += "\n"
		}
		rest += string(r.rest)
	}
	if r.lined && !r.glued && (len(r.held) > 0 || len(r.rest) > 0) {
		rest = "\n" + rest
	}
	if r.ended {
		rest += "\n"
	}
	return yield(dialect.EntryLines{Entry: endEntry(r.tool.Name(), r.number, r.last, r.time), Marks: dialect.Marks{Rest: &rest}}, nil)
}

func toStrings(lines [][]byte) []string {
	list := make([]string, len(lines))
	for i, line := range lines {
		list[i] = string(line)
	}
	return list
}

// endEntry returns an entry that records the end of a transcript.
func endEntry(tool dialect.Name, number int64, parent firn.EntryID, at time.Time) firn.Entry {
	return firn.Entry{
		ID: firn.EntryID(fmt.Sprintf("end-%d", number)), Parent: parent, Time: at,
		Body: &firn.Custom{Type: dialect.LineType(tool, dialect.End)},
	}
}

// ended converts the end of a transcript to a mark of its last entry.
func ended(reported iter.Seq2[dialect.EntryLines, error]) iter.Seq2[dialect.EntryLines, error] {
	return func(yield func(dialect.EntryLines, error) bool) {
		var last *dialect.EntryLines
		for t, err := range reported {
			if err == nil && last != nil && t.Rest != nil && isEnd(t.Entry) {
				last.Rest = t.Rest
				continue
			}
			if last != nil && !yield(*last, nil) {
				return
			}
			last = nil
			if err != nil {
				yield(t, err)
				return
			}
			t = keep(t)
			last = &t
		}
		if last != nil {
			yield(*last, nil)
		}
	}
}

// pieces reads the pieces of a line that is not a single object. Each carries the bytes
// from the end of the previous one to its own. bare is set if more data follows the last.
func (r *reading) pieces(line []byte, all []rawjson.Piece, bare bool, yield func(dialect.EntryLines, error) bool) bool {
	from := 0
	for i, piece := range all {
		end, last := piece.Offset+len(piece.Bytes), i == len(all)-1
		if last {
			end = len(line)
		}
		if piece.Kind == rawjson.BOM && !last {
			continue
		}
		raw := line[from:end]
		from = end
		ok, more := false, true
		if piece.Kind == rawjson.Complete {
			ok, more = r.object(piece.Bytes, raw, !last || bare, yield)
		}
		if !ok {
			more = r.damage(piece, raw, !last || bare, yield)
		}
		if !more {
			return false
		}
	}
	return true
}

// fault counts and describes an unreadable piece.
func (r *reading) fault(p rawjson.Piece) {
	if p.Kind == rawjson.BOM {
		return
	}
	r.report.Damaged++
	if len(r.report.Faults) < maxFaults {
		detail := p.Detail
		if p.Kind == rawjson.Complete {
			detail = "not a line of the tool"
		}
		r.report.Faults = append(r.report.Faults, fmt.Sprintf("line %d: %s: %s", r.number, p.Kind, detail))
	}
}

// damage reports an unreadable piece and carries its bytes in an entry without content
// after the previous one.
func (r *reading) damage(p rawjson.Piece, raw []byte, bare bool, yield func(dialect.EntryLines, error) bool) bool {
	r.fault(p)
	r.hold(raw, bare)
	if !r.started { // the first readable entry carries it
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
	item := dialect.EntryLines{Entry: e, Lines: r.held, Marks: dialect.Marks{Open: r.open, NoNewline: r.bare}}
	r.held, r.bare, r.lined = nil, false, true
	return yield(item, nil)
}

// hold stores bytes for the next entry to carry: as a line of their own, or appended to the
// last one if no newline follows that.
func (r *reading) hold(raw []byte, bare bool) {
	if n := len(r.held) - 1; n >= 0 && r.bare {
		r.held[n] = append(r.held[n], raw...)
	} else {
		r.held = append(r.held, bytes.Clone(raw))
	}
	r.bare = bare
}

// object reads one JSON object, and reports whether it is valid and whether iteration
// continues. raw are the bytes around it. The last of its entries carries the lines since
// the previous entry, which preserves the order of lines that depend on later ones.
func (r *reading) object(object, raw []byte, bare bool, yield func(dialect.EntryLines, error) bool) (ok, more bool) {
	entries, err := r.scanner.Scan(object)
	if err != nil {
		return false, true
	}
	if len(entries) == 0 {
		r.hold(raw, bare)
		return true, true
	}
	if len(r.held) == 0 {
		r.lines = append(r.lines[:0], raw)
		return true, r.emit(entries, r.lines, bare, yield)
	}
	r.hold(raw, bare)
	return true, r.emit(entries, r.held, bare, yield)
}

// emit yields entries with their lines.
func (r *reading) emit(entries []firn.Entry, lines [][]byte, bare bool, yield func(dialect.EntryLines, error) bool) bool {
	r.held, r.bare = nil, false
	for i, e := range entries {
		r.started = true
		if e.ID != "" {
			if r.gap && e.Parent == r.before {
				e.Parent = r.last // after the unreadable part
			}
			r.gap, r.last, r.time = false, e.ID, e.Time
		}
		item := dialect.EntryLines{Entry: e, Marks: dialect.Marks{Open: r.open}}
		if i == len(entries)-1 {
			item.Lines, item.NoNewline = lines, bare
			r.lined = r.lined || len(lines) > 0
		} else if e.ID == "" && !r.finished {
			item.Open = 0 // the header is complete with its line
		}
		if !yield(item, nil) {
			return false
		}
	}
	return true
}

// carriesLines is in every line of firn's that carries lines of another tool. They may be
// pieces of one response, which a glance does not show.
var carriesLines = []byte(`"origin":{`)

// errMustRead is returned if a glance is not sufficient.
var errMustRead = fmt.Errorf("%w: it must be read", firn.ErrCorrupt)

// glances yields the fields that the tree needs for each line or, if all is false, for each
// line that may hide a re-imported entry.
func glances(g Glancer, lines iter.Seq2[[]byte, error], all bool) iter.Seq2[firn.Glance, error] {
	return func(yield func(firn.Glance, error) bool) {
		for line, err := range lines {
			if err != nil {
				yield(firn.Glance{}, err)
				return
			}
			if rawjson.IsBlank(line) {
				continue
			}
			if !all && !bytes.Contains(line, []byte(reimportReason)) {
				continue
			}
			if all && bytes.Contains(line, carriesLines) {
				yield(firn.Glance{}, errMustRead)
				return
			}
			if glance, err := g.Glance(line); !yield(glance, err) {
				return
			}
		}
	}
}
