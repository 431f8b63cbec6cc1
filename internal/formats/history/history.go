// Package history reads the sessions of tools that keep them in databases, in JSON trees
// or in Markdown instead of in append-only files. Each tool's package lists its sessions
// and turns a session into records; this package presents them as a folder of transcripts
// with one record per line, so that everything that works with transcripts works with
// them: mirrors, lists, search, import and handoff. Such sessions are read, not written.
//
// A record transcript begins with a [Head]. Every further line is a record of the tool, a
// JSON object, usually one message with all its parts. The records are the tool's own data:
// fields that firn does not know are carried.
package history

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"iter"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// Version is the version of record transcripts.
const Version = 1

// HeadType is the type of the first line of a record transcript.
const HeadType = dialect.RecordsType

// Head is the first line of a record transcript.
type Head struct {
	Type    string       `json:"type"`
	Tool    dialect.Name `json:"tool"`
	Version int          `json:"version"`
	// ID is the tool's ID of the session, Parent that of the session it belongs to. Sub is
	// set if a sub-agent ran it.
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	Sub    bool   `json:"sub,omitempty"`
	// Title and CWD are as the tool recorded them.
	Title    string    `json:"title,omitempty"`
	CWD      string    `json:"cwd,omitempty"`
	Archived bool      `json:"archived,omitempty"`
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"`
}

// Session is a session in a tool's home.
type Session struct {
	Head
	// Records returns the records of the session, each a JSON object on one line.
	Records func() ([][]byte, error)
}

// Source finds the sessions in a tool's home. It only reads.
type Source interface {
	// Owns reports whether a directory looks like a home of the tool, judging by the file
	// names in it.
	Owns(home fs.FS) bool
	// Sessions yields the sessions. A file that cannot be read is yielded as an error, and
	// iteration continues.
	Sessions(home fs.FS) iter.Seq2[Session, error]
	// Files lists the files that hold the sessions. While they are unchanged, the sessions
	// are too.
	Files(home fs.FS) []string
}

// Item is an entry of a record.
type Item struct {
	// Time is zero if the tool recorded none.
	Time time.Time
	Body firn.Body
}

// Decoder reads the records of one transcript, in order.
type Decoder interface {
	// Decode returns the entries of a record. It returns none for a record that is not
	// understood, which is then carried unchanged. It does not retain record.
	Decode(record []byte) []Item
}

// Format describes a tool.
type Format struct {
	Name dialect.Name
	// Homes are the usual homes, relative to the user's home directory.
	Homes []string
	// FindHomes returns the paths of further homes, which the tool recorded below the user's
	// home directory, or relative paths there; it may be nil.
	FindHomes func(user fs.FS) []string
	// InProjects is set if the homes are directories of projects, which are not the tool's own.
	InProjects bool
	// Source finds sessions; Decoder returns a decoder for one of them.
	Source  Source
	Decoder func() Decoder
	// Retention returns how long the tool keeps sessions; nil means forever.
	Retention func(home fs.FS) time.Duration
	// Resume returns the command that continues a session in the tool; nil if there is none.
	Resume func(id string) []string
}

// Tool is a [dialect.Tool] for a format. It can be read only.
type Tool struct{ format Format }

// New returns the tool of a format.
func New(f Format) Tool { return Tool{f} }

// Name returns the name of the tool.
func (t Tool) Name() dialect.Name { return t.format.Name }

// Scanner returns a scanner for a record transcript.
func (t Tool) Scanner(from dialect.Origin) dialect.Scanner { return newScanner(t.format, from) }

// Printer returns a printer that refuses every entry.
func (t Tool) Printer(dialect.Target) dialect.Printer { return refusing(t) }

// Layout returns the layout of record transcripts.
func (t Tool) Layout() dialect.Layout { return layout(t) }

