// Package native is the dialect of firn's own files: the session format of pi,
// version 3, with a few more types of entries, which pi carries along without
// harm. It reads every file that pi writes and pi opens every file it writes.
// The bytes are described in docs/format.md.
//
// What it does not know it carries: unknown members of entries, messages,
// parts and usage in their Extra fields, unknown parts as [firn.OpaquePart],
// unknown entries as [firn.Opaque]. A member that we know but whose value is of
// another kind than it should be is treated as unknown; if the entry makes no
// sense without it, the entry is opaque.
package native

import (
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// Dialect reads and writes the native format. The zero value is ready.
type Dialect struct{}

// New returns the native dialect.
func New() Dialect { return Dialect{} }

// Name returns dialect.Native.
func (Dialect) Name() dialect.Name { return dialect.Native }

// shareLimit is the length up to which the strings of a line are cut from one
// copy of it. Of longer lines every string is copied alone, so that keeping an
// id does not keep a megabyte.
const shareLimit = 4 << 10

// Decode reads one line, given without its newline. It fails, with ErrCorrupt,
// only if the line is not one JSON object.
func (Dialect) Decode(line []byte) (firn.Entry, error) {
	d := decoder{}
	if len(line) <= shareLimit {
		d.r = rawjson.NewShared(line)
	} else {
		d.r = rawjson.New(line)
	}
	e, known := d.entry()
	if err := d.r.End(); err != nil {
		return firn.Entry{}, corrupt("reading an entry", err)
	}
	if !known {
		return opaque(line)
	}
	return e, nil
}

// opaque reads a line whose type or shape is not known to us.
func opaque(line []byte) (firn.Entry, error) {
	if err := looksWhole(line); err != nil {
		return firn.Entry{}, corrupt("reading an entry", err)
	}
	g := glancer{r: rawjson.New(line)}
	g.read(true)
	if err := g.r.End(); err != nil {
		return firn.Entry{}, corrupt("reading an entry", err)
	}
	glance := g.glance()
	time, _ := parseTime(g.time)
	return firn.Entry{
		ID:     glance.ID,
		Parent: glance.Parent,
		Time:   time,
		Body:   &firn.Opaque{Type: glance.Kind, Raw: append([]byte(nil), line...)},
	}, nil
}

func corrupt(doing string, err error) error {
	return fmt.Errorf("%s: %w: %w", doing, firn.ErrCorrupt, err)
}
