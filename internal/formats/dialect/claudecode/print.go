package claudecode

import (
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// printer writes a transcript that all versions of Claude Code since 1.0.128 can resume:
// one record for a response with all its blocks, one for all results of its calls,
// increasing times, no unknown records on the chain.
type printer struct {
	to      dialect.Target
	session string
	cwd     string
	branch  string
	// agent is the ID of the sub-agent if it is a sub-agent's file.
	agent string
	side  bool
	// main is set for the transcript of a session that is handed over, sub for that of a
	// sub-agent.
	main, sub bool
	// scope is the namespace of generated uuids. copying is set for a printer that repeats
	// the messages kept by a compaction; its records then form one chain.
	scope   string
	copying map[firn.EntryID]string

	links map[firn.EntryID]*link
	// next are the entries after which no record was written yet.
	next []firn.EntryID
	// end is the uuid of the last record, last its time.
	end  string
	last time.Time

	turn *turn
	// open are the calls without a result. askedBy maps every call to its response. waiting
	// maps a record to the calls that the chain up to it leaves open. stopgap maps a record
	// to the placeholder results written after it.
	open    map[string]bool
	askedBy map[string]string
	waiting map[string][]string
	stopgap map[string]string
	// hid maps tombstones to their effect, undone maps restoring tombstones to the restored
	// entry.
	hid    map[firn.EntryID]hiding
	undone map[firn.EntryID]firn.EntryID

	// pointed is the leaf named by the last last-prompt line, led a known descendant of it,
	// and ours the last record that this printer wrote.
	pointed, led, ours string
	// facts holds the facts about the file's records that hiding needs, by uuid.
	facts map[string]*recordInfo

	title firn.Title
	// since counts the bytes since the title was written. wrote is set once this printer
	// has written any.
	since int
	wrote bool
}

// link locates an entry in the file.
type link struct {
	// uuid is the uuid of the entry's record or of the record before it.
	uuid string
	// from is the uuid of the entry's record or of the record after it.
	from string
	// id is the entry's ID as a scanner assigns it.
	id firn.EntryID
	// own is set if the entry has a record.
	own bool
	// up is the entry's parent, answer the response that it belongs to, as a part or a tool
	// result.
	up     firn.EntryID
	answer string
}

func newPrinter(to dialect.Target) *printer {
	return &printer{
		to: to, session: sessionOf(to), cwd: to.CWD, scope: string(to.Session),
		links: make(map[firn.EntryID]*link), open: make(map[string]bool), askedBy: make(map[string]string), waiting: make(map[string][]string), stopgap: make(map[string]string),
		hid: make(map[firn.EntryID]hiding), undone: make(map[firn.EntryID]firn.EntryID),
		facts: make(map[string]*recordInfo),
	}
}

// Print appends the lines for e.
func (p *printer) Print(dst []byte, e firn.Entry) ([]byte, error) {
	if e.Body == nil {
		return dst, fmt.Errorf("write entry %s for Claude Code: %w: it is empty", e.ID, firn.ErrInvalid)
	}
	start := len(dst)
	dst = p.print(dst, e)
	p.count(len(dst) - start)
	return dst, nil
}

// Stale reports whether a line belongs to a sub-agent's transcript, which Claude Code does
// not resume. A session's transcript may contain such lines too, so the first message
// decides. One entry may carry the lines of several.
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

// Finish appends pending records, and the title again if it is too far from the end of the
// file for its readers.
func (p *printer) Finish(dst []byte) ([]byte, error) {
	start := len(dst)
	dst = p.flush(dst)
	if p.pointed != "" && p.end == p.ours && !p.leadsToPointed() {
		dst = p.writeLeaf(dst, p.end)
	}
	p.count(len(dst) - start)
	const tail = 48 << 10 // readers scan the last 64 KB
	if p.title.Name == "" && p.to.Title != "" && p.end != "" {
		p.title, p.since = firn.Title{Name: p.to.Title, Source: firn.SourceUser}, tail+1
	}
	if p.title.Name != "" && p.since > tail && p.wrote {
		dst = p.titleLine(dst, p.title)
	}
	return dst, nil
}

// count records that this printer wrote bytes.
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
		return p.queueAside(dst, e)
	}
	dst = p.flush(dst)
	switch b := e.Body.(type) {
	case *firn.Compaction:
		return p.compaction(dst, e, b)
	case *firn.Tombstone:
		return p.tombstone(dst, e, b)
	}
	p.followParent(e)
	return p.printUnchained(dst, e)
}