// Limits lists one limit: nothing is written.
func (t Tool) Limits() []dialect.Limit {
	return []dialect.Limit{{Name: "writing", Becomes: "not possible; the sessions can be read, mirrored, searched and handed to other tools"}}
}

// View implements [dialect.Viewer].
func (t Tool) View(home fs.FS) fs.FS { return newView(t.format, home) }

// Raw implements [dialect.Viewer].
func (t Tool) Raw(home fs.FS) []string { return t.format.Source.Files(home) }

// ReadOnly implements [dialect.ReadOnly].
func (t Tool) ReadOnly() error {
	return failure.Of(firn.ErrUnsupported, "firn reads the sessions of %s but cannot write them", t.format.Name)
}

// refusing is the printer of a tool whose files are not written.
type refusing Tool

// Print fails.
func (r refusing) Print(dst []byte, _ firn.Entry) ([]byte, error) { return dst, Tool(r).ReadOnly() }

// Repeat does nothing.
func (refusing) Repeat(firn.Entry, [][]byte) {}

// Finish appends nothing.
func (refusing) Finish(dst []byte) ([]byte, error) { return dst, nil }

// Record returns a record: an object with the type and ID given and further members with
// raw JSON values, in pairs. A value that is not valid JSON, because the tool's data is
// damaged, becomes a string.
func Record(kind, id string, members ...string) []byte {
	return Members(append([]string{"type", Quote(kind), "id", Quote(id)}, members...)...)
}

// Members returns an object with members whose values are raw JSON, in pairs, as in
// [Record].
func Members(members ...string) []byte {
	line := []byte{'{'}
	for i := 0; i+1 < len(members); i += 2 {
		if i > 0 {
			line = append(line, ',')
		}
		line = rawjson.AppendString(line, Clean(members[i]))
		line = append(line, ':')
		if next, err := rawjson.AppendValue(line, []byte(members[i+1])); err == nil {
			line = next
		} else {
			line = rawjson.AppendString(line, Clean(members[i+1]))
		}
	}
	return append(line, '}')
}

// Quote returns a text as JSON.
func Quote(s string) string { return string(rawjson.AppendString(nil, Clean(s))) }

// Line returns a JSON object of the tool as a record. Anything else becomes the data of a
// record without a type.
func Line(raw []byte) []byte {
	r := rawjson.New(raw)
	if line := rawjson.CleanLine(raw); line != nil && r.Kind() == rawjson.Object {
		return line
	}
	return Members("data", string(raw))
}

// Clean returns a text without bytes that a log cannot hold as text.
func Clean(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "�"), "\x00", "�") }

// Unmarshal decodes JSON leniently and reports whether it could. Members of another type
// than expected keep their zero values.
func Unmarshal(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	var wrong *json.UnmarshalTypeError
	return err == nil || asType(err, &wrong)
}

// Millis returns the time of a number of milliseconds since 1970; zero for 0.
func Millis(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Unix returns the time of a number of seconds or milliseconds since 1970; zero for 0. Tools
// changed from one to the other; a number of milliseconds would be a year above 5000.
func Unix(n int64) time.Time {
	if n < 100_000_000_000 {
		n *= 1000
	}
	return Millis(n)
}

// Object returns raw JSON without white space if it is an object, and otherwise an empty
// object.
func Object(raw []byte) json.RawMessage {
	if r := rawjson.New(raw); r.Kind() == rawjson.Object {
		var compact bytes.Buffer
		if line := rawjson.CleanLine(raw); line != nil && json.Compact(&compact, line) == nil {
			return compact.Bytes()
		}
	}
	return json.RawMessage("{}")
}

// Opaque carries a part of a message that is not understood.
func Opaque(kind string, raw []byte) firn.Part {
	if kind = Clean(kind); kind == "" {
		kind = "unknown"
	}
	data := rawjson.CleanLine(raw)
	if data == nil {
		data = json.RawMessage("null")
	}
	return firn.OpaquePart{Type: kind, Raw: data}
}
