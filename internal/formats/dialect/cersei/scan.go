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
	kindTitle     = "title"        // firn's own; Cersei skips it
	kindClaude    = "custom-title" // Claude Code's
)

// scanner reads a transcript. Its entries form one chain in file order, since Cersei
// ignores parents.
type scanner struct {
	from   dialect.Origin
	header *firn.Header // nil until it was emitted
	number int          // lines read so far
	last   firn.EntryID
	time   time.Time
	// known maps each uuid to its entries; used are the generated IDs.
	known map[string]known
	used  map[firn.EntryID]bool
	// dead are the uuids named by tombstones.
	dead map[string]bool
	// live are the messages that the model would see, each by its first entry. A summary
	// counts these.
	live []place
	// emitted counts the emitted entries, compacted those before the last compaction, and cut
	// those before the first entry that it keeps. covering is set while only tombstones
	// have followed the compaction.
	emitted, compacted, cut int
	covering                bool
	// calls maps call IDs to tool names.
	calls map[string]string
	out   []firn.Entry
}

// place is the first entry of a line that the model would see, with the number of entries
// before it.
type place struct {
	id firn.EntryID
	at int
}

// known holds the entries of a uuid.
type known struct {
	// at is the number of entries emitted before the first of them.
	at int
	// entries are their IDs, nil if it is just the uuid itself.
	entries    []firn.EntryID
	lines      int
	compaction bool
	// covered is set if a tombstone only repeated the effect of a compaction.
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
	s.addHeader(&l)
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
		s.readMessage(&l, raw)
	}
	return s.out, nil
}

// Finish returns the header if there was no line; nothing else is held back.
func (s *scanner) Finish() []firn.Entry {
	s.out = s.out[:0]
	if s.header == nil {
		s.addHeader(&line{})
	}
	return s.out
}

// addHeader emits a synthesized header before the first line, since Cersei has none.
func (s *scanner) addHeader(l *line) {
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

// sessionID derives an ID from the contents of a file.
func sessionID(session, uuid string) firn.ID {
	if id := firn.ID(session); id.Check() == nil {
		return id
	}
	return firn.ID(dialect.UUID(string(dialect.Cersei), session+"/"+uuid))
}

// readMessage emits a message of either form, or carries any other line.
func (s *scanner) readMessage(l *line, raw []byte) {
	c := l.bare
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

// messages emits the messages of one line.
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
	at := s.emitted
	ids := s.line(l, bodies...)
	s.live = append(s.live, place{ids[0], at})
}

// nameTools records the names of called tools and sets them on results.
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

// carry emits a line that is not sent to the model.
func (s *scanner) carry(l *line, raw []byte) {
	l.other = nil // the line contains them
	s.line(l, &firn.Custom{Type: dialect.LineType(dialect.Cersei, l.kind), Data: rawjson.CleanLine(raw)})
}
