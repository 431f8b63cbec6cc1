package convert

import (
	"bytes"
	"io"

	"firn/internal/mask"
)

// Masked is a writer of JSON lines that masks the secrets in them. A line is passed
// on when it is whole; Close passes on the last one. It does not close what it
// writes to.
type Masked struct {
	// Places is how many secrets were masked.
	Places int64

	w    io.Writer
	line []byte
}

// NewMasked makes a writer that writes to w.
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

// Close passes on what is left.
func (m *Masked) Close() error {
	if len(m.line) == 0 {
		return nil
	}
	return m.pass(m.line, "")
}

// pass passes on a line, and keeps its room for the next one.
func (m *Masked) pass(line []byte, end string) error {
	out, places := mask.JSON(line)
	m.Places += int64(places)
	_, err := m.w.Write(append(out, end...))
	m.line = line[:0]
	return err
}
