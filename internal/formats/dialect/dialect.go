// Package dialect says what it means to spell entries as lines of text.
//
// Every agent keeps its sessions in its own dialect of JSON lines. A [Dialect]
// reads them as entries and writes entries as that agent would. Members of the
// family know one dialect each; [Detect] tells from a file's first lines which
// one it is in.
//
// Dialects are pure: they turn bytes into entries and back, do no I/O and read
// no clock. What they do not understand they carry and do not drop.
package dialect

import (
	"time"

	"firn.dev"
)

// Name names a dialect.
type Name string

// The dialects there are.
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

// Decoder reads lines. It keeps no state and may be used by many goroutines.
type Decoder interface {
	// Decode reads one line, given without its newline, as an entry. It does
	// not keep line. A line that is not one JSON object is an ErrCorrupt; any
	// other can be read, if need be as [firn.Opaque].
	Decode(line []byte) (firn.Entry, error)
	// Glance reads only what the tree needs to know of a line. It does not keep
	// line. It agrees with what Decode returns for the same line, but may find
	// no fault where Decode does, because it need not walk to the line's end.
	Glance(line []byte) (firn.Glance, error)
}

// Timer is a decoder that can tell when a line was written and leave the rest
// of it unread, for lists.
type Timer interface {
	// Time tells what Decode would return as the time of the entry; false if
	// that is not to be had so cheaply.
	Time(line []byte) (time.Time, bool)
}

// Encoder writes lines. It keeps no state and may be used by many goroutines.
type Encoder interface {
	// Append adds the entry as one line, without a newline, to dst. What it
	// cannot spell is an ErrInvalid or ErrUnsupported, and dst is returned as
	// it was.
	Append(dst []byte, e firn.Entry) ([]byte, error)
}

// Dialect is a way to spell entries. What its encoder wrote, its decoder reads
// as the same entry.
type Dialect interface {
	Name() Name
	Decoder
	Encoder
}
