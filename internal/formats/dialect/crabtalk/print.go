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

// printer writes a session line by line. It keeps no more of what it wrote than
// where the part begins that CrabTalk would send.
type printer struct {
	to dialect.Target
	// last is the entry before, since the first of those that CrabTalk sends.
	last, since firn.EntryID
	hidden      map[firn.EntryID]bool
	// taken maps a tombstone that counts to what it hid.
	taken map[firn.EntryID]firn.EntryID
}

func newPrinter(to dialect.Target) *printer {
	return &printer{to: to, hidden: make(map[firn.EntryID]bool), taken: make(map[firn.EntryID]firn.EntryID)}
}

// Print adds the lines that say an entry.
func (p *printer) Print(dst []byte, e firn.Entry) ([]byte, error) {
	if e.Body == nil {
		return dst, fmt.Errorf("writing entry %s for CrabTalk: %w: it has no body", e.ID, firn.ErrInvalid)
	}
	dst = p.print(dst, &e)
	p.note(&e)
	return dst, nil
}

// Repeat notes an entry that is there already.
func (p *printer) Repeat(e firn.Entry, _ [][]byte) {
	if t, ok := e.Body.(*firn.Tombstone); ok {
		p.hidden[t.Target] = true
		p.taken[e.ID] = t.Target
	}
	p.note(&e)
}

// Finish adds nothing: no line is held back.
func (p *printer) Finish(dst []byte) ([]byte, error) { return dst, nil }

// note remembers where we are.
func (p *printer) note(e *firn.Entry) {
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
			p.lose(e, limitTitles, true)
		}
	case *firn.ModelChange, *firn.ThinkingChange:
		p.lose(e, limitSettings, true)
	case *firn.Label:
		p.lose(e, limitNotes, true)
	case *firn.Head:
		if e.Parent != p.last && p.last != "" {
			return p.rewind(dst, e)
		}
	case *firn.Custom:
		if dialect.IsLine(dialect.CrabTalk, b) && rawjson.Valid(b.Data) == nil {
			return p.carried(dst, b)
		}
		p.lose(e, limitNotes, true)
	case *firn.Opaque:
		p.lose(e, limitUnknown, true)
	default:
		return p.say(dst, e, p.lose)
	}
	return dst
}

// lose tells of a loss.
func (p *printer) lose(e *firn.Entry, limit string, dropped bool) {
	if p.to.Lose != nil {
		p.to.Lose(dialect.Loss{Entry: e.ID, Kind: e.Body.Kind(), Limit: limit, Dropped: dropped})
	}
}

// header writes the first line. The sender is the one that a file of CrabTalk
// named, if that is where the session comes from.
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
		p.lose(e, limitDirectory, false)
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
	dst = rawjson.AppendString(append(dst, `,"created_at":`...), stamp(created))
	dst = rawjson.AppendString(append(dst, `,"title":`...), p.to.Title)
	dst = strconv.AppendInt(append(dst, `,"uptime_secs":`...), max(seconds, 0), 10)
	return append(dst, "}\n"...)
}

// stamp writes a time as chrono does: with as many digits of the second as are
// needed, three at a time.
func stamp(t time.Time) string {
	t = t.UTC()
	layout := "2006-01-02T15:04:05"
	switch ns := t.Nanosecond(); {
	case ns == 0:
	case ns%1_000_000 == 0:
		layout += ".000"
	case ns%1_000 == 0:
		layout += ".000000"
	default:
		layout += ".000000000"
	}
	return t.Format(layout) + "+00:00"
}

// carried writes a line of CrabTalk's own as it was.
func (p *printer) carried(dst []byte, c *firn.Custom) []byte {
	line, err := rawjson.AppendValue(dst, c.Data)
	if err != nil {
		return dst
	}
	return append(line, '\n')
}

