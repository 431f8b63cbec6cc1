package convert

import (
	"bytes"
	"maps"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// maxFaults limits the number of damaged places listed individually.
const maxFaults = 20

// Report describes the fidelity of a conversion. Every entry that was read is counted in
// exactly one of Same, Reencoded, Changed and Left.
type Report struct {
	// Lines and BytesRead count the input, Damaged the unreadable places in it; Faults
	// describes the first of these.
	Lines, BytesRead int64
	Damaged          int64
	Faults           []string
	// lost is the end of the last of them.
	lost firn.Pos
	// Entries counts the entries read by kind.
	Entries map[firn.Kind]int64
	// Same entries were written as their original lines, Reencoded ones re-encoded without loss,
	// Changed ones with a loss; Left ones were not written.
	Same, Reencoded, Changed, Left int64
	// Losses counts the changed and omitted entries by reason: the name of a limit of the
	// tool, or one of the constants of this package.
	Losses map[string]int64
	// UnknownLines and UnknownFields were not understood and preserved; LostLines and
	// LostFields were not understood and dropped.
	UnknownLines, UnknownFields int64
	LostLines, LostFields       int64
	// LinesWritten and BytesWritten count the output.
	LinesWritten, BytesWritten int64
}

// Reasons for omitting an entry, in addition to the limits of tools.
const (
	// OtherBranch entries are not on the path that is written for a tool without branches.
	OtherBranch = "other branch"
	// HeadMove entries move the head, which is irrelevant if only one path is written.
	HeadMove = "head moves"
	// Hidden entries and their tombstones are not written for other tools.
	Hidden = "hidden"
	// ToolContext entries describe a tool to the model: its permissions, its environment.
	// The next tool generates its own.
	ToolContext = "context of the tool"
	// Unfinished is the start of a last line that was never completed. It is not written if
	// other lines follow.
	Unfinished = "unfinished line"
)

// Total returns the number of entries read.
func (r *Report) Total() int64 {
	var n int64
	for _, count := range r.Entries {
		n += count
	}
	return n
}

// Lossless reports whether nothing was changed, omitted or damaged.
func (r *Report) Lossless() bool { return r.Changed == 0 && r.Left == 0 && r.Damaged == 0 }

// Reasons returns the reasons of losses, the most frequent first.
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

// Add adds the counts of another report.
func (r *Report) Add(o *Report) {
	r.Lines += o.Lines
	r.BytesRead += o.BytesRead
	r.Damaged += o.Damaged
	r.Faults = append(r.Faults, o.Faults[:min(len(o.Faults), max(0, maxFaults-len(r.Faults)))]...)
	r.Same, r.Reencoded, r.Changed, r.Left = r.Same+o.Same, r.Reencoded+o.Reencoded, r.Changed+o.Changed, r.Left+o.Left
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

// kept counts the unknown parts of an entry that are carried with it.
func (r *Report) kept(e firn.Entry, from dialect.Name) {
	lines, fields := unknown(e, from)
	r.UnknownLines += lines
	r.UnknownFields += int64(len(fields))
}

// countUnknown counts the unknown parts of an entry, depending on whether they are in the
// printed text.
func (r *Report) countUnknown(e firn.Entry, from dialect.Name, printed []byte) {
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

// unknown returns the unknown parts of an entry: the whole line if it is not part of the
// conversation, otherwise some fields.
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

// leave counts an omitted entry.
func (r *Report) leave(reason string) {
	r.Left++
	r.lose(reason, 1)
}

// fault counts an unreadable place. Adjacent places count once.
func (r *Report) fault(gap *firn.Gap) {
	if !gap.Lost() {
		return // the data was read anyway, or is still being written
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
