package wire

import "firn.dev"

// Fidelity tells how well a conversation could be said in another tool's
// words. Every entry that was read is in exactly one of Same, Said, Changed and
// Left.
type Fidelity struct {
	// From and To are the names of the formats.
	From string `json:"from"`
	To   string `json:"to"`
	// Entries is how many were read, and Kinds how many of each kind.
	Entries int64               `json:"entries"`
	Kinds   map[firn.Kind]int64 `json:"kinds,omitempty"`
	// Same were written as they came, Said in other words, Changed with
	// something lost, and Left were not written.
	Same    int64 `json:"same"`
	Said    int64 `json:"said"`
	Changed int64 `json:"changed"`
	Left    int64 `json:"left"`
	// Losses tells why, the most frequent first.
	Losses []Lost `json:"losses,omitempty"`
	// UnknownLines and UnknownFields were not understood and are kept.
	UnknownLines  int64 `json:"unknownLines"`
	UnknownFields int64 `json:"unknownFields"`
	// LostLines and LostFields were not understood and are not kept.
	LostLines  int64 `json:"lostLines"`
	LostFields int64 `json:"lostFields"`
	// Damaged is how many places could not be read; Faults names the first.
	Damaged int64    `json:"damaged"`
	Faults  []string `json:"faults,omitempty"`
	// Masked is how many secrets were masked; it is there if, and only if, that was
	// asked for. A gateway that does not know how to mask does not tell it, and what
	// it writes is not masked.
	Masked *int64 `json:"masked,omitempty"`
	// Lines and bytes as they were read and written, before anything was masked.
	LinesRead    int64 `json:"linesRead"`
	BytesRead    int64 `json:"bytesRead"`
	LinesWritten int64 `json:"linesWritten"`
	BytesWritten int64 `json:"bytesWritten"`
}

// Lost is a reason why entries were changed or left.
type Lost struct {
	// What could not be said, such as branches, and what became of it.
	What    string `json:"what"`
	Becomes string `json:"becomes,omitempty"`
	Count   int64  `json:"count"`
}

// Import says what is done with a transcript that is sent to be kept.
type Import struct {
	// From names its format; empty finds it out.
	From string `json:"from,omitempty"`
	// ID is what the session is called; empty takes the id that it has.
	ID firn.ID `json:"id,omitempty"`
	// Agent is whose session it becomes; empty leaves it at what it says.
	Agent string `json:"agent,omitempty"`
	// Title is used if it has none.
	Title string `json:"title,omitempty"`
	// Name is that of the file it came from, for formats that tell things there.
	Name string `json:"name,omitempty"`
}

// Export says how a session is told in another format.
type Export struct {
	Format string `json:"format"`
	// CWD is the directory it is to go on in; empty is the session's own.
	CWD string `json:"cwd,omitempty"`
	// As is the id that the tool is to know the session by; empty is the one that
	// the tool makes of the session's own. It is for a file that goes into a tool's
	// folder.
	As string `json:"as,omitempty"`
	// View is what a page shows, for the format html: the branch, which empty
	// means, or all that is on disk.
	View string `json:"view,omitempty"`
	// Mask puts [secret] in the place of what looks like a secret. Without it what
	// is told is byte for byte what was said; pages are masked always.
	Mask bool `json:"mask,omitempty"`
}

// MaskedHeader is the header of an export that says that its secrets are masked. A
// gateway that does not know how to mask does not send it.
const MaskedHeader = "Firn-Masked"

// FormatHTML is the format of pages to read. Nothing can be read back from it.
const FormatHTML = "html"

// NoMessageYet is the message of the problem that a transcript which has only lines
// before the conversation is refused with.
const NoMessageYet = "the transcript has no message yet"

// Imported tells what was kept.
type Imported struct {
	Session Session `json:"session"`
	// Added is how many entries are new; none if it was all there already.
	Added    int64    `json:"added"`
	Fidelity Fidelity `json:"fidelity"`
}

// Format is a format that sessions can be read from and written to.
type Format struct {
	Name string `json:"name"`
	// Limits is what it cannot say, and what becomes of it.
	Limits []Lost `json:"limits,omitempty"`
}
