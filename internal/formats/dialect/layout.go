package dialect

import (
	"encoding/json"
	"io/fs"
	"iter"
	"time"

	"firn.dev"
)

// Layout is where a tool keeps its files. Paths are within the tool's home,
// with slashes. It reads names and index files through the file system it is
// given, never a transcript as a whole, and writes nothing.
type Layout interface {
	// Homes lists where the home is usually found, below the user's home
	// directory; none if it can be anywhere.
	Homes() []string
	// Owns reports whether a directory looks like a home of the tool, from the
	// names in it.
	Owns(home fs.FS) bool
	// Transcripts yields the transcripts there are, in no order. A file that
	// cannot be made sense of is yielded with an error, and the next ones follow.
	// An index file that is damaged or missing is no error: files are the truth.
	Transcripts(home fs.FS) iter.Seq2[Transcript, error]
	// Place says in which file a new transcript goes. What is there already
	// is never used again.
	Place(home fs.FS, to Target) (string, error)
	// Part names the file that a transcript goes on in when this many bytes
	// are to be added to a file of this size; false if there is only one, as
	// with most tools.
	Part(path string, size, more int64) (string, bool)
	// Index says how the tool's own index files must read once the transcript
	// at path is as told; none if it keeps none. Unknown fields are kept.
	Index(home fs.FS, path string, to Target) ([]File, error)
	// Resume is the command that goes on with the transcript in the tool.
	Resume(path string, to Target) []string
	// Beside lists the files of the home that are no transcripts and tell about
	// sessions, such as an index or a file with a title: with the transcripts they
	// are all that is ever copied of a home, as there are secrets in homes too. They
	// are patterns of [path.Match], in which a segment ** is any number of folders.
	// Each is so narrow that nothing of another purpose can have such a name.
	Beside() []string
	// Keeps says how long the tool keeps a session before it deletes it by
	// itself, as its settings say or by default; 0 means for ever.
	Keeps(home fs.FS) time.Duration
}

// Meta is a layout of a tool that keeps what it knows of a session in the first
// line of the transcript and changes that line while the session goes on. Ask a
// tool's [Layout] whether it is one.
type Meta interface {
	// Meta says how the first line must read, without its newline, now that the
	// session is as told; false if it may stay as it is, or is no such line at
	// all. An empty title leaves the one that is there. Uptime is what is to be
	// added: how long the turns took since the line was last written. The time of
	// creation, unknown members and their order are kept. Who asks replaces the
	// line in one step, so that no crash can leave a part of it.
	Meta(first []byte, to Target) (line []byte, ok bool)
}

// Namer is a layout of a tool that knows a session by the name of its file. Ask a
// tool's [Layout] whether it is one.
type Namer interface {
	// NameOf returns the id by which the tool knows the transcript at path; empty
	// if it is no name of one.
	NameOf(path string) string
}

// Reviser is a printer that looks at the lines that its tool wrote before they are
// written again as they are.
type Reviser interface {
	// Stale reports whether the tool would not read the lines in the new file as
	// what the entry says: it must be printed.
	Stale(e firn.Entry, lines [][]byte) bool
}

// Transcript is a session as it lies in a tool's home.
type Transcript struct {
	// ID is what firn calls the session: the tool's own id wherever that can
	// be one, and unique within the home.
	ID firn.ID
	// Name is what the tool calls it.
	Name string
	// Parts are its files, the first part first.
	Parts []string
	// Title, CWD, Agent and Key are what the names and index files tell.
	Title, CWD string
	Agent, Key string
	// Created and Updated are known if an index tells them.
	Created, Updated time.Time
	// Parent is the session that a sub-agent's, or a fork, belongs to.
	Parent firn.ID
	// Sub is set for a sub-agent's transcript.
	Sub bool
	// Archived is set if the tool put it aside.
	Archived bool
	// Compressed is set if the parts are compressed with zstd.
	Compressed bool
	// Row is what the tool's index says of it.
	Row json.RawMessage
}

// File is a small file that goes with a transcript, as it must read.
type File struct {
	Path string
	Data []byte
}
