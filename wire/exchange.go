package wire

import "firn.dev"

// Fidelity reports how completely a conversation was converted to another format. Every
// entry that was read counts in exactly one of Same, Reencoded, Changed and Left.
type Fidelity struct {
	// From and To are the names of the formats.
	From string `json:"from"`
	To   string `json:"to"`
	// Entries is the number of entries read, Kinds the number by kind.
	Entries int64               `json:"entries"`
	Kinds   map[firn.Kind]int64 `json:"kinds,omitempty"`
	// Same counts entries written unchanged, Reencoded re-encoded ones, Changed entries with
	// losses, and Left those that were not written.
	Same      int64 `json:"same"`
	Reencoded int64 `json:"said"`
	Changed   int64 `json:"changed"`
	Left      int64 `json:"left"`
	// Losses lists the reasons, most frequent first.
	Losses []Loss `json:"losses,omitempty"`
	// UnknownLines and UnknownFields were not understood and are kept.
	UnknownLines  int64 `json:"unknownLines"`
	UnknownFields int64 `json:"unknownFields"`
	// LostLines and LostFields were not understood and are not kept.
	LostLines  int64 `json:"lostLines"`
	LostFields int64 `json:"lostFields"`
	// Damaged is the number of places that could not be read; Faults names the first ones.
	Damaged int64    `json:"damaged"`
	Faults  []string `json:"faults,omitempty"`
	// Masked is the number of masked secrets. It is set if and only if masking was
	// requested: a gateway without support for masking does not set it, and its output is
	// not masked.
	Masked *int64 `json:"masked,omitempty"`
	// Lines and bytes as read and written, before masking.
	LinesRead    int64 `json:"linesRead"`
	BytesRead    int64 `json:"bytesRead"`
	LinesWritten int64 `json:"linesWritten"`
	BytesWritten int64 `json:"bytesWritten"`
}

// Loss is a reason why entries were changed or left out.
type Loss struct {
	// What is the feature that could not be represented, such as branches, and how it was
	// handled.
	What    string `json:"what"`
	Becomes string `json:"becomes,omitempty"`
	Count   int64  `json:"count"`
}

// Import are the options for importing a transcript.
type Import struct {
	// From names its format; empty means detect it.
	From string `json:"from,omitempty"`
	// ID is the ID of the new session; empty means the transcript's own.
	ID firn.ID `json:"id,omitempty"`
	// Agent is the owner of the session; empty means the one in the transcript.
	Agent string `json:"agent,omitempty"`
	// Title is used if the transcript has none.
	Title string `json:"title,omitempty"`
	// Name is the name of the source file, for formats that keep information there.
	Name string `json:"name,omitempty"`
}

// Export are the options for exporting a session to another format.
type Export struct {
	Format string `json:"format"`
	// CWD is the directory to continue in; empty means the session's own.
	CWD string `json:"cwd,omitempty"`
	// As is the ID of the session in the other tool, for a file that is placed in the
	// tool's folder; empty means an ID derived from the session's.
	As string `json:"as,omitempty"`
	// View is the view for the format html: the branch, which is the default, or the whole
	// file.
	View string `json:"view,omitempty"`
	// Mask replaces likely secrets with [secret]. Without it the export is byte for byte
	// the original; HTML pages are always masked.
	Mask bool `json:"mask,omitempty"`
}

// MaskedHeader is the header of an export whose secrets are masked. A gateway without
// support for masking does not send it.
const MaskedHeader = "Firn-Masked"

// FormatHTML is the format of pages for reading. It cannot be imported.
const FormatHTML = "html"

// NoMessageYet is the problem message for a transcript that has only preamble lines and no
// message.
const NoMessageYet = "the transcript has no message yet"

// Imported is the result of an import.
type Imported struct {
	Session Session `json:"session"`
	// Added is the number of new entries; zero if all were already there.
	Added int64 `json:"added"`
	// Branch is the last of the new entries if they are on another branch than the head:
	// the session was continued in firn too. The head stays where it was.
	Branch   firn.EntryID `json:"branch,omitempty"`
	Fidelity Fidelity     `json:"fidelity"`
}

// Format is a format that sessions can be imported from and exported to.
type Format struct {
	Name string `json:"name"`
	// Limits lists features that the format cannot represent and how they are handled.
	Limits []Loss `json:"limits,omitempty"`
}
