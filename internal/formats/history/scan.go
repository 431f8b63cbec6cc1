package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// asType is errors.As for a type error.
func asType(err error, into **json.UnmarshalTypeError) bool { return errors.As(err, into) }

// scanner reads a record transcript. Its entries form one chain in file order.
type scanner struct {
	format  Format
	decoder Decoder
	from    dialect.Origin
	headed  bool
	number  int
	last    firn.EntryID
	time    time.Time
	used    map[firn.EntryID]bool
	// calls maps call IDs to tool names.
	calls map[string]string
	out   []firn.Entry
}

func newScanner(f Format, from dialect.Origin) *scanner {
	return &scanner{format: f, decoder: f.Decoder(), from: from, time: from.Created, used: make(map[firn.EntryID]bool), calls: make(map[string]string)}
}

// Scan reads the next line.
func (s *scanner) Scan(line []byte) ([]firn.Entry, error) {
	l, err := readLine(line)
	if err != nil {
		return nil, err
	}
	s.out = s.out[:0]
	s.number++
	if l.kind == HeadType && !s.headed {
		s.readHead(line)
		return s.out, nil
	}
	s.addHeader(Head{})
	items := s.decoder.Decode(line)
	if len(items) == 0 {
		items = []Item{{Time: l.time, Body: &firn.Custom{Type: dialect.LineType(s.format.Name, l.kind), Data: rawjson.CleanLine(line)}}}
	}
	s.add(l.id, items)
	return s.out, nil
}

// Finish returns the header if there was no line; nothing else is held back.
func (s *scanner) Finish() []firn.Entry {
	s.out = s.out[:0]
	s.addHeader(Head{})
	return s.out
}

// readHead reads the first line: the header and the title. A head of a newer version is
// read as far as it is understood.
func (s *scanner) readHead(line []byte) {
	var head Head
	Unmarshal(line, &head)
	if s.time.IsZero() {
		s.time = head.Created
	}
	s.addHeader(head)
	if head.Title != "" {
		s.add("title", []Item{{Body: &firn.Title{Name: Clean(head.Title)}}})
	}
}

// addHeader emits the header, once.
func (s *scanner) addHeader(head Head) {
	if s.headed {
		return
	}
	s.headed = true
	h := &firn.Header{Session: s.from.ID, Version: 3, CWD: Clean(head.CWD), Agent: s.from.Agent, Key: s.from.Key}
	if h.Session == "" {
		h.Session = sessionID(s.format.Name, head.ID)
	}
	if h.CWD == "" {
		h.CWD = s.from.CWD
	}
	if s.from.Parent != "" {
		h.ParentSession = string(s.from.Parent)
	} else if head.Parent != "" {
		h.ParentSession = string(sessionID(s.format.Name, head.Parent))
	}
	s.used[firn.EntryID(h.Session)] = true // a store reserves it
	s.out = append(s.out, firn.Entry{Time: s.time, Body: h})
}

// add emits the entries of a record. The last has the ID of the record.
func (s *scanner) add(id string, items []Item) {
	name := s.unused(id)
	for i, item := range items {
		if !item.Time.IsZero() {
			s.time = item.Time
		}
		if m, ok := item.Body.(*firn.Message); ok {
			m.Time = s.time
			s.nameTools(m)
		}
		e := firn.Entry{ID: name, Parent: s.last, Time: s.time, Body: item.Body}
		if i < len(items)-1 {
			e.ID = s.unused(fmt.Sprintf("%s.%d", name, i+1))
		}
		s.last = e.ID
		s.out = append(s.out, e)
	}
}

// maxID is the maximum length of a tool's ID of a record in bytes, below that of entry IDs
// to leave space for suffixes.
const maxID = 100

// unused returns an ID that no entry has and that a store accepts: the given one, if
// possible. The ID of a record that has none, or one that is too long or not printable, is
// made from its line number.
func (s *scanner) unused(id string) firn.EntryID {
	if id = Clean(id); id == "" || id == string(firn.Root) || len(id) > maxID || strings.ContainsFunc(id, unicode.IsControl) {
		id = "line-" + strconv.Itoa(s.number)
	}
	name := firn.EntryID(id)
	for n := 2; s.used[name]; n++ {
		name = firn.EntryID(id + "~" + strconv.Itoa(n))
	}
	s.used[name] = true
	return name
}

// nameTools records the names of called tools and sets them on results that lack one.
func (s *scanner) nameTools(m *firn.Message) {
	for i, p := range m.Parts {
		switch p := p.(type) {
		case firn.ToolCall:
			s.calls[p.ID] = p.Name
		case firn.ToolResult:
			if p.Name == "" {
				p.Name = s.calls[p.CallID]
				m.Parts[i] = p
			}
		}
	}
}

// lineInfo is the part of a line that is the same for all tools.
type lineInfo struct {
	kind, id string
	time     time.Time
}

// readLine reads the type, the ID and the time of a line. It fails with ErrCorrupt if the
// line is not one JSON object.
func readLine(line []byte) (l lineInfo, err error) {
	r := rawjson.New(line)
	if r.Kind() != rawjson.Object {
		return l, fmt.Errorf("read a record: %w: it is not a JSON object", firn.ErrCorrupt)
	}
	for ok := r.Object(); ok && r.Member(); {
		read := false
		switch string(r.Key()) {
		case "type":
			l.kind, read = r.Text()
		case "id":
			l.id, read = r.Text()
		case "timestamp":
			var text string
			if text, read = r.Text(); read {
				l.time, _ = time.Parse(time.RFC3339, text)
			}
		}
		if !read {
			r.Skip()
		}
	}
	if err := r.End(); err != nil {
		return l, fmt.Errorf("read a record: %w: %w", firn.ErrCorrupt, err)
	}
	return l, nil
}

// sessionID returns firn's ID of a session: the tool's, if it is valid.
func sessionID(tool dialect.Name, name string) firn.ID {
	if id := firn.ID(name); id.Check() == nil {
		return id
	}
	return firn.ID(dialect.UUID(string(tool), name))
}
