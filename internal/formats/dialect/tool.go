package dialect

import (
	"io/fs"
	"iter"
	"time"

	"firn.dev"
)

// Tool is the session format of another agent: its encoding and its file layout. A tool is
// a stateless value, safe for concurrent use.
type Tool interface {
	Name() Name
	// Scanner returns a scanner for a transcript.
	Scanner(from Origin) Scanner
	// Printer returns a printer for a new transcript or for appending to one.
	Printer(to Target) Printer
	// Limits lists the features that the tool's files cannot represent, with the substitute
	// for each. The list is constant, and every [Loss] that a printer reports names one of
	// them.
	Limits() []Limit
	// Layout returns the tool's file layout.
	Layout() Layout
}

// Origin holds the known facts about a transcript before its first line is read.
type Origin struct {
	// Transcript is the description from the tool's folder. For a single file only the path
	// is set, for a stream nothing: a scanner then takes the session's ID from the lines or
	// from the file name, so that two files are not read as one session.
	Transcript
}

// Scanner reads a transcript line by line, in file order. The same lines always produce the
// same entries, so that an entry can be found again by its ID.
//
// The entries are complete: each has an ID (derived from its position in the file if the
// tool has none), a parent (none for a root) and a time (that of the previous entry if the
// tool has none). They form a tree with the tool's own semantics: where the tool uses other
// rules than parent links (results of parallel calls as side branches, lines out of order),
// the scanner sets parents so that the path to the last entry is the context that the tool
// would send.
//
// If a line produces several entries, the last has the ID of the line, because later lines
// refer to it as their parent; the others have that ID with the suffix ".1", ".2". If
// several lines form one model response, their messages have the response ID in the extra
// field [ResponseID], and only the first of them has the usage.
//
// The first entry is the header, synthesized if necessary. Nothing is dropped: a line that
// the model never sees, or that is not understood, becomes a [firn.Custom] of the type
// given by [LineType], with the line as its data, placed after the previous entry.
type Scanner interface {
	// Scan reads the next line, without its newline, and returns the entries that are
	// complete with it: usually one, none if the line depends on a later one. It does not
	// retain line, and the slice is valid until the next call. It fails with ErrCorrupt if
	// the line is not a single JSON object; scanning can continue with the next line.
	Scan(line []byte) ([]firn.Entry, error)
	// Finish returns the entries that were waiting for a later line. More lines may be
	// scanned afterwards, since the file may still grow.
	Finish() []firn.Entry
}

// Target describes a transcript to write.
type Target struct {
	// Session is firn's ID of the session. The tool may need another form; see [UUID].
	Session firn.ID
	// As is the tool's ID for the session. If empty, the tool derives one from Session. It
	// is set for a transcript that is handed over.
	As string
	// Title, CWD, Agent and Key describe the session. CWD is an absolute path; most tools
	// group their sessions by it.
	Title, CWD string
	Agent, Key string
	// Provider and Model are the defaults for lines that name none.
	Provider, Model string
	// Created and Updated are the times of the first and the last entry.
	Created, Updated time.Time
	// Messages is the number of messages, Uptime the total duration of the turns.
	Messages int
	Uptime   time.Duration
	// Parent is the session it was forked from, if any.
	Parent firn.ID
	// OnLoss is called for every entry that cannot be represented exactly. It may be nil.
	OnLoss func(Loss)
	// Written yields the written entries from since on, inclusive, along the path to the last
	// one. A printer that appends to a file needs it to hide an entry with the tool's own
	// means. It is nil if the written lines cannot be read again; hiding is then a loss.
	Written func(since firn.EntryID) iter.Seq[EntryLines]
}

// ReportLoss calls OnLoss, if it is set, for an entry that the limit named prevents from
// being represented exactly. dropped means that the entry is not written at all.
func (t *Target) ReportLoss(e *firn.Entry, limit string, dropped bool) {
	if t.OnLoss != nil {
		t.OnLoss(Loss{Entry: e.ID, Kind: e.Body.Kind(), Limit: limit, Dropped: dropped})
	}
}

// EntryLines is a written entry with its lines.
type EntryLines struct {
	Entry firn.Entry
	Lines [][]byte
	// Marks describe the position of the lines in the transcript.
	Marks
}

// End is the kind of an entry that only records the current end of the transcript, which is
// otherwise a mark of its last entry; see [Marks].
const End = "end"

// Printer writes a transcript, entry by entry. The caller passes the header first, parents
// before their children and no entry twice. A tool without branches receives a single path.
type Printer interface {
	// Print appends the lines for e to dst, each with its newline. It appends none if they
	// depend on later entries or if e cannot be represented (which is a [Loss], not an
	// error). If it fails, it returns dst unchanged and the printer's state does not
	// change.
	Print(dst []byte, e firn.Entry) ([]byte, error)
	// Repeat informs the printer that these lines, written by the tool itself or an earlier
	// printer, represent e.
	Repeat(e firn.Entry, lines [][]byte)
	// Finish appends pending lines to dst. More entries may follow.
	Finish(dst []byte) ([]byte, error)
}

// Limit is a feature that a tool's files cannot represent.
type Limit struct {
	// Name is a short name: "branches", "labels".
	Name string
	// Becomes describes the substitute: "only the current branch is written".
	Becomes string
}

// Loss reports an entry that could not be represented exactly.
type Loss struct {
	// Entry and Kind identify the entry.
	Entry firn.EntryID
	Kind  firn.Kind
	// Limit is the name of the tool's limit that applied.
	Limit string
	// Dropped is set if no part of the entry was written.
	Dropped bool
}

// ResponseID is the extra field of an assistant message that holds the provider's response
// ID.
const ResponseID = firn.ResponseIDField

// LineType returns the type of a [firn.Custom] entry that carries an original line of a
// tool. Kind is the tool's name for such lines; it may be empty.
func LineType(tool Name, kind string) string {
	return string(tool) + ":" + kind
}

// IsLine reports whether a custom entry carries a line of the tool.
func IsLine(tool Name, c *firn.Custom) bool {
	return len(c.Type) > len(tool) && c.Type[:len(tool)] == string(tool) && c.Type[len(tool)] == ':'
}

// RecordsType is the type of the first line of a record transcript: a session of a tool
// that keeps its sessions in other forms than lines, with one record of the tool per line.
// The member "tool" names the tool.
const RecordsType = "records"

// Viewer is a [Tool] that keeps its sessions in other forms than transcripts, such as a
// database. Use [Tree] to read the home of any tool.
type Viewer interface {
	// View returns the home with its sessions as transcripts. A mirror, which has
	// transcripts already, is returned unchanged.
	View(home fs.FS) fs.FS
	// Raw lists the files of the home that hold the sessions in the tool's own form, which
	// cannot be read as transcripts.
	Raw(home fs.FS) []string
}

// ReadOnly is a [Tool] whose sessions cannot be written.
type ReadOnly interface {
	// ReadOnly returns the error for writing, which wraps ErrUnsupported.
	ReadOnly() error
}

// Tree returns the transcripts in the home of a tool.
func Tree(t Tool, home fs.FS) fs.FS {
	if v, ok := t.(Viewer); ok {
		return v.View(home)
	}
	return home
}

// Writable returns the error for writing sessions of a tool; nil if they can be written.
func Writable(t Tool) error {
	if r, ok := t.(ReadOnly); ok {
		return r.ReadOnly()
	}
	return nil
}