// compaction writes a marker. CrabTalk sends what stands behind the last one, so
// what is kept is written again there.
func (p *printer) compaction(dst []byte, e *firn.Entry, c *firn.Compaction) []byte {
	dst = p.marker(dst, c.Summary, e)
	if c.FirstKept == "" || c.FirstKept == e.ID {
		return dst
	}
	p.lose(e, limitKept, false)
	for t := range p.told(c.FirstKept) {
		if t.Entry.ID == e.ID {
			break
		}
		dst = p.again(dst, t)
	}
	return dst
}

// marker writes a marker, with the title and the time of a later version if it
// comes from there.
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

// told yields what was said since an entry.
func (p *printer) told(since firn.EntryID) iter.Seq[dialect.Told] {
	if p.to.Told == nil {
		return func(func(dialect.Told) bool) {}
	}
	return p.to.Told(since)
}

// again writes a message that was written before.
func (p *printer) again(dst []byte, t dialect.Told) []byte {
	if p.hidden[t.Entry.ID] || t.Entry.Body == nil {
		return dst
	}
	return p.say(dst, &t.Entry, func(*firn.Entry, string, bool) {})
}

// tombstone hides an entry: behind a new marker everything is written again
// that CrabTalk sends and that is not hidden. One that hides another tombstone
// brings back what that one hid.
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
	if at < 0 || isCompaction(live[at]) { // not sent anyway, or the past is out of reach
		p.lose(e, limitHiding, true)
		return dst
	}
	p.lose(e, limitHiding, false)
	return p.begin(dst, live)
}

// rewind goes back to the parent of an entry, which is not the last one.
func (p *printer) rewind(dst []byte, e *firn.Entry) []byte {
	live := p.live()
	at := find(live, e.Parent)
	if at < 0 {
		p.lose(e, limitBranches, true)
		return dst
	}
	return p.begin(dst, live[:at+1])
}

// live lists what CrabTalk would send, hidden or not.
func (p *printer) live() (live []dialect.Told) {
	for told := range p.told(p.since) {
		if told.Entry.Body != nil {
			live = append(live, told)
		}
	}
	return live
}

// begin writes a marker and what of a conversation is not hidden. CrabTalk sends
// the text of the marker as words of the user: that is the summary that was
// there before, or else what the user said first.
func (p *printer) begin(dst []byte, live []dialect.Told) []byte {
	live = slices.DeleteFunc(slices.Clone(live), func(t dialect.Told) bool { return p.hidden[t.Entry.ID] })
	summary := "(The conversation goes on from here.)"
	first := slices.IndexFunc(live, isSaid)
	if at := lastCompaction(live); at >= 0 {
		summary = live[at].Entry.Body.(*firn.Compaction).Summary
	} else if first >= 0 {
		if m, ok := live[first].Entry.Body.(*firn.Message); ok && plainUser(m) {
			summary, live = m.Text(), live[first+1:]
		}
	}
	dst = p.marker(dst, summary, &firn.Entry{})
	for _, told := range live {
		dst = p.again(dst, told)
	}
	return dst
}

func find(live []dialect.Told, id firn.EntryID) int {
	return slices.IndexFunc(live, func(t dialect.Told) bool { return t.Entry.ID == id })
}

func lastCompaction(live []dialect.Told) int {
	for i := len(live) - 1; i >= 0; i-- {
		if isCompaction(live[i]) {
			return i
		}
	}
	return -1
}

func isCompaction(t dialect.Told) bool {
	_, ok := t.Entry.Body.(*firn.Compaction)
	return ok
}

// isSaid reports whether an entry is something that a model is sent.
func isSaid(t dialect.Told) bool {
	switch t.Entry.Body.(type) {
	case *firn.Message, *firn.BranchSummary, *firn.CustomMessage:
		return true
	}
	return false
}

// plainUser reports whether a message is words of the user and nothing else.
func plainUser(m *firn.Message) bool {
	return m.Role == firn.RoleUser && len(m.Parts) == 1 && strings.TrimSpace(m.Text()) != ""
}
