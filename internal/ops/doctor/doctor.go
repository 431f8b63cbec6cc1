// Package doctor looks for what is wrong with a home. What can be mended by adding
// to a file it mends, if it is asked to.
//
// It opens files directly, because it must work when nothing else does.
// [Verify] and [Examine] only read: no byte, no name and no modification time of
// any file is changed by them. [Repair] appends; the one other thing it does is what every
// writer does on opening a transcript: an unfinished last line is saved in a
// file of its own before it is cut off.
package doctor

import (
	"firn.dev"
)

// Severity says how bad a finding is.
type Severity string

// The severities. Only a fault says that something is lost or cannot be read.
const (
	// Info is worth knowing and needs no action.
	Info Severity = "info"
	// Warn is out of order, but everything is read all the same.
	Warn Severity = "warn"
	// Fault is damage: bytes, entries or links that are not as they were written.
	Fault Severity = "fault"
)

// Kind is the kind of a finding in one word. Gaps that readers name keep their
// name here.
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

	// Unfinished is a last line that is whole but for its newline.
	Unfinished Kind = "no-newline"
	// CRLF is a line that ends in a carriage return and a newline.
	CRLF Kind = "crlf"
	// BadText is text that is not valid: other bytes than UTF-8, half a
	// surrogate pair, a zero character. It is read with U+FFFD in its place.
	BadText = Kind(firn.GapBadText)
	// Malformed is an entry of a known type that makes no sense.
	Malformed Kind = "malformed"
	// NoID is an entry without an id: it is in the file and not in the tree.
	NoID Kind = "no-id"
	// Cycle is an entry whose parents lead back to it.
	Cycle Kind = "parent-cycle"
	// ParentAfter is an entry whose parent stands after it.
	ParentAfter Kind = "parent-after"
	// MoreHeaders is a header that is not the first line.
	MoreHeaders Kind = "second-header"
	// OtherSession is a header that tells another id than the file's name.
	OtherSession Kind = "other-session"
	// MissingPart is a part file that is not there although a later one is.
	MissingPart Kind = "missing-part"
	// SideFile is what was saved beside a transcript.
	SideFile Kind = "saved-aside"
	// Interrupted is a session that ends with a tool call nobody answered.
	Interrupted Kind = "interrupted"
	// Growing is a transcript that somebody is writing to right now.
	Growing Kind = "being-written"
	// Empty is a transcript without a byte: its first append failed.
	Empty Kind = "empty"
	// Foreign is a file of another program's format.
	Foreign Kind = "foreign"
	// Unreadable is a file that the system does not let us read.
	Unreadable Kind = "unreadable"
)

// The kinds of findings in a home.
const (
	Permissions Kind = "permissions"
	Symlink     Kind = "symlink"
	Stray       Kind = "stray"
	Leftover    Kind = "leftover"
	Table       Kind = "table"
	Bin         Kind = "bin"
	Receipt     Kind = "receipt"
	CommitLog   Kind = "commit-log"
	Index       Kind = "index"
	DiskSpace   Kind = "disk-space"
	NetworkDisk Kind = "network-disk"
	InUse       Kind = "in-use"
	Twice       Kind = "twice"
	// Copy is sessions in files of a home that keeps its sessions elsewhere.
	Copy Kind = "copy"
)

// Finding is one thing that was noticed.
type Finding struct {
	Severity Severity `json:"severity"`
	Kind     Kind     `json:"kind"`
	Session  firn.ID  `json:"session,omitempty"`
	// File is relative to the home; a file that was named on its own is called
	// what it was called then.
	File string `json:"file,omitempty"`
	// At is where in the file; nil if it is about the file as a whole.
	At *Place `json:"at,omitempty"`
	// Entry is the entry it is about, if it could be read.
	Entry firn.EntryID `json:"entry,omitempty"`
	// Message says it in one sentence, Hint what can be done.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Repaired says that it was mended by what stands later in the file.
	Repaired bool `json:"repaired,omitempty"`
}

// Place is a place in a file: the number of the line, counted from 1, and the
// number of bytes before it.
type Place struct {
	Line   int   `json:"line"`
	Offset int64 `json:"offset"`
}

// Report is what an examination found.
type Report struct {
	// Root is the home, or the path that was named.
	Root string `json:"root"`
	// Sessions, Files, Entries and Bytes count what was read.
	Sessions int   `json:"sessions"`
	Files    int   `json:"files"`
	Entries  int   `json:"entries"`
	Bytes    int64 `json:"bytes"`
	// Faults, Warnings and Infos count all findings, also those not listed.
	Faults   int `json:"faults"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	// Sick counts the sessions with a fault.
	Sick int `json:"sick"`
	// Findings are in the order of the files. Of each kind only so many are
	// listed for one session; Unlisted counts the others.
	Findings []Finding    `json:"findings"`
	Unlisted map[Kind]int `json:"unlisted,omitempty"`
	// Accepted are the faults that were accepted, which are not among the others.
	// NewlyAccepted counts those that were accepted just now.
	Accepted      []Finding `json:"accepted,omitempty"`
	NewlyAccepted int       `json:"newlyAccepted,omitempty"`
	// Checks are those of the home, if it was examined as a whole.
	Checks []Check `json:"checks,omitempty"`
}

// Check is one thing about a home that was looked at.
type Check struct {
	Name string `json:"name"`
	// Result says in a few words what was found.
	Result string `json:"result"`
	// Worst is the severity of the worst finding; empty if there is none.
	Worst Severity `json:"worst,omitempty"`
}

// OK reports whether there is no fault. Warnings do not count.
func (r *Report) OK() bool { return r.Faults == 0 }

// count notes a finding that is listed or not.
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

// add lists a finding.
func (r *Report) add(f Finding) {
	r.count(f.Severity)
	r.Findings = append(r.Findings, f)
}

// drop counts a finding without listing it.
func (r *Report) drop(f Finding) {
	r.count(f.Severity)
	if r.Unlisted == nil {
		r.Unlisted = make(map[Kind]int)
	}
	r.Unlisted[f.Kind]++
}
