package convert

import (
	"bytes"
	"io"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/find/mask"
)

// Masked is a writer of JSON lines that masks secrets in them and removes the text of draft
// pieces, which are stored while a response is streamed. A line is passed on when it is
// complete; Close passes on the last one. It does not close the underlying writer.
type Masked struct {
	// Places is the number of secrets masked.
	Places int64

	w    io.Writer
	line []byte
	// unlinked is set after a masked line that had no link. Its hash cannot be kept, since
	// the secret could be guessed from it, so the links that follow would not match.
	unlinked bool
}

// NewMasked returns a writer that writes to w.
func NewMasked(w io.Writer) *Masked { return &Masked{w: w} }

// Write implements [io.Writer].
func (m *Masked) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		at := bytes.IndexByte(rest, '\n')
		if at < 0 {
			m.line = append(m.line, rest...)
			break
		}
		if err := m.pass(append(m.line, rest[:at]...), "\n"); err != nil {
			return 0, err
		}
		rest = rest[at+1:]
	}
	return len(p), nil
}

// Close passes on the last line.
func (m *Masked) Close() error {
	if len(m.line) == 0 {
		return nil
	}
	return m.pass(m.line, "")
}

// pass passes on a line and reuses its buffer for the next one.
func (m *Masked) pass(line []byte, end string) error {
	plain := hashchain.Without(line) // a link looks like a secret
	out, places := mask.JSON(withoutDrafts(plain))
	switch _, linked := hashchain.LinkOf(line); {
	case linked && !m.unlinked && bytes.Equal(out, plain):
		out = bytes.Clone(line)
	case linked && !m.unlinked:
		out = hashchain.Redact(out, line)
	case !bytes.Equal(out, plain):
		m.unlinked = true
	}
	m.Places += int64(places)
	_, err := m.w.Write(append(out, end...))
	m.line = line[:0]
	return err
}

// withoutDrafts returns a line without the text of draft pieces: a secret that is split
// between two of them cannot be recognized in either. The final response, which is masked,
// repeats the text; that of a response interrupted by a crash is lost. A line that is not
// valid JSON is truncated after the type.
func withoutDrafts(line []byte) []byte {
	const quoted = `"` + firn.DraftType + `"`
	at := bytes.Index(line, []byte(quoted))
	if at < 0 {
		return line
	}
	r := rawjson.New(line)
	c := cutting{line: line}
	c.value(&r, false)
	if r.End() != nil {
		return line[:at+len(quoted)]
	}
	return append(c.out, line[c.at:]...)
}

// cutting rewrites a line without the text of draft pieces.
type cutting struct {
	line, out []byte
	// at is the number of bytes of line that are in out.
	at int
}

// value processes the next value; within is set inside a draft piece.
func (c *cutting) value(r *rawjson.Reader, within bool) {
	switch r.Kind() {
	case rawjson.Object:
		within = within || isDraft(*r)
		for ok := r.Object(); ok && r.Member(); {
			name := string(r.Key())
			if within && (name == "text" || name == "thinking") && r.Kind() == rawjson.String {
				size := len(r.Raw())
				c.out = append(append(c.out, c.line[c.at:r.Offset()-size]...), `""`...)
				c.at = r.Offset()
				continue
			}
			c.value(r, within)
		}
	case rawjson.Array:
		for ok := r.Array(); ok && r.Element(); {
			c.value(r, within)
		}
	default:
		r.Skip()
	}
}

// isDraft reports whether an object is a draft piece.
func isDraft(r rawjson.Reader) bool {
	for ok := r.Object(); ok && r.Member(); {
		if name := string(r.Key()); name == "customType" || name == "type" {
			if kind, ok := r.Text(); ok && kind == firn.DraftType {
				return true
			} else if ok {
				continue
			}
			return false
		}
		r.Skip()
	}
	return false
}
