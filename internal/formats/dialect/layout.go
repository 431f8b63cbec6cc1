package dialect

import (
	"encoding/json"
	"io/fs"
	"iter"
	"time"

	"firn.dev"
)

// Layout describes where a tool stores its files. Paths are relative to the tool's home,
// with slashes. A layout reads names and index files through the given file system, never a
// whole transcript, and writes nothing.
type Layout interface {
	// Homes lists the usual locations of the home, relative to the user's home directory.
	// It is empty if there is no usual location.
	Homes() []string
	// Owns reports whether a directory looks like a home of the tool, judging by the file
	// names in it.
	Owns(home fs.FS) bool
	// Transcripts yields the transcripts in no particular order. A file that cannot be
	// interpreted is yielded with an error, and iteration continues. A damaged or missing
	// index file is not an error: the transcript files are authoritative.
	Transcripts(home fs.FS) iter.Seq2[Transcript, error]
	// Place returns the path of a new transcript. It never returns the path of an existing
	// file.
	Place(home fs.FS, to Target) (string, error)
	// Part returns the file in which a transcript continues when more bytes are to be added
	// to a file of the given size. It returns false if the transcript is a single file, as
	// with most tools.
	Part(path string, size, more int64) (string, bool)
	// Index returns the new contents of the tool's index files for the transcript at path.
	// It returns none if the tool has no index. Unknown fields are preserved.
	Index(home fs.FS, path string, to Target) ([]File, error)
	// Resume returns the command that resumes the transcript in the tool.
	Resume(path string, to Target) []string
	// SideFiles lists the files of the home that are not transcripts but describe sessions,
	// such as an index or a file with a title. Homes also contain secrets, so only
	// transcripts and these files are ever copied from a home. The entries are patterns as
	// in [path.Match]; a segment ** matches any number of folders. Each pattern is narrow
	// enough to match no files of another purpose.
	SideFiles() []string
	// Retention returns how long the tool retains a session before deleting it, according to
	// its settings or by default. 0 means forever.
	Retention(home fs.FS) time.Duration
}

// Meta is a [Layout] of a tool that stores session metadata in the first line of the
// transcript and rewrites that line while the session continues. Use a type assertion to
// find out whether a layout implements it.
type Meta interface {
	// Meta returns the new first line, without its newline, for the given target. It
	// returns false if the line is up to date or is not a metadata line. An empty title
	// keeps the current one. Uptime is the increment: the duration of the turns since the
	// line was last written. The creation time, unknown members and their order are
	// preserved. The caller must replace the line atomically.
	Meta(first []byte, to Target) (line []byte, ok bool)
}

// Retitler is a [Layout] of a tool that has the title of a session in its file name. Use a
// type assertion to find out whether a layout implements it.
type Retitler interface {
	// Retitle returns the path that the transcript at path has with the target's title. It
	// returns false if the path stays the same.
	Retitle(path string, to Target) (string, bool)
}

// Namer is a [Layout] of a tool that identifies a session by its file name. Use a type
// assertion to find out whether a layout implements it.
type Namer interface {
	// NameOf returns the tool's ID of the transcript at path, or "" if path is not the name
	// of a transcript.
	NameOf(path string) string
}

// Reviser is a [Printer] that checks a tool's original lines before they are written back
// unchanged.
type Reviser interface {
	// Stale reports whether the tool would interpret the lines in the new file differently
	// from the entry. If so, the entry must be printed instead.
	Stale(e firn.Entry, lines [][]byte) bool
}

// Transcript describes a session stored in a tool's home.
type Transcript struct {
	// ID is firn's ID of the session: the tool's own ID if it is a valid [firn.ID]. It is
	// unique within the home.
	ID firn.ID
	// Name is the tool's ID of the session.
	Name string
	// Parts are its files in order.
	Parts []string
	// Title, CWD, Agent and Key are taken from file names and index files.
	Title, CWD string
	Agent, Key string
	// Created and Updated are zero unless an index records them.
	Created, Updated time.Time
	// Parent is the parent session of a sub-agent's session or of a fork.
	Parent firn.ID
	// Sub is set for a sub-agent's transcript.
	Sub bool
	// Archived is set if the tool archived the session.
	Archived bool
	// Compressed is set if the parts are compressed with zstd.
	Compressed bool
	// Row is the session's row in the tool's index.
	Row json.RawMessage
}

// File is a small file that accompanies a transcript, with its new contents.
type File struct {
	Path string
	Data []byte
}

// Keyed is a [Layout] of a tool whose lines are records that the tool updates in place. Use
// a type assertion to find out whether a layout implements it.
type Keyed interface {
	// RecordKey returns the identity of a line, which stays the same when the record is
	// updated. It is empty if the line has none.
	RecordKey(line []byte) string
}

// Stamper is a tree returned by [Tree] that detects changes of
// sessions without reading them.
type Stamper interface {
	// Stamp returns a value that differs if a session was changed, added or deleted since.
	// It is empty if that is not certain, because trusted rejects the time of a file.
	Stamp(trusted func(time.Time) bool) string
}

// Finder is a [Layout] of a tool that records where its homes are, such as one for each
// project. Use a type assertion to find out whether a layout implements it.
type Finder interface {
	// FindHomes returns the paths of homes, absolute or relative to the user's home directory,
	// in addition to the usual ones.
	FindHomes(user fs.FS) []string
	// InProjects reports whether the homes are directories of projects, which are not the
	// tool's own.
	InProjects() bool
}
