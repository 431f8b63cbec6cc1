package crabtalk

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// printer writes a session line by line. Of the written entries it stores only the start of
// the part that CrabTalk would send.
type printer struct {
	to dialect.Target
	// last is the previous entry, since the first of the entries that CrabTalk sends.
	last, since firn.EntryID
	hidden      map[firn.EntryID]bool
	// taken maps an effective tombstone to the entry it hid.
	taken map[firn.EntryID]firn.EntryID
}

func newPrinter(to dialect.Target) *printer {
	return &printer{to: to, hidden: make(map[firn.EntryID]bool), taken: make(map[firn.EntryID]firn.EntryID)}
}

// Print appends the lines for an entry.
func (p *printer) Print(dst []byte, e firn.Entry) ([]byte, error) {
	if e.Body == nil {
		return dst, fmt.Errorf("write entry %s for CrabTalk: %w: it has no body", e.ID, firn.ErrInvalid)
	}
	dst = p.print(dst, &e)
	p.advance(&e)
	return dst, nil
}

// Repeat records an entry that is already in the file.
func (p *printer) Repeat(e firn.Entry, _ [][]byte) {
	if t, ok := e.Body.(*firn.Tombstone); ok {
		p.hidden[t.Target] = true
		p.taken[e.ID] = t.Target
	}
	p.advance(&e)
}

// Finish appends nothing: no lines are held back.
func (p *printer) Finish(dst []byte) ([]byte, error) { return dst, nil }

// advance updates last and since.
func (p *printer) advance(e *firn.Entry) {
	if e.ID == "" {
		return
	}
	if c, ok := e.Body.(*firn.Compaction); ok {
		p.since = c.FirstKept
		if p.since == "" {
			p.since = e.ID
		}
	} else if p.last == "" && p.since == "" {
		p.since = e.ID
	}
	p.last = e.ID
}

func (p *printer) print(dst []byte, e *firn.Entry) []byte {
	switch b := e.Body.(type) {
	case *firn.Header:
		return p.header(dst, e, b)
	case *firn.Compaction:
		return p.compaction(dst, e, b)
	case *firn.Tombstone:
		return p.tombstone(dst, e, b)
	case *firn.Title:
		if b.Name != p.to.Title {
			p.to.ReportLoss(e, limitTitles, true)
		}
	case *firn.ModelChange, *firn.ThinkingChange:
		p.to.ReportLoss(e, limitSettings, true)
	case *firn.Label:
		p.to.ReportLoss(e, limitNotes, true)
	case *firn.Head:
		if e.Parent != p.last && p.last != "" {
			return p.rewind(dst, e)
		}
	case *firn.Custom:
		if dialect.IsLine(dialect.CrabTalk, b) && rawjson.Valid(b.Data) == nil {
			return p.carried(dst, b)
		}
		p.to.ReportLoss(e, limitNotes, true)
	case *firn.Opaque:
		p.to.ReportLoss(e, limitUnknown, true)
	default:
		return p.printMessage(dst, e, p.to.ReportLoss)
	}
	return dst
}

// header writes the first line. If the session was read from CrabTalk, it keeps the
// original sender.
func (p *printer) header(dst []byte, e *firn.Entry, h *firn.Header) []byte {
	to := p.to
	if to.Agent == "" {
		to.Agent = h.Agent
	}
	if to.Key == "" {
		to.Key = h.Key
	}
	agent, sender := identity(to)
	if raw, ok := members(e.Extra).text("created_by"); ok && raw != "" && keyOf(agent, raw) == keyOf(agent, sender) {
		sender = raw
	}
	if h.ParentSession != "" || h.CWD != "" {
		p.to.ReportLoss(e, limitDirectory, false)
	}
	created := e.Time
	if created.IsZero() {
		created = p.to.Created
	}
	seconds := int64(p.to.Uptime / time.Second)
	if seconds == 0 {
		r := rawjson.New(e.Extra.Get("uptime_secs"))
		seconds, _ = r.Int()
	}
	dst = rawjson.AppendString(append(dst, `{"agent":`...), agent)
	dst = rawjson.AppendString(append(dst, `,"created_by":`...), sender)
	dst = rawjson.AppendString(append(dst, `,"created_at":`...), dialect.ChronoTime(created))
	dst = rawjson.AppendString(append(dst, `,"title":`...), p.to.Title)
	dst = strconv.AppendInt(append(dst, `,"uptime_secs":`...), max(seconds, 0), 10)
	return append(dst, "}\n"...)
}

// carried writes an original line of CrabTalk unchanged.
func (p *printer) carried(dst []byte, c *firn.Custom) []byte {
	line, err := rawjson.AppendValue(dst, c.Data)
	if err != nil {
		return dst
	}
	return append(line, '\n')
}

