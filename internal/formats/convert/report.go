package convert

import (
	"bytes"
	"maps"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// maxFaults bounds how many damaged places are told one by one.
const maxFaults = 20

// Report tells how well a transcript could be said in another dialect. Every
// entry that was read is in exactly one of Same, Said, Changed and Left.
type Report struct {
	// Lines and BytesRead are what was read, Damaged how many places of it
	// could not be; Faults names the first of these.
	Lines, BytesRead int64
	Damaged          int64
	Faults           []string
	// lost is where the last of them ends.
	lost firn.Pos
	// Entries counts what was read by its kind.
	Entries map[firn.Kind]int64
	// Same entries were written as the lines they came from, Said ones in the
	// words of the other tool, Changed ones with a loss; Left ones were not
	// written.
	Same, Said, Changed, Left int64
	// Losses counts what was changed or left, by its reason: the name of a
	// limit of the tool, or one of the words of this package.
	Losses map[string]int64
	// UnknownLines and UnknownFields were not understood and are kept all the
	// same; LostLines and LostFields were not understood and are not.
	UnknownLines, UnknownFields int64
	LostLines, LostFields       int64
	// LinesWritten and BytesWritten are what was written.
	LinesWritten, BytesWritten int64
}

// Reasons of ours for an entry not to be written.
const (
	// OtherBranch entries are not on the path that a tool without branches is given.
	OtherBranch = "other branch"
	// HeadMove entries move the head, which a tool that is given one path need not
	// know.
	HeadMove = "head moves"
	// Hidden entries are not for other tools to see, nor what hid them.
	Hidden = "hidden"
	// ToolContext is what a tool tells the model of itself: its permissions, its
	// environment. The next tool tells of its own.
	ToolContext = "context of the tool"
	// Unfinished is the beginning of a last line that was never finished. It is not
	// written where other lines follow.
	Unfinished = "unfinished line"
)

// Total is the number of entries that were read.
func (r *Report) Total() int64 {
	var n int64
	for _, count := range r.Entries {
		n += count
	}
	return n
}

// Whole reports whether nothing was changed, left or damaged.
func (r *Report) Whole() bool { return r.Changed == 0 && r.Left == 0 && r.Damaged == 0 }

// Reasons are the reasons of losses, the most frequent first.
func (r *Report) Reasons() []string {
	return slices.SortedFunc(maps.Keys(r.Losses), func(a, b string) int {
		if d := r.Losses[b] - r.Losses[a]; d != 0 {
			return int(d)
		}
		if a < b {
			return -1
		}
		return 1
	})
}

// Add adds what another transcript's report says.
func (r *Report) Add(o *Report) {
	r.Lines += o.Lines
	r.BytesRead += o.BytesRead
	r.Damaged += o.Damaged
	r.Faults = append(r.Faults, o.Faults[:min(len(o.Faults), max(0, maxFaults-len(r.Faults)))]...)
	r.Same, r.Said, r.Changed, r.Left = r.Same+o.Same, r.Said+o.Said, r.Changed+o.Changed, r.Left+o.Left
	r.UnknownLines += o.UnknownLines
	r.UnknownFields += o.UnknownFields
	r.LostLines += o.LostLines
	r.LostFields += o.LostFields
	r.LinesWritten += o.LinesWritten
	r.BytesWritten += o.BytesWritten
	for kind, n := range o.Entries {
		r.count(kind, n)
	}
	for reason, n := range o.Losses {
		r.lose(reason, n)
	}
}

func (r *Report) count(kind firn.Kind, n int64) {
	if r.Entries == nil {
		r.Entries = make(map[firn.Kind]int64)
	}
	r.Entries[kind] += n
}

func (r *Report) lose(reason string, n int64) {
	if r.Losses == nil {
		r.Losses = make(map[string]int64)
	}
	r.Losses[reason] += n
}

// read counts an entry that was read.
func (r *Report) read(e firn.Entry) { r.count(e.Body.Kind(), 1) }

// kept counts what was not understood of an entry and was carried with it.
func (r *Report) kept(e firn.Entry, from dialect.Name) {
	lines, fields := unknown(e, from)
	r.UnknownLines += lines
	r.UnknownFields += int64(len(fields))
}

// told counts what was not understood of an entry by whether it is in what was
// printed.
func (r *Report) told(e firn.Entry, from dialect.Name, printed []byte) {
	lines, fields := unknown(e, from)
	if len(printed) > 0 {
		r.UnknownLines += lines
	} else {
		r.LostLines += lines
	}
	for _, f := range fields {
		if bytes.Contains(printed, rawjson.AppendString(nil, f.Name)) {
			r.UnknownFields++
		} else {
			r.LostFields++
		}
	}
}

// unknown is what was not understood of an entry: all of it if it is a line of
// the tool that is no conversation, else some fields.
func unknown(e firn.Entry, from dialect.Name) (lines int64, fields firn.Fields) {
	fields = dialect.Uncarried(e).Extra
	switch b := e.Body.(type) {
	case *firn.Message:
		fields = slices.Concat(fields, b.Extra)
	case *firn.Custom:
		if dialect.IsLine(from, b) {
			lines++
		}
	case *firn.Opaque:
		lines++
	}
	return lines, fields
}

// leave counts an entry that is not written.
func (r *Report) leave(reason string) {
	r.Left++
	r.lose(reason, 1)
}

// fault counts a place that could not be read. Places that follow each other are
// one.
func (r *Report) fault(gap *firn.Gap) {
	if !gap.Lost() {
		return // what is there was read all the same, or is still being written
	}
	touching := r.Damaged > 0 && gap.At == r.lost && gap.Entry == ""
	if r.lost = gap.Next; touching {
		return
	}
	r.Damaged++
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, gap.Error())
	}
}