// printUnchained writes an entry that is not part of the chain.
func (p *printer) printUnchained(dst []byte, e firn.Entry) []byte {
	switch b := e.Body.(type) {
	case *firn.Title:
		p.links[e.ID].id = firn.EntryID(p.links[e.ID].uuid) // its line has no ID, so it gets that of the record before it
		return p.printTitle(dst, b)
	case *firn.Custom:
		if dialect.IsLine(dialect.ClaudeCode, b) && rawjson.Valid(b.Data) == nil {
			if line, err := rawjson.AppendValue(dst, b.Data); err == nil {
				return append(line, '\n')
			}
		}
		p.to.ReportLoss(&e, limitCustom, false)
		return p.private(dst, e, text("type", b.Type), raw("data", b.Data))
	case *firn.Label:
		p.to.ReportLoss(&e, limitLabels, false)
		return p.private(dst, e, text("target", string(p.scannerID(b.Target))), text("name", b.Name))
	case *firn.ModelChange:
		p.to.ReportLoss(&e, limitModels, false)
		return p.private(dst, e, text("provider", b.Provider), text("model", b.Model))
	case *firn.ThinkingChange:
		p.to.ReportLoss(&e, limitModels, false)
		return p.private(dst, e, text("level", b.Level))
	case *firn.Head:
		p.to.ReportLoss(&e, limitHeads, false)
		return p.printHead(dst, e, b)
	}
	p.to.ReportLoss(&e, limitOpaque, true)
	return dst
}

// printHead writes a head entry. Later messages follow its target; until then a note after
// the target makes Claude Code continue from there.
func (p *printer) printHead(dst []byte, e firn.Entry, b *firn.Head) []byte {
	target := p.links[e.ID].uuid
	dst = p.private(dst, e, text("target", target), text("reason", b.Reason))
	if target == p.end || target == "" {
		return dst
	}
	dst = p.note(dst, e, target, "The conversation goes on from here")
	p.links[e.ID].uuid = p.end
	return dst
}

// printTitle writes a title. An empty one clears the title.
func (p *printer) printTitle(dst []byte, t *firn.Title) []byte {
	p.setTitle(t)
	return p.titleLine(dst, *t)
}

// setTitle records a title. An automatic title does not replace one set by the user.
func (p *printer) setTitle(t *firn.Title) {
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

// followParent records that an entry has no record of its own.
func (p *printer) followParent(e firn.Entry) {
	p.links[e.ID] = &link{uuid: p.recordAbove(e.Parent), id: p.uuid(e.ID), up: e.Parent}
	p.next = append(p.next, e.ID)
}

// recordAbove returns the uuid of the parent record for children of an entry.
func (p *printer) recordAbove(id firn.EntryID) string {
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

// bindRecord records that a record represents entries: the last of them has its uuid.
func (p *printer) bindRecord(uuid string, entries ...firn.Entry) {
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

// answerOf returns the name of the response that an entry belongs to, as a part or a tool
// result.
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

// scannerID returns the ID that a scanner assigns to an entry.
func (p *printer) scannerID(id firn.EntryID) firn.EntryID {
	if l := p.links[id]; l != nil {
		return l.id
	}
	return id
}

// uuid returns the uuid of an entry's record.
func (p *printer) uuid(id firn.EntryID) firn.EntryID {
	if p.copying != nil {
		id = "copy " + id
	}
	return firn.EntryID(dialect.UUID(p.scope, string(id)))
}

// stamp returns the time of the next record. Each is later than the previous one, because
// some versions continue from the latest record and some from the last.
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
