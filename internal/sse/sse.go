// Package sse reads and writes server-sent events, the stream format that
// model providers answer in and that the gateway speaks.
//
// It knows the format (lines, fields, comments, ids) and nothing of what the
// events mean.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"firn"
)

// Event is one event of a stream.
type Event struct {
	// ID is the id in force when the event came: it stays until another is told.
	ID string
	// Name is what the event calls itself; empty means "message".
	Name string
	// Data is the payload, lines joined by line breaks. It is valid until the
	// next event is read.
	Data []byte
}

// MaxEvent bounds the size of one event in bytes. A server that sends more
// without ending the event is broken.
const MaxEvent = 64 << 20

// Read yields the events of a stream until it ends. An end in the middle of an
// event drops that event, as the format says, and is not an error here: who
// needs to know whether all came looks for the event that says so. An error is
// the reader's, or ErrTooLarge.
func Read(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &scanner{lines: bufio.NewReaderSize(r, 16<<10)}
		for {
			event, ok, err := s.next()
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !ok || !yield(event, nil) {
				return
			}
		}
	}
}

// scanner gathers lines into events.
type scanner struct {
	lines *bufio.Reader
	line  []byte
	event Event
	// data says that the event has a data field, if only an empty one.
	data bool
	// begun: the first line was read, and a mark of byte order before it left out.
	begun bool
	// cr: the last line ended in a carriage return; a line feed right behind it
	// belongs to that end.
	cr bool
	// size counts the bytes of the event.
	size int
}

// next returns the next event that has data; false at the end.
func (s *scanner) next() (Event, bool, error) {
	s.event.Name, s.event.Data, s.data, s.size = "", s.event.Data[:0], false, 0
	for {
		line, err := s.readLine()
		if errors.Is(err, io.EOF) {
			return Event{}, false, nil
		}
		if err != nil {
			return Event{}, false, err
		}
		if s.size += len(line) + 1; s.size > MaxEvent {
			return Event{}, false, fmt.Errorf("read an event of a stream: more than %d bytes: %w", MaxEvent, firn.ErrTooLarge)
		}
		if len(line) > 0 {
			s.field(line)
			continue
		}
		if s.data {
			return s.event, true, nil
		}
		s.event.Name, s.size = "", 0
	}
}

// field takes one line of an event.
func (s *scanner) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		s.event.Name = string(value)
	case "data":
		if s.data {
			s.event.Data = append(s.event.Data, '\n')
		}
		s.event.Data = append(s.event.Data, value...)
		s.data = true
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			s.event.ID = string(value)
		}
	}
}

// readLine returns the next line without its end, which is LF, CR or CRLF. A
// line that the stream ends in the middle of is not one.
func (s *scanner) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		c, err := s.lines.ReadByte()
		if err != nil {
			return nil, err
		}
		if s.cr && c == '\n' {
			s.cr = false
			continue
		}
		s.cr = c == '\r'
		if c == '\n' || c == '\r' {
			break
		}
		if len(s.line) >= MaxEvent {
			return nil, fmt.Errorf("read an event of a stream: a line of more than %d bytes: %w", MaxEvent, firn.ErrTooLarge)
		}
		s.line = append(s.line, c)
	}
	if !s.begun {
		s.begun = true
		return bytes.TrimPrefix(s.line, []byte("\xef\xbb\xbf")), nil
	}
	return s.line, nil
}

// Append adds an event to b in the form that streams have.
func Append(b []byte, e Event) []byte {
	if e.ID != "" {
		b = append(append(append(b, "id: "...), oneLine(e.ID)...), '\n')
	}
	if e.Name != "" {
		b = append(append(append(b, "event: "...), oneLine(e.Name)...), '\n')
	}
	for line := range bytes.SplitSeq(e.Data, []byte("\n")) {
		b = append(append(append(b, "data: "...), line...), '\n')
	}
	return append(b, '\n')
}

// oneLine keeps a value from ending its line.
func oneLine(s string) string {
	clean := []byte(s)
	for i, c := range clean {
		if c == '\n' || c == '\r' {
			clean[i] = ' '
		}
	}
	return string(clean)
}
