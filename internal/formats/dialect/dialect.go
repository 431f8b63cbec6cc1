// Package dialect defines how entries are encoded as lines of text.
//
// Every agent stores its sessions in its own dialect of JSON lines. A [Dialect] decodes
// such lines to entries and encodes entries as that agent would. Each subpackage implements
// one dialect; [Detect] identifies the dialect of a file from its first lines.
//
// Dialects are pure: they convert bytes to entries and back, do no I/O and read no clock.
// Fields they do not know are carried, not dropped.
package dialect

import (
	"time"

	"firn.dev"
)

// Name identifies a dialect.
type Name string

// The known dialects.
const (
	Native     Name = "native"
	Pi         Name = "pi"
	OpenClaw   Name = "openclaw"
	ClaudeCode Name = "claudecode"
	Cersei     Name = "cersei"
	CrabTalk   Name = "crabtalk"
	Claw0      Name = "claw0"
	Codex      Name = "codex"
)

// The tools whose sessions are read as record transcripts; see [RecordsType].
const (
	OpenCode Name = "opencode"
	Gemini   Name = "gemini"
	Copilot  Name = "copilot"
	Crush    Name = "crush"
	Goose    Name = "goose"
	Cline    Name = "cline"
	Hermes   Name = "hermes"
	Aider    Name = "aider"
	Cursor   Name = "cursor"
	Zed      Name = "zed"
)

// recordTools lists them.
var recordTools = []Name{OpenCode, Gemini, Copilot, Crush, Goose, Cline, Hermes, Aider, Cursor, Zed}

// Decoder decodes lines. It is stateless and safe for concurrent use.
type Decoder interface {
	// Decode decodes one line, without its newline. It does not retain line. It fails with
	// ErrCorrupt if the line is not a single JSON object; any other line is decoded, as
	// [firn.Opaque] if necessary.
	Decode(line []byte) (firn.Entry, error)
	// Glance decodes only the fields that the tree needs. It does not retain line. It
	// agrees with Decode on valid lines, but may miss errors that Decode reports, because
	// it need not read to the end of the line.
	Glance(line []byte) (firn.Glance, error)
}

// Timer is a decoder that can read the time of a line without decoding the rest, for lists.
type Timer interface {
	// Time returns the time that Decode would return for the entry, or false if that would
	// require a full decode.
	Time(line []byte) (time.Time, bool)
}

// Encoder encodes entries. It is stateless and safe for concurrent use.
type Encoder interface {
	// Append appends the entry to dst as one line without a newline. If the entry cannot be
	// encoded, it returns dst unchanged and ErrInvalid or ErrUnsupported.
	Append(dst []byte, e firn.Entry) ([]byte, error)
}

// Dialect is an encoding of entries. Its decoder reads a line of its encoder as the same
// entry.
type Dialect interface {
	Name() Name
	Decoder
	Encoder
}
