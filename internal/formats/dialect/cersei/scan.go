package cersei

import (
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// The types of lines that are not messages.
const (
	kindSummary   = "summary"
	kindTombstone = "tombstone"
	kindTitle     = "title"        // ours; Cersei skips it
	kindClaude    = "custom-title" // Claude Code's
)

// scanner reads a transcript. Its entries make one chain in file order, since
// Cersei follows no parents.
type scanner struct {
	from   dialect.Origin
	header *firn.Header // nil until it was told
	number int          // of the lines so far
	last   firn.EntryID
	time   time.Time
	// known tells of each uuid that a line had what became of it; used are the
	// ids that we made.
	known map[string]known
	used  map[firn.EntryID]bool
	// dead are the uuids that tombstones named.
	dead map[string]bool
	// live are the messages that a model would see, by the first entry of
	// each: what a summary counts.
	live []place
	// told counts entries, compacted is how many of them came before the last
	// compaction, and cut before the first one that it keeps. While covering
	// is set, only tombstones have followed it.
	told, compacted, cut int
	covering             bool
	// calls are the names of the tools that were called.
	calls map[string]string
	out   []firn.Entry
}

// place is the first entry of a line that a model would see, and how many
// entries came before it.
type place struct {
	id firn.EntryID
	at int
}

// known is what became of a uuid.
type known struct {
	// at is how many entries were told before the first one of it.
	at int
	// entries are their ids, if there is any but the uuid itself.
	entries    []firn.EntryID
	lines      int
	compaction bool
	// covered is set if a tombstone was only for Cersei to know.
	covered bool
}

func newScanner(from dialect.Origin) *scanner {
	return &scanner{
		from: from, time: from.Created, known: make(map[string]known), used: make(map[firn.EntryID]bool),
		dead: make(map[string]bool), calls: make(map[string]string),
	}
}

// Scan reads the next line.
func (s *scanner) Scan(raw []byte) ([]firn.Entry, error) {
	l, err := readLine(raw)
	if err != nil {
		return nil, err
	}
	s.number++
	s.out = s.out[:0]
	if !l.time.IsZero() {
		s.time = l.time
	}
	s.begin(&l)
	covering := s.covering
	s.covering = false
	switch {
	case l.kind == kindTombstone && l.deleted != "":
		s.covering = covering
		s.tombstone(&l, raw)
	case l.kind == kindSummary && l.hasSummary && l.hasCompacted:
		s.summary(&l)
	case (l.kind == kindTitle || l.kind == kindClaude) && l.hasTitle:
		s.line(&l, &firn.Title{Name: l.title, Source: l.source})
	default:
		s.said(&l, raw)
	}
	return s.out, nil
}

// Finish tells the header if there was no line; nothing else ever waits.
func (s *scanner) Finish() []firn.Entry {
	s.out = s.out[:0]
	if s.header == nil {
		s.begin(&line{})
	}
	return s.out
}

// begin tells the header, which Cersei has none of, before the first line.
func (s *scanner) begin(l *line) {
	if s.header != nil {
		return
	}
	s.header = &firn.Header{Session: s.from.ID, Version: 3, CWD: s.from.CWD, Agent: s.from.Agent, Key: s.from.Key}
	if s.header.Session == "" {
		s.header.Session = sessionID(l.session, l.uuid)
	}
	if l.cwd != "" {
		s.header.CWD = l.cwd
	}
	if s.from.Parent != "" {
		s.header.ParentSession = string(s.from.Parent)
	}
	s.out = append(s.out, firn.Entry{Time: s.time, Body: s.header})
}

// sessionID makes an id of what a file says of itself.
func sessionID(session, uuid string) firn.ID {
	if id := firn.ID(session); id.Check() == nil {
		return id
	}
	return firn.ID(dialect.UUID(string(dialect.Cersei), session+"/"+uuid))
}

// said tells a message, of either form, or carries what is none.
func (s *scanner) said(l *line, raw []byte) {
	c := l.said
	if l.message != nil {
		c = readContent(l.message)
		if _, ok := roles[c.role]; !ok {
			c.role = l.kind
		}
	}
	_, spoken := roles[l.kind]
	var all []*firn.Message
	if !l.sidechain && (spoken && l.message != nil || l.isBare()) {
		all = c.messages()
	}
	if all == nil {
		s.carry(l, raw)
		return
	}
	if text, ok := summaryText(all); ok {
		s.compaction(l, text)
		return
	}
	s.messages(l, all)
}

// messages tells the messages of one line.
func (s *scanner) messages(l *line, all []*firn.Message) {
	if l.cwd != "" && l.cwd != s.header.CWD {
		l.other = append(l.other, firn.Field{Name: "cwd", Value: rawjson.AppendString(nil, l.cwd)})
	}
	bodies := make([]firn.Body, len(all))
	for i, m := range all {
		m.Time = s.time
		s.nameTools(m)
		bodies[i] = m
	}
	at := s.told
	ids := s.line(l, bodies...)
	s.live = append(s.live, place{ids[0], at})
}

// nameTools notes which tools are called, and names those that answer.
func (s *scanner) nameTools(m *firn.Message) {
	for i, p := range m.Parts {
		switch p := p.(type) {
		case firn.ToolCall:
			s.calls[p.ID] = p.Name
		case firn.ToolResult:
			p.Name = s.calls[p.CallID]
			m.Parts[i] = p
		}
	}
}

// carry tells a line that says nothing to a model as it is.
func (s *scanner) carry(l *line, raw []byte) {
	l.other = nil // the line has them
	s.line(l, &firn.Custom{Type: dialect.LineType(dialect.Cersei, l.kind), Data: keep(raw)})
}
