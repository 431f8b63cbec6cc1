package doctor

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/render/prose"
)

// lineResult is the result of reading one line.
type lineResult struct {
	// entries are the entries on the line, in order: one normally, none if it is blank,
	// several if newlines are missing.
	entries []foundEntry
	// flaws are the problems of the line itself.
	flaws []flaw
	crlf  bool
}

// foundEntry is an entry read from a line.
type foundEntry struct {
	// offset is its start in the line.
	offset int
	glance firn.Glance
	entry  firn.Entry
}

// flaw is a problem within a line.
type flaw struct {
	kind     Kind
	severity Severity
	offset   int
	entry    firn.EntryID
	message  string
}

// lineReader reads lines and classifies their damage.
type lineReader struct{ reader dialect.Reader }

func newLineReader() *lineReader {
	return &lineReader{reader: dialect.Reader{Dialect: native.New()}}
}

// read reads one line.
func (l *lineReader) read(line journal.Line) lineResult {
	r := lineResult{crlf: !line.Unfinished && bytes.HasSuffix(line.Data, []byte{'\r'})}
	for i, record := range l.reader.Records(dialect.Line(line)) {
		offset := 0
		if i > 0 {
			offset = int(record.At - line.Start)
		}
		if record.Gap != nil {
			end := min(int(record.Next-line.Start), len(line.Data))
			if line.Gap != "" { // its bytes were not read
				r.gap(record.Gap, offset, int(line.Next-line.Start))
				continue
			}
			if line.Unfinished && record.Next == record.At { // the gap of an unterminated line has no extent
				end = len(line.Data)
			}
			r.gap(record.Gap, offset, end-offset)
			continue
		}
		r.take(&record, offset)
	}
	return r
}

// take reads an entry.
func (r *lineResult) take(record *firn.Record, offset int) {
	entry, err := record.Entry()
	if err != nil {
		r.flaw(Damaged, Fault, offset, "", fmt.Sprintf("%s cannot be read: %v", plural(len(record.Line()), "byte"), err))
		return
	}
	r.entries = append(r.entries, foundEntry{offset: offset, glance: record.Glance, entry: entry})
	if isMalformed(entry) {
		r.flaw(Malformed, Warn, offset, entry.ID,
			fmt.Sprintf("the entry has type %s but not its structure; it is kept but not sent to a model", entry.Body.Kind()))
	}
	at, bad := badText(record.Line())
	switch {
	case !utf8.Valid(record.Line()): // no writer produces this: a byte was changed
		r.flaw(BadText, Fault, offset+at, entry.ID, "the entry contains bytes that are not UTF-8; each is read as U+FFFD")
	case bad:
		r.flaw(BadText, Warn, offset+at, entry.ID,
			"the entry contains invalid text (half a surrogate pair or a NUL character); each is read as U+FFFD")
	}
}

// gap adds a flaw for an unreadable part of a line.
func (r *lineResult) gap(g *firn.Gap, offset, size int) {
	bytes := plural(size, "byte")
	switch Kind(g.Kind) {
	case Glued:
		r.flaw(Glued, Fault, offset, "", "a newline is missing between two records; firn reads both, other programs may lose them")
	case NUL:
		r.flaw(NUL, Fault, offset, "", bytes+" of value zero, as a power failure leaves them; the original content is lost")
	case BOM:
		r.flaw(BOM, Warn, offset, "", "the line begins with a byte order mark, which is skipped")
	case Torn:
		r.flaw(Torn, Fault, offset, "", fmt.Sprintf("incomplete record (%s): %s", bytes, g.Detail))
	case TooLong:
		r.flaw(TooLong, Fault, offset, "", fmt.Sprintf("a line of %s is over the limit and was skipped; its bytes are kept, and a higher store.max_line reads it", bytes))
	default:
		r.flaw(Kind(g.Kind), Fault, offset, "", fmt.Sprintf("%s cannot be read: %s", bytes, g.Detail))
	}
}

func (r *lineResult) flaw(kind Kind, severity Severity, offset int, entry firn.EntryID, message string) {
	r.flaws = append(r.flaws, flaw{kind: kind, severity: severity, offset: offset, entry: entry, message: message})
}

// isMalformed reports whether an entry of a known type could not be decoded.
func isMalformed(e firn.Entry) bool {
	o, ok := e.Body.(*firn.Opaque)
	if !ok {
		return false
	}
	switch o.Type {
	case firn.KindHeader, firn.KindMessage, firn.KindCompaction, firn.KindBranchSummary, firn.KindTombstone,
		firn.KindLabel, firn.KindTitle, firn.KindModelChange, firn.KindThinkingChange, firn.KindCustom,
		firn.KindCustomMessage, firn.KindHead:
		return true
	}
	return false
}

// badText returns the offset of the first invalid text in a line.
func badText(line []byte) (at int, bad bool) {
	clean, changed := rawjson.Clean(line)
	if !changed {
		return 0, false
	}
	for at < len(line) && line[at] == clean[at] {
		at++
	}
	if clean[at] != '\\' { // an escape was replaced, which differs in its digits only
		at = bytes.LastIndexByte(line[:at], '\\')
	}
	return at, true
}

// plural formats a number with its noun.
func plural(n int, noun string) string {
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		return prose.Count(n, noun, stem+"ries")
	}
	return prose.Plural(n, noun)
}
