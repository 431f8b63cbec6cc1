// Package sse reads and writes server-sent events, the stream format that model providers
// and the gateway use.
//
// It handles the format (lines, fields, comments, IDs) and does not interpret the events.
package sse

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"strings"

	"firn.dev"
)

// Event is one event of a stream.
type Event struct {
	// ID is the last event ID: it stays in effect until another one is sent.
	ID string
	// Name is the type of the event; empty means "message".
	Name string
	// Data is the payload, with lines joined by line feeds. It is valid until the next
	// event is read.
	Data []byte
}

// MaxEvent bounds the data of one event, and every line, in bytes.
const MaxEvent = 64 << 20

// Read yields the events of a stream, each as soon as the line that ends it arrives. An
// incomplete event at the end of the stream is dropped, as the format requires, without an
// error: to detect a truncated stream, check for its final event. An error is either the
// reader's or ErrTooLarge.
func Read(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &scanner{in: bufio.NewReaderSize(r, 16<<10)}
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

// scanner assembles lines into events.
type scanner struct {
	in *bufio.Reader
	// line holds a line that did not arrive in one piece.
	line  []byte
	event Event
	// name is the name of an earlier event, for reuse: most streams repeat a few.
	name string
	// data is set if the event has a data field, even an empty one.
	data bool
	// begun is set once the first line was read and its byte order mark skipped.
	begun bool
	// cr is set if the last line ended in a carriage return; an immediately following line
	// feed belongs to that line end.
	cr bool
}

// next returns the next event that has data; false at the end.
func (s *scanner) next() (Event, bool, error) {
	s.event.Name, s.event.Data, s.data = "", s.event.Data[:0], false
	for {
		line, err := s.readLine()
		if err == io.EOF {
			return Event{}, false, nil
		}
		if err != nil {
			return Event{}, false, err
		}
		if len(line) > 0 {
			if err := s.field(line); err != nil {
				return Event{}, false, err
			}
			continue
		}
		if s.data {
			return s.event, true, nil
		}
		s.event.Name = ""
	}
}

// field processes one line of an event. It ignores unknown fields and comments, which are
// fields without a name.
func (s *scanner) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		if s.name != string(value) {
			s.name = string(value)
		}
		s.event.Name = s.name
	case "data":
		if len(s.event.Data)+len(value) >= MaxEvent {
			return tooLarge()
		}
		if s.data {
			s.event.Data = append(s.event.Data, '\n')
		}
		s.event.Data = append(s.event.Data, value...)
		s.data = true
	case "id":
		if s.event.ID != string(value) && bytes.IndexByte(value, 0) < 0 {
			s.event.ID = string(value)
		}
	}
	return nil
}

// readLine returns the next line without its end, which is LF, CR or CRLF. An incomplete
// line at the end of the stream is dropped. The line is valid until the next call.
func (s *scanner) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		if _, err := s.in.Peek(1); err != nil {
			return nil, err
		}
		had, _ := s.in.Peek(s.in.Buffered()) // cannot fail: the bytes are buffered
		if s.cr && had[0] == '\n' {
			s.cr = false
			s.in.Discard(1)
			continue
		}
		s.cr = false
		end := lineEnd(had)
		if end < 0 {
			if len(s.line)+len(had) > MaxEvent {
				return nil, tooLarge()
			}
			s.line = append(s.line, had...)
			s.in.Discard(len(had))
			continue
		}
		s.cr = had[end] == '\r'
		line := had[:end]
		if len(s.line) > 0 {
			s.line = append(s.line, line...)
			line = s.line
		}
		s.in.Discard(end + 1)
		if !s.begun {
			s.begun = true
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		return line, nil
	}
}

// lineEnd returns the end of the first line, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

func tooLarge() error {
	return fmt.Errorf("read a stream event: more than %d bytes: %w", MaxEvent, firn.ErrTooLarge)
}

// Append appends an event to b in the stream format. Line breaks in the data are read back
// as line feeds; those in the ID or the name become spaces. An ID that contains NUL is
// omitted, because readers ignore it.
func Append(b []byte, e Event) []byte {
	if e.ID != "" && strings.IndexByte(e.ID, 0) < 0 {
		b = appendField(b, "id: ", e.ID)
	}
	if e.Name != "" {
		b = appendField(b, "event: ", e.Name)
	}
	for rest := e.Data; ; {
		end := lineEnd(rest)
		b = append(b, "data: "...)
		if end < 0 {
			b = append(b, rest...)
			return append(b, "\n\n"...)
		}
		b = append(append(b, rest[:end]...), '\n')
		if bytes.HasPrefix(rest[end:], []byte("\r\n")) {
			end++
		}
		rest = rest[end+1:]
	}
}

// appendField appends a field, replacing line breaks in its value.
func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	for i := range len(value) {
		c := value[i]
		if c == '\n' || c == '\r' {
			c = ' '
		}
		b = append(b, c)
	}
	return append(b, '\n')
}
