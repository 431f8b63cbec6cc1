package pi

import (
	"fmt"
	"path"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// scanner reads a file of pi.
type scanner struct {
	lines dialect.Dialect
	from  dialect.Origin
	// line counts the lines. version is the format version, 0 before the header.
	line, version int
	started       bool
	// last is the latest entry, time its time.
	last firn.EntryID
	time time.Time
	// nodes is the tree of the entries read.
	nodes nodes
	// later maps a duplicate ID to the entry that used it last: later lines refer to that
	// one.
	later map[firn.EntryID]firn.EntryID
	// order holds the IDs of a version 1 file, whose compactions refer to line numbers.
	order []firn.EntryID
	edits edits
	out   []firn.Entry
}

// nodes maps each entry to its place in the tree.
type nodes map[firn.EntryID]node

// node is an entry's place in the tree.
type node struct {
	parent firn.EntryID
	// editable is set if pi can omit the entry from the context.
	editable bool
}

// path yields the IDs from an entry to its root. It terminates even if duplicate IDs form a
// cycle.
func (n nodes) path(id firn.EntryID) func(yield func(firn.EntryID) bool) {
	return func(yield func(firn.EntryID) bool) {
		for range len(n) {
			node, ok := n[id]
			if !ok || !yield(id) {
				return
			}
			id = node.parent
		}
	}
}

// Scan reads the next line.
func (s *scanner) Scan(line []byte) ([]firn.Entry, error) {
	s.line++
	s.out = s.out[:0]
	if rawjson.IsBlank(line) {
		return nil, nil
	}
	e, err := s.lines.Decode(line)
	if err != nil {
		return nil, fmt.Errorf("reading line %d of a session of pi: %w", s.line, err)
	}
	if h, ok := e.Body.(*firn.Header); ok && !s.started {
		s.header(e, h)
		return s.out, nil
	}
	if !s.started {
		s.synthesizeHeader(e.Time)
	}
	s.entry(e, line)
	return s.out, nil
}

// Finish returns nothing: no lines are held back.
func (s *scanner) Finish() []firn.Entry { return nil }

// header processes the first line.
func (s *scanner) header(e firn.Entry, h *firn.Header) {
	s.version = h.Version
	if s.version < 2 {
		s.order = append(s.order, "")
	}
	h.Version = max(h.Version, 3) // the entries are converted to this version
	if h.ParentSession == "" {
		h.ParentSession = text(e.Extra.Get("branchedFrom"))
	}
	s.addHeader(e, h)
}

// synthesizeHeader adds the header of a file without one. pi does not open such a file, but
// its entries are readable.
func (s *scanner) synthesizeHeader(at time.Time) {
	h := &firn.Header{Session: s.from.ID, Version: 3}
	if h.Session == "" && len(s.from.Parts) > 0 {
		h.Session = firn.ID(idOf(strings.TrimSuffix(path.Base(s.from.Parts[0]), ext)))
	}
	if h.Session == "" {
		h.Session = "unknown"
	}
	s.version = 3
	s.addHeader(firn.Entry{Time: at, Body: h}, h)
}

// addHeader completes the header with the facts from the folder and emits it.
func (s *scanner) addHeader(e firn.Entry, h *firn.Header) {
	fill := func(field *string, known string) {
		if *field == "" {
			*field = known
		}
	}
	fill(&h.CWD, s.from.CWD)
	fill(&h.Agent, s.from.Agent)
	fill(&h.Key, s.from.Key)
	if e.Time.IsZero() {
		e.Time = s.from.Created
	}
	s.started, s.time = true, e.Time
	s.out = append(s.out, e)
}

// entry processes any other line.
func (s *scanner) entry(e firn.Entry, line []byte) {
	linear := s.version < 2 || e.Parent == "" && lacksParent(s.lines, line)
	e.ID, e.Parent = s.assignPlace(e, linear)
	if e.Time.IsZero() {
		e.Time = s.time
	}
	s.time = e.Time
	e.Parent = s.switchBranch(e)
	switch b := e.Body.(type) {
	case *firn.Opaque:
		if b.Type == kindEdit {
			s.edit(e, line)
			return
		}
		e.Body = carried(b.Type, line)
	case *firn.Header:
		e.Extra = nil
		e.Body = carried(firn.KindHeader, line)
	case *firn.Message:
		e = s.message(e, b)
	case *firn.Compaction:
		s.compaction(&e, b)
	case *firn.Label:
		b.Target = s.resolve(b.Target)
	case *firn.Tombstone:
		b.Target = s.resolve(b.Target)
	}
	s.add(e)
}

// add emits an entry.
func (s *scanner) add(e firn.Entry) {
	s.nodes[e.ID] = node{parent: e.Parent, editable: editable(e)}
	s.last = e.ID
	s.out = append(s.out, e)
}

// lacksParent reports whether a line has no parentId member, as opposed to null.
func lacksParent(lines dialect.Decoder, line []byte) bool {
	glance, err := lines.Glance(line)
	return err != nil || glance.NoParent || glance.Kind == firn.KindHeader
}

// assignPlace returns a unique ID and an existing parent for the line. A linear entry, or
// one with an unknown parent, follows the previous entry.
func (s *scanner) assignPlace(e firn.Entry, linear bool) (id, parent firn.EntryID) {
	id = e.ID
	if id == "" || id == firn.Root {
		id = s.lineID()
	}
	parent = s.resolve(e.Parent)
	if _, known := s.nodes[parent]; linear || !known && parent != "" {
		parent = s.last
	}
	if s.taken(id) {
		own := id
		for id += "." + s.lineID(); s.taken(id); id += "+" {
		}
		if s.later == nil {
			s.later = make(map[firn.EntryID]firn.EntryID)
		}
		s.later[own] = id
	}
	if s.version < 2 {
		s.order = append(s.order, id)
	}
	return id, parent
}

// lineID derives an ID from the line number, which is stable because files only grow.
func (s *scanner) lineID() firn.EntryID { return firn.EntryID(fmt.Sprintf("l%06d", s.line)) }

func (s *scanner) taken(id firn.EntryID) bool {
	_, ok := s.nodes[id]
	return ok
}

// resolve returns the entry that a line refers to by an ID.
func (s *scanner) resolve(id firn.EntryID) firn.EntryID {
	if later, ok := s.later[id]; ok {
		return later
	}
	return id
}

// carried returns an entry that carries a line without an equivalent.
func carried(kind firn.Kind, line []byte) *firn.Custom {
	data, changed := rawjson.Clean(line)
	if !changed {
		data = append([]byte(nil), line...)
	}
	return &firn.Custom{Type: dialect.LineType(dialect.Pi, string(kind)), Data: data}
}

// compaction resolves the first kept entry. In version 1 it is an index among all readable
// lines, with the header as 0.
func (s *scanner) compaction(e *firn.Entry, b *firn.Compaction) {
	b.FirstKept = s.resolve(b.FirstKept)
	if s.version >= 2 {
		return
	}
	r := rawjson.New(e.Extra.Get("firstKeptEntryIndex"))
	n, ok := r.Int()
	if !ok {
		return
	}
	b.FirstKept = ""
	if n >= 0 && n < int64(len(s.order)) {
		b.FirstKept = s.order[n]
	}
	e.Extra = without(e.Extra, "firstKeptEntryIndex")
}

// message converts a message. Before version 3, custom messages were messages with their
// own role.
func (s *scanner) message(e firn.Entry, m *firn.Message) firn.Entry {
	if m.Role == "custom" || m.Role == "hookMessage" && s.version < 3 {
		return customMessage(e, m)
	}
	if e.Extra.Get(copyField) != nil {
		m.Usage = nil // the original entry has the usage
	}
	return e
}

// customMessage converts a message of a custom role to a [firn.CustomMessage].
func customMessage(e firn.Entry, m *firn.Message) firn.Entry {
	c := &firn.CustomMessage{Parts: m.Parts}
	for _, f := range m.Extra {
		switch r := rawjson.New(f.Value); f.Name {
		case "customType":
			c.Type, _ = r.Text()
		case "display":
			c.Display, _ = r.Bool()
		case "details":
			c.Details = f.Value
		default:
			e.Extra = append(e.Extra, f)
		}
	}
	e.Extra = withoutIDs(e.Extra)
	e.Body = c
	return e
}

// editable reports whether pi's context edits apply to an entry.
func editable(e firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.CustomMessage:
		return true
	case *firn.Message:
		return b.Role == firn.RoleUser || b.Role == firn.RoleAssistant || b.Role == firn.RoleToolResult
	}
	return false
}

// text decodes a string, "" if the value is not a string.
func text(raw []byte) string {
	r := rawjson.New(raw)
	s, _ := r.Text()
	return s
}

// without returns the fields except the named one.
func without(fields firn.Fields, name string) firn.Fields {
	var rest firn.Fields
	for _, f := range fields {
		if f.Name != name {
			rest = append(rest, f)
		}
	}
	return rest
}

// withoutIDs returns the fields except those reserved for the entry itself.
func withoutIDs(fields firn.Fields) firn.Fields {
	for _, name := range []string{"type", "role", "id", "parentId"} {
		if fields.Get(name) != nil {
			fields = without(fields, name)
		}
	}
	return fields
}
