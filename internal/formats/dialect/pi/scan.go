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
	// line counts the lines, and version is that of the format: 0 until the
	// header was met.
	line, version int
	begun         bool
	// last is the latest entry and time when it was written.
	last firn.EntryID
	time time.Time
	// nodes is the shape of what was read.
	nodes nodes
	// later tells the entry that took an id which an earlier one has: what
	// follows means that one.
	later map[firn.EntryID]firn.EntryID
	// order holds the ids of a file of the first version, in which compactions
	// count lines.
	order []firn.EntryID
	edits edits
	out   []firn.Entry
}

// nodes says of each entry what it follows.
type nodes map[firn.EntryID]node

// node is an entry's place in the tree.
type node struct {
	parent firn.EntryID
	// editable is set if pi can leave the entry out of what it sends.
	editable bool
}

// path yields the ids from an entry to its root. A file that names an id twice
// could make it go round in circles; it does not.
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
	if h, ok := e.Body.(*firn.Header); ok && !s.begun {
		s.header(e, h)
		return s.out, nil
	}
	if !s.begun {
		s.makeUp(e.Time)
	}
	s.entry(e, line)
	return s.out, nil
}

// Finish returns nothing: every line of pi makes sense by itself.
func (s *scanner) Finish() []firn.Entry { return nil }

// header takes the file's first line.
func (s *scanner) header(e firn.Entry, h *firn.Header) {
	s.version = h.Version
	if s.version < 2 {
		s.order = append(s.order, "")
	}
	h.Version = max(h.Version, 3) // as which all that follows is told
	if h.ParentSession == "" {
		h.ParentSession = text(e.Extra.Get("branchedFrom"))
	}
	s.begin(e, h)
}

// makeUp makes the header of a file that has lost it. pi does not open such a
// file, but what it says is still there.
func (s *scanner) makeUp(at time.Time) {
	h := &firn.Header{Session: s.from.ID, Version: 3}
	if h.Session == "" && len(s.from.Parts) > 0 {
		h.Session = firn.ID(idOf(strings.TrimSuffix(path.Base(s.from.Parts[0]), ext)))
	}
	if h.Session == "" {
		h.Session = "unknown"
	}
	s.version = 3
	s.begin(firn.Entry{Time: at, Body: h}, h)
}

// begin completes the header with what the folder tells.
func (s *scanner) begin(e firn.Entry, h *firn.Header) {
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
	s.begun, s.time = true, e.Time
	s.out = append(s.out, e)
}

// entry takes any other line.
func (s *scanner) entry(e firn.Entry, line []byte) {
	linear := s.version < 2 || e.Parent == "" && tellsNoParent(s.lines, line)
	e.ID, e.Parent = s.place(e, linear)
	if e.Time.IsZero() {
		e.Time = s.time
	}
	s.time = e.Time
	e.Parent = s.turn(e)
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
		b.Target = s.meant(b.Target)
	case *firn.Tombstone:
		b.Target = s.meant(b.Target)
	}
	s.add(e)
}

// add puts an entry behind the ones before it.
func (s *scanner) add(e firn.Entry) {
	s.nodes[e.ID] = node{parent: e.Parent, editable: editable(e)}
	s.last = e.ID
	s.out = append(s.out, e)
}

// tellsNoParent reports whether a line has no parentId at all, which is not the
// same as null.
func tellsNoParent(lines dialect.Decoder, line []byte) bool {
	glance, err := lines.Glance(line)
	return err != nil || glance.NoParent || glance.Kind == firn.KindHeader
}

// place gives the line an id that no other has and a parent that stands before
// it. What is linear, or names a parent that is not there, follows the entry
// before it.
func (s *scanner) place(e firn.Entry, linear bool) (id, parent firn.EntryID) {
	id = e.ID
	if id == "" || id == firn.Root {
		id = s.made()
	}
	parent = s.meant(e.Parent)
	if _, known := s.nodes[parent]; linear || !known && parent != "" {
		parent = s.last
	}
	if s.taken(id) {
		own := id
		for id += "." + s.made(); s.taken(id); id += "+" {
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

// made is an id for the line, from its number. Files only grow, so that it stays
// the line's.
func (s *scanner) made() firn.EntryID { return firn.EntryID(fmt.Sprintf("l%06d", s.line)) }

func (s *scanner) taken(id firn.EntryID) bool {
	_, ok := s.nodes[id]
	return ok
}

// meant is the entry that a line means by an id.
func (s *scanner) meant(id firn.EntryID) firn.EntryID {
	if later, ok := s.later[id]; ok {
		return later
	}
	return id
}

// carried keeps a line that we have no words for.
func carried(kind firn.Kind, line []byte) *firn.Custom {
	data, changed := rawjson.Clean(line)
	if !changed {
		data = append([]byte(nil), line...)
	}
	return &firn.Custom{Type: dialect.LineType(dialect.Pi, string(kind)), Data: data}
}

// compaction finds the entry that a compaction keeps from. The first version
// tells its number among all lines that can be read, the header being 0.
func (s *scanner) compaction(e *firn.Entry, b *firn.Compaction) {
	b.FirstKept = s.meant(b.FirstKept)
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

// message takes what somebody said. What a program says was spelt as a message
// of its own role before pi's version 3.
func (s *scanner) message(e firn.Entry, m *firn.Message) firn.Entry {
	if m.Role == "custom" || m.Role == "hookMessage" && s.version < 3 {
		return customMessage(e, m)
	}
	if e.Extra.Get(copyField) != nil {
		m.Usage = nil // which the entry that it is a copy of has
	}
	return e
}

// customMessage makes a message of a program's role what it means.
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

// editable reports whether pi's context edits count for an entry.
func editable(e firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.CustomMessage:
		return true
	case *firn.Message:
		return b.Role == firn.RoleUser || b.Role == firn.RoleAssistant || b.Role == firn.RoleToolResult
	}
	return false
}

// text reads a raw value that is a text; "" if it is none.
func text(raw []byte) string {
	r := rawjson.New(raw)
	s, _ := r.Text()
	return s
}

// without returns the fields but the one of that name.
func without(fields firn.Fields, name string) firn.Fields {
	var rest firn.Fields
	for _, f := range fields {
		if f.Name != name {
			rest = append(rest, f)
		}
	}
	return rest
}

// withoutIDs returns the fields but those that an entry must not have besides
// its own.
func withoutIDs(fields firn.Fields) firn.Fields {
	for _, name := range []string{"type", "role", "id", "parentId"} {
		if fields.Get(name) != nil {
			fields = without(fields, name)
		}
	}
	return fields
}
