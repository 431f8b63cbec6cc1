// Package native implements the dialect of firn's own files: version 3 of pi's session
// format with a few additional entry types, which pi preserves. It reads every file that pi
// writes, and pi opens every file that it writes. The format is specified in
// docs/format.md.
//
// Unknown data is carried: unknown members of entries, messages, parts and usage in their
// Extra fields, unknown parts as [firn.OpaquePart], unknown entries as [firn.Opaque]. A
// known member with a value of the wrong type is treated as unknown; if it is essential,
// the entry is opaque.
package native

import (
	"bytes"
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// Dialect decodes and encodes the native format. The zero value is ready to use.
type Dialect struct{}

// New returns the native dialect.
func New() Dialect { return Dialect{} }

// Name returns dialect.Native.
func (Dialect) Name() dialect.Name { return dialect.Native }

// shareLimit is the maximum length of a line whose strings are slices of one shared copy.
// For longer lines every string is copied separately, so that retaining an ID does not
// retain a megabyte.
const shareLimit = 4 << 10

// Decode decodes one line, without its newline. It fails with ErrCorrupt only if the line
// is not a single JSON object.
func (Dialect) Decode(line []byte) (firn.Entry, error) {
	d := decoder{link: hashchain.LinkOffset(line)}
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

// opaque decodes a line of unknown type or shape.
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
		Body:   &firn.Opaque{Type: glance.Kind, Raw: bytes.Clone(hashchain.Without(line))},
	}, nil
}

func corrupt(doing string, err error) error {
	return fmt.Errorf("%s: %w: %w", doing, firn.ErrCorrupt, err)
}