// compaction writes a marker. CrabTalk sends the messages after the last marker, so the
// kept messages are repeated after it.
func (p *printer) compaction(dst []byte, e *firn.Entry, c *firn.Compaction) []byte {
	dst = p.marker(dst, c.Summary, e)
	if c.FirstKept == "" || c.FirstKept == e.ID {
		return dst
	}
	p.to.ReportLoss(e, limitKept, false)
	for t := range p.written(c.FirstKept) {
		if t.Entry.ID == e.ID {
			break
		}
		dst = p.reprint(dst, t)
	}
	return dst
}

// marker writes a marker, with the title and the time if a later version recorded them.
func (p *printer) marker(dst []byte, summary string, e *firn.Entry) []byte {
	dst = rawjson.AppendString(append(dst, `{"compact":`...), summary)
	for _, name := range []string{"title", "archived_at"} {
		if text, ok := members(e.Extra).text(name); ok && text != "" {
			dst = append(rawjson.AppendString(append(dst, ','), name), ':')
			dst = rawjson.AppendString(dst, text)
		}
	}
	return append(dst, "}\n"...)
}

// written yields the written entries from since on.
func (p *printer) written(since firn.EntryID) iter.Seq[dialect.EntryLines] {
	if p.to.Written == nil {
		return func(func(dialect.EntryLines) bool) {}
	}
	return p.to.Written(since)
}

// reprint writes an earlier message again.
func (p *printer) reprint(dst []byte, t dialect.EntryLines) []byte {
	if p.hidden[t.Entry.ID] || t.Entry.Body == nil {
		return dst
	}
	return p.printMessage(dst, &t.Entry, func(*firn.Entry, string, bool) {})
}

// tombstone hides an entry by repeating all other messages that CrabTalk sends after a new
// marker. A tombstone for another tombstone restores the entry that that one hid.
func (p *printer) tombstone(dst []byte, e *firn.Entry, t *firn.Tombstone) []byte {
	changed := t.Target
	if back, ok := p.taken[t.Target]; ok {
		changed = back
		delete(p.taken, t.Target)
		delete(p.hidden, back)
	} else {
		p.hidden[t.Target] = true
		p.taken[e.ID] = t.Target
	}
	live := p.live()
	at := find(live, changed)
	if at < 0 || isCompaction(live[at]) { // not sent anyway, or the earlier history is unreachable
		p.to.ReportLoss(e, limitHiding, true)
		return dst
	}
	p.to.ReportLoss(e, limitHiding, false)
	return p.restart(dst, live)
}

// rewind returns to the parent of an entry, which is not the last entry.
func (p *printer) rewind(dst []byte, e *firn.Entry) []byte {
	live := p.live()
	at := find(live, e.Parent)
	if at < 0 {
		p.to.ReportLoss(e, limitBranches, true)
		return dst
	}
	return p.restart(dst, live[:at+1])
}

// live lists the entries that CrabTalk would send, including hidden ones.
func (p *printer) live() (live []dialect.EntryLines) {
	for item := range p.written(p.since) {
		if item.Entry.Body != nil {
			live = append(live, item)
		}
	}
	return live
}

// restart writes a marker and the visible messages of a conversation. CrabTalk sends the
// text of the marker as a user message: it is the previous summary or else the first user
// message.
func (p *printer) restart(dst []byte, live []dialect.EntryLines) []byte {
	live = slices.DeleteFunc(slices.Clone(live), func(t dialect.EntryLines) bool { return p.hidden[t.Entry.ID] })
	summary := "(The conversation goes on from here.)"
	first := slices.IndexFunc(live, isMessage)
	if at := lastCompaction(live); at >= 0 {
		summary = live[at].Entry.Body.(*firn.Compaction).Summary
	} else if first >= 0 {
		if m, ok := live[first].Entry.Body.(*firn.Message); ok && plainUser(m) {
			summary, live = m.Text(), live[first+1:]
		}
	}
	dst = p.marker(dst, summary, &firn.Entry{})
	for _, item := range live {
		dst = p.reprint(dst, item)
	}
	return dst
}

func find(live []dialect.EntryLines, id firn.EntryID) int {
	return slices.IndexFunc(live, func(t dialect.EntryLines) bool { return t.Entry.ID == id })
}

func lastCompaction(live []dialect.EntryLines) int {
	for i := len(live) - 1; i >= 0; i-- {
		if isCompaction(live[i]) {
			return i
		}
	}
	return -1
}

func isCompaction(t dialect.EntryLines) bool {
	_, ok := t.Entry.Body.(*firn.Compaction)
	return ok
}

// isMessage reports whether an entry is sent to the model.
func isMessage(t dialect.EntryLines) bool {
	switch t.Entry.Body.(type) {
	case *firn.Message, *firn.BranchSummary, *firn.CustomMessage:
		return true
	}
	return false
}

// plainUser reports whether a message is a user message of one text.
func plainUser(m *firn.Message) bool {
	return m.Role == firn.RoleUser && len(m.Parts) == 1 && strings.TrimSpace(m.Text()) != ""
}
