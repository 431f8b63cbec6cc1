package claudecode

import (
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// printer writes a transcript that all versions of Claude Code since 1.0.128
// resume: one record for an answer with all its blocks, one for all results of
// its calls, times that grow with the file, nothing unknown on the chain.
type printer struct {
	to      dialect.Target
	session string
	cwd     string
	branch  string
	// agent is whose file it is, if a sub-agent's.
	agent string
	side  bool
	// main says that it is the transcript of a session that is handed over, sub
	// that it is a sub-agent's.
	main, sub bool
	// scope is what uuids are made from; copying is set for a printer that
	// repeats what a compaction keeps, and then its records are in one line.
	scope   string
	copying map[firn.EntryID]string

	links map[firn.EntryID]*link
	// next are the entries that no record was written after yet.
	next []firn.EntryID
	// end is the uuid of the last record, last its time.
	end  string
	last time.Time

	turn *turn
	// open are the calls without a result, askedBy tells of all calls which
	// answer made them, waiting are those that the chain up to a
	// record leaves open, and stopgap the records that answer them for want of
	// anything better.
	open    map[string]bool
	askedBy map[string]string
	waiting map[string][]string
	stopgap map[string]string
	// hid tells what each tombstone took away, and undone which entry those
	// that restore gave back.
	hid    map[firn.EntryID]hiding
	undone map[firn.EntryID]firn.EntryID

	// pointed is the record that a line last named as the one to go on from.
	// led is a record that is known to come behind it, and ours is the last that
	// this printer wrote.
	pointed, led, ours string
	// facts are what must be known of the file's records to hide one of them.
	facts map[string]*fact

	title firn.Title
	// since counts the bytes written since the title was, and wrote is set if any
	// were written by this printer.
	since int
	wrote bool
}

// link is how an entry is found in the file.
type link struct {
	// uuid is that of the record that says it, or of the one before it.
	uuid string
	// from is that of the record that says it, or of the one after it.
	from string
	// id is what a scanner calls the entry.
	id firn.EntryID
	// own is set if a record says it.
	own bool
	// up is the entry's parent, and answer the record of the answer that it is
	// part of or a result to.
	up     firn.EntryID
	answer string
}

func newPrinter(to dialect.Target) *printer {
	return &printer{
		to: to, session: sessionOf(to), cwd: to.CWD, scope: string(to.Session),
		links: make(map[firn.EntryID]*link), open: make(map[string]bool), askedBy: make(map[string]string), waiting: make(map[string][]string), stopgap: make(map[string]string),
		hid: make(map[firn.EntryID]hiding), undone: make(map[firn.EntryID]firn.EntryID),
		facts: make(map[string]*fact),
	}
}

// Print adds the lines that say e.
func (p *printer) Print(dst []byte, e firn.Entry) ([]byte, error) {
	if e.Body == nil {
		return dst, fmt.Errorf("printing entry %s for Claude Code: %w: it says nothing", e.ID, firn.ErrInvalid)
	}
	start := len(dst)
	dst = p.print(dst, e)
	p.count(len(dst) - start)
	return dst, nil
}

// Stale reports whether a line is one of a sub-agent's transcript, which Claude
// Code does not resume. In the transcript of a session such lines are aside, so
// the first line tells. Lines of several entries may be carried by one of them.
func (p *printer) Stale(_ firn.Entry, lines [][]byte) bool {
	if p.to.As == "" {
		return false
	}
	for _, line := range lines {
		if l, err := readLine(line); err == nil && !p.main && !p.sub && (l.kind == "user" || l.kind == "assistant") {
			p.main, p.sub = !l.sidechain, l.sidechain
		}
	}
	return p.sub
}

// Finish adds what was held back, and the title again where readers of the
// file's end would miss it.
func (p *printer) Finish(dst []byte) ([]byte, error) {
	start := len(dst)
	dst = p.flush(dst)
	if p.pointed != "" && p.end == p.ours && !p.leads() {
		dst = p.point(dst, p.end)
	}
	p.count(len(dst) - start)
	const tail = 48 << 10 // they read 64 KB
	if p.title.Name == "" && p.to.Title != "" && p.end != "" {
		p.title, p.since = firn.Title{Name: p.to.Title, Source: firn.SourceUser}, tail+1
	}
	if p.title.Name != "" && p.since > tail && p.wrote {
		dst = p.titleLine(dst, p.title)
	}
	return dst, nil
}

// count notes that this printer wrote bytes.
func (p *printer) count(bytes int) {
	p.since += bytes
	p.wrote = p.wrote || bytes > 0
}

func (p *printer) print(dst []byte, e firn.Entry) []byte {
	if m, ok := e.Body.(*firn.Message); ok {
		return p.message(dst, e, m)
	}
	switch b := e.Body.(type) {
	case *firn.Header:
		if p.cwd == "" {
			p.cwd = b.CWD
		}
		return dst
	case *firn.CustomMessage, *firn.BranchSummary:
		return p.aside(dst, e)
	}
	dst = p.flush(dst)
	switch b := e.Body.(type) {
	case *firn.Compaction:
		return p.compaction(dst, e, b)
	case *firn.Tombstone:
		return p.tombstone(dst, e, b)
	}
	p.follow(e)
	return p.beside(dst, e)
}

// beside writes what is no link of the chain.
func (p *printer) beside(dst []byte, e firn.Entry) []byte {
	switch b := e.Body.(type) {
	case *firn.Title:
		p.links[e.ID].id = firn.EntryID(p.links[e.ID].uuid) // its line has no name; the record before it has
		return p.titled(dst, b)
	case *firn.Custom:
		if dialect.IsLine(dialect.ClaudeCode, b) && rawjson.Valid(b.Data) == nil {
			if line, err := rawjson.AppendValue(dst, b.Data); err == nil {
				return append(line, '\n')
			}
		}
		p.lose(e, limitCustom, false)
		return p.private(dst, e, text("type", b.Type), raw("data", b.Data))
	case *firn.Label:
		p.lose(e, limitLabels, false)
		return p.private(dst, e, text("target", string(p.scanned(b.Target))), text("name", b.Name))
	case *firn.ModelChange:
		p.lose(e, limitModels, false)
		return p.private(dst, e, text("provider", b.Provider), text("model", b.Model))
	case *firn.ThinkingChange:
		p.lose(e, limitModels, false)
		return p.private(dst, e, text("level", b.Level))
	case *firn.Head:
		p.lose(e, limitHeads, false)
		return p.moved(dst, e, b)
	}
	p.lose(e, limitOpaque, true)
	return dst
}

// moved writes a move of the head. What is said next hangs where it was moved;
// until then a note there makes Claude Code go on from it.
func (p *printer) moved(dst []byte, e firn.Entry, b *firn.Head) []byte {
	target := p.links[e.ID].uuid
	dst = p.private(dst, e, text("target", target), text("reason", b.Reason))
	if target == p.end || target == "" {
		return dst
	}
	dst = p.note(dst, e, target, "The conversation goes on from here")
	p.links[e.ID].uuid = p.end
	return dst
}

// titled writes a title. One that is empty takes the title away.
func (p *printer) titled(dst []byte, t *firn.Title) []byte {
	p.entitle(t)
	return p.titleLine(dst, *t)
}

// entitle notes a title. One that the user gave stays in force when an automatic
// one follows.
func (p *printer) entitle(t *firn.Title) {
	if t.Beats(p.title) || t.Name == "" {
		p.title = *t
	}
}

func (p *printer) titleLine(dst []byte, t firn.Title) []byte {
	kind, member := "custom-title", "customTitle"
	if t.Source == firn.SourceAuto {
		kind, member = "ai-title", "aiTitle"
	}
	if t == p.title {
		p.since = 0
	}
	w := writer{dst: append(dst, '{')}
	w.text("type", kind)
	w.text(member, t.Name)
	w.text("sessionId", p.session)
	return append(w.dst, '}', '\n')
}

// follow notes that an entry has no record of its own.
func (p *printer) follow(e firn.Entry) {
	p.links[e.ID] = &link{uuid: p.above(e.Parent), id: p.uuid(e.ID), up: e.Parent}
	p.next = append(p.next, e.ID)
}

// above is the uuid of the record that what hangs under an entry follows.
func (p *printer) above(id firn.EntryID) string {
	if p.copying != nil {
		return p.end
	}
	if id == "" || id == firn.Root {
		return ""
	}
	if l := p.links[id]; l != nil {
		return l.uuid
	}
	return p.end
}

// say notes that a record says entries: the last of them has its uuid.
func (p *printer) say(uuid string, entries ...firn.Entry) {
	for i, e := range entries {
		l := &link{uuid: uuid, from: uuid, own: true, id: firn.EntryID(uuid), up: e.Parent}
		if i < len(entries)-1 {
			l.id += firn.EntryID(fmt.Sprintf(".%d", i+1))
		}
		l.answer = p.answerOf(e, uuid)
		p.links[e.ID] = l
	}
	for _, id := range p.next {
		p.links[id].from = uuid
	}
	p.next = p.next[:0]
	p.end = uuid
}

// answerOf names the answer that an entry is part of, or a result to.
func (p *printer) answerOf(e firn.Entry, uuid string) string {
	m, ok := e.Body.(*firn.Message)
	if !ok {
		return ""
	}
	if id, ok := callOf(m); ok && m.Role == firn.RoleToolResult {
		return p.askedBy[id]
	}
	if m.Role != firn.RoleAssistant {
		return ""
	}
	name := orElse(textField(m.Extra, dialect.ResponseID), uuid)
	for _, id := range callIDs(m.Parts) {
		p.askedBy[id] = name
	}
	return name
}

// scanned is what a scanner calls an entry.
func (p *printer) scanned(id firn.EntryID) firn.EntryID {
	if l := p.links[id]; l != nil {
		return l.id
	}
	return id
}

// uuid is that of the record that says an entry.
func (p *printer) uuid(id firn.EntryID) firn.EntryID {
	if p.copying != nil {
		id = "copy " + id
	}
	return firn.EntryID(dialect.UUID(p.scope, string(id)))
}

// stamp is the time of the next record: each is later than the one before,
// because some versions go on from the latest and some from the last.
func (p *printer) stamp(at time.Time) time.Time {
	at = clamp(at)
	if at.IsZero() {
		at = clamp(p.to.Created)
	}
	if at.IsZero() {
		at = time.UnixMilli(0).UTC()
	}
	if !p.last.IsZero() && !at.After(p.last) {
		at = p.last.Add(time.Millisecond)
	}
	p.last = at
	return at
}

func (p *printer) lose(e firn.Entry, limit string, dropped bool) {
	if p.to.Lose != nil {
		p.to.Lose(dialect.Loss{Entry: e.ID, Kind: e.Body.Kind(), Limit: limit, Dropped: dropped})
	}
}
