// Package doctor finds damage in a home and repairs it where appending to a file is enough.
//
// It opens files directly, because it must work when nothing else does. [Verify] and
// [Examine] only read: they change no bytes, names or modification times. [Repair] appends.
// Like every writer that opens a transcript, it also saves an unfinished last line to a
// separate file before truncating it.
package doctor

import (
	"firn.dev"
)

// Severity is the severity of a finding.
type Severity string

// The severities. Only Fault means that data is lost or unreadable.
const (
	// Info needs no action.
	Info Severity = "info"
	// Warn is an irregularity that does not affect reading.
	Warn Severity = "warn"
	// Fault is damage: bytes, entries or links that are not as they were written.
	Fault Severity = "fault"
)

// Kind is the kind of a finding. Gaps reported by readers keep their names.
type Kind string

// The kinds of findings in transcripts.
const (
	Torn      = Kind(firn.GapTorn)
	Damaged   = Kind(firn.GapDamaged)
	NUL       = Kind(firn.GapNUL)
	Glued     = Kind(firn.GapGlued)
	BOM       = Kind(firn.GapBOM)
	NoHeader  = Kind(firn.GapNoHeader)
	Duplicate = Kind(firn.GapDuplicate)
	Dangling  = Kind(firn.GapDangling)
	NoParent  = Kind(firn.GapNoParent)
	TooLong   = Kind(firn.GapTooLong)
	Erased    = Kind(firn.GapErased)

	// Unfinished is a complete last line without its newline.
	Unfinished Kind = "no-newline"
	// CRLF is a line that ends in a carriage return and a newline.
	CRLF Kind = "crlf"
	// BadText is invalid text: bytes that are not UTF-8, an unpaired surrogate, or a zero
	// character. It is read as U+FFFD.
	BadText = Kind(firn.GapBadText)
	// Malformed is an entry of a known type with invalid contents.
	Malformed Kind = "malformed"
	// NoID is an entry without an ID: it is in the file but not in the tree.
	NoID Kind = "no-id"
	// Cycle is an entry that is its own ancestor.
	Cycle Kind = "parent-cycle"
	// ParentAfter is an entry whose parent is later in the file.
	ParentAfter Kind = "parent-after"
	// MoreHeaders is a header that is not the first line.
	MoreHeaders Kind = "second-header"
	// OtherSession is a header whose ID differs from the file name.
	OtherSession Kind = "other-session"
	// MissingPart is a missing part file before an existing one.
	MissingPart Kind = "missing-part"
	// SideFile is a file that was saved next to a transcript.
	SideFile Kind = "saved-aside"
	// Interrupted is a session that ends with an unanswered tool call.
	Interrupted Kind = "interrupted"
	// Growing is a transcript that is being written to.
	Growing Kind = "being-written"
	// Empty is an empty transcript: its first append failed.
	Empty Kind = "empty"
	// Foreign is a file in another program's format.
	Foreign Kind = "foreign"
	// Unreadable is a file that cannot be read because of a system error.
	Unreadable Kind = "unreadable"
)

// The kinds of findings in a home.
const (
	Permissions Kind = "permissions"
	Symlink     Kind = "symlink"
	Stray       Kind = "stray"
	Leftover    Kind = "leftover"
	Table       Kind = "table"
	// Files is about the contents of files that tools changed.
	Files       Kind = "files"
	Bin         Kind = "bin"
	Receipt     Kind = "receipt"
	CommitLog   Kind = "commit-log"
	Index       Kind = "index"
	DiskSpace   Kind = "disk-space"
	NetworkDisk Kind = "network-disk"
	InUse       Kind = "in-use"
	Twice       Kind = "twice"
	// SearchModel is a model that embeds messages and cannot be used.
	SearchModel Kind = "search-model"
	// Copy is session files in a home that uses another store.
	Copy Kind = "copy"
)

// Finding is one result of an examination.
type Finding struct {
	Severity Severity `json:"severity"`
	Kind     Kind     `json:"kind"`
	Session  firn.ID  `json:"session,omitempty"`
	// File is relative to the home, or the path as given for a file that was named
	// directly.
	File string `json:"file,omitempty"`
	// At is the place in the file; nil if the finding is about the whole file.
	At *Place `json:"at,omitempty"`
	// Entry is the affected entry, if it could be read.
	Entry firn.EntryID `json:"entry,omitempty"`
	// Message is a one-sentence description. Hint suggests what to do.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Repaired is set if a later entry in the file repairs the damage.
	Repaired bool `json:"repaired,omitempty"`
}

// Place is a place in a file: the line number, counted from 1, and the byte offset.
type Place struct {
	Line   int   `json:"line"`
	Offset int64 `json:"offset"`
}

// Report is the result of an examination.
type Report struct {
	// Root is the home, or the path that was named.
	Root string `json:"root"`
	// Sessions, Files, Entries and Bytes count the data that was read.
	Sessions int   `json:"sessions"`
	Files    int   `json:"files"`
	Entries  int   `json:"entries"`
	Bytes    int64 `json:"bytes"`
	// Faults, Warnings and Infos count all findings, including those not listed.
	Faults   int `json:"faults"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	// Faulty counts the sessions with a fault.
	Faulty int `json:"faulty"`
	// Findings are in file order. The number listed is limited per kind and session;
	// Unlisted counts the others.
	Findings []Finding    `json:"findings"`
	Unlisted map[Kind]int `json:"unlisted,omitempty"`
	// Accepted are the accepted faults, which are not in Findings. NewlyAccepted counts
	// those accepted by this run.
	Accepted      []Finding `json:"accepted,omitempty"`
	NewlyAccepted int       `json:"newlyAccepted,omitempty"`
	// Anchored counts the sessions that were compared with the anchor, Proven those that
	// still contain everything it recorded, except for erased entries.
	Anchored int `json:"anchored,omitempty"`
	Proven   int `json:"proven,omitempty"`
	// Unlinked counts the sessions in which no line has a link, unless none has.
	Unlinked int `json:"unlinked,omitempty"`
	// Checks are the checks of the home, if it was examined as a whole.
	Checks []Check `json:"checks,omitempty"`
}

// Check is the result of one check of a home.
type Check struct {
	Name string `json:"name"`
	// Result is a short description.
	Result string `json:"result"`
	// Worst is the worst severity found; empty if there are no findings.
	Worst Severity `json:"worst,omitempty"`
}

// OK reports whether there are no faults. Warnings do not count.
func (r *Report) OK() bool { return r.Faults == 0 }

// count counts a finding, listed or not.
func (r *Report) count(s Severity) {
	switch s {
	case Fault:
		r.Faults++
	case Warn:
		r.Warnings++
	default:
		r.Infos++
	}
}

// add lists and counts a finding.
func (r *Report) add(f Finding) {
	r.count(f.Severity)
	r.Findings = append(r.Findings, f)
}

// countOnly counts a finding without listing it.
func (r *Report) countOnly(f Finding) {
	r.count(f.Severity)
	if r.Unlisted == nil {
		r.Unlisted = make(map[Kind]int)
	}
	r.Unlisted[f.Kind]++
}
