package dialect

import (
	"iter"
	"time"

	"firn.dev"
)

// Tool is another agent's way of keeping sessions: how it spells them and where
// it puts them. A tool is a value without state and may be used by many
// goroutines.
type Tool interface {
	Name() Name
	// Scanner begins to read a transcript.
	Scanner(from Origin) Scanner
	// Printer begins to write one, or to go on with one.
	Printer(to Target) Printer
	// Limits lists what the tool's files cannot say, and what becomes of it.
	// It never changes, and a [Loss] that a printer tells names one of them.
	Limits() []Limit
	// Layout is where the tool keeps its files.
	Layout() Layout
}

// Origin is what is known of a transcript before its first line is read.
type Origin struct {
	// Transcript is what the tool's folder tells of it. Of a lone file only
	// the path is known, of a stream nothing.
	Transcript
}

// Scanner reads a transcript line by line, in file order. The same lines always
// make the same entries, so that an entry can be found again by its id.
//
// The entries are complete: each has an id (made from its place in the file if
// the tool gives none), a parent (none for a root) and a time (that of the
// entry before it if the tool gives none). They make a tree that says what the
// tool itself would: where it follows other rules than parents do (results of
// parallel calls as side branches, lines out of order), the scanner hangs the
// entries so that the path to the last one is what the tool would send.
//
// Where a line makes several entries, the last has the id of the line, because
// what follows names it as its parent; the ones before it have that id with ".1",
// ".2" behind it. Where several lines are one answer of a model, their messages
// have the answer's id as the extra field [ResponseID], and only the first
// one of them has the usage.
//
// The first entry is the header, made up if need be. Nothing is dropped: a line
// that a model never sees, or that is not understood, is a [firn.Custom] of the
// type [LineType] gives it, with the line as its data, after the entry before it.
type Scanner interface {
	// Scan reads the next line, without its newline, and returns the entries
	// that are known with it: mostly one, none if the line only makes sense
	// with a later one. It does not keep line, and the slice is valid until the
	// next call. A line that is not one JSON object is an ErrCorrupt; the next
	// one can be read all the same.
	Scan(line []byte) ([]firn.Entry, error)
	// Finish returns the entries that were still waiting for a later line.
	// More lines may follow: someone may be adding to the file.
	Finish() []firn.Entry
}

// Target is a transcript that is to be written.
type Target struct {
	// Session is what firn calls it. The tool may need another form of id; see
	// [UUID].
	Session firn.ID
	// As is the id that the tool is to know it by; empty is the one that the tool
	// makes of Session. A transcript that is handed over has it.
	As string
	// Title, CWD, Agent and Key are what the session is known by; CWD is an
	// absolute path, which most tools file their sessions under.
	Title, CWD string
	Agent, Key string
	// Provider and Model answer in it, for lines that name none.
	Provider, Model string
	// Created and Updated are the times of the first and the last entry.
	Created, Updated time.Time
	// Messages is how many messages it has; Uptime how long its turns took.
	Messages int
	Uptime   time.Duration
	// Parent is the session it was forked from, if any.
	Parent firn.ID
	// Lose is told of what could not be said as it is. Nil: nobody.
	Lose func(Loss)
	// Told yields what the transcript has said since an entry, that entry
	// first, along the path to the last one. A printer that goes on with a file
	// needs it to hide an entry by the tool's own means. Nil if what was
	// written cannot be read again: hiding is then a loss.
	Told func(since firn.EntryID) iter.Seq[Told]
}

// Told is an entry and the lines that say it.
type Told struct {
	Entry firn.Entry
	Lines [][]byte
	// Marks say how the lines lie in the transcript.
	Marks
}

// End is the kind of an entry that says nothing but how the transcript ends now,
// which is otherwise a mark of its last entry; see [Marks].
const End = "end"

// Printer writes a transcript, entry by entry. Who calls it gives the header
// first, parents before their children and no entry twice. A tool that knows no
// branches is given one path.
type Printer interface {
	// Print adds the lines that say e to dst, each with its newline; none if
	// they need the entries to come, or cannot be said (which is a [Loss], not an
	// error). If it fails, dst is returned as it was and nothing is remembered.
	Print(dst []byte, e firn.Entry) ([]byte, error)
	// Repeat tells the printer that these lines, which the tool itself or an
	// earlier printer wrote, say e.
	Repeat(e firn.Entry, lines [][]byte)
	// Finish adds what was held back. More entries may follow.
	Finish(dst []byte) ([]byte, error)
}

// Limit is something that a tool's files cannot say.
type Limit struct {
	// Name names it in a word or two: "branches", "labels".
	Name string
	// Becomes says what becomes of it: "only the current branch is written".
	Becomes string
}

// Loss tells that an entry could not be said as it is.
type Loss struct {
	// Entry and Kind say what was to be told.
	Entry firn.EntryID
	Kind  firn.Kind
	// Limit is the name of the tool's limit that was met.
	Limit string
	// Dropped is set if nothing of the entry was written.
	Dropped bool
}

// ResponseID is the extra field of an assistant's message that holds the id the
// provider gave to its answer.
const ResponseID = firn.ResponseIDField

// LineType is the type of a [firn.Custom] entry that carries a line of a tool
// as it is. Kind is what the tool calls such lines; it may be empty.
func LineType(tool Name, kind string) string {
	return string(tool) + ":" + kind
}

// IsLine reports whether a custom entry carries a line of the tool.
func IsLine(tool Name, c *firn.Custom) bool {
	return len(c.Type) > len(tool) && c.Type[:len(tool)] == string(tool) && c.Type[len(tool)] == ':'
}
