package codex

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// printer writes a rollout. Of the written entries it stores only the start of the part
// that Codex would send.
type printer struct {
	to dialect.Target
	// ordinal is the number of the next line, -1 if lines have none.
	ordinal int64
	// last is the previous entry, since the first of the entries that Codex sends.
	last, since firn.EntryID
	// floor is the last entry of a history that replaced another to hide an entry: a
	// rollback cannot reach into it.
	floor firn.EntryID
	// outdated is set if the session was read from a rollout in an old format.
	outdated bool
	// own is set if the session was read from a rollout. Its lines already include the
	// display events that the printer adds otherwise.
	own    bool
	hidden map[firn.EntryID]bool
	// taken maps an effective tombstone to the entry it hid.
	taken map[firn.EntryID]firn.EntryID
	// calls maps a call ID to the type of its item, if it is not function_call.
	calls map[string]string
	total usage
	// turn is the ID of the turn in progress. again is a suffix for the IDs of turns that
	// are written again.
	turn, again string
	// time is that of the last line, for entries without a time.
	time  time.Time
	group *group
}

// group is a compaction with the history entries that were read with it, collected to be
// written as one line.
type group struct {
	name    string
	entry   firn.Entry
	summary string
	at      int
	items   [][]byte
}

func newPrinter(to dialect.Target) *printer {
	return &printer{
		to: to, ordinal: -1, hidden: make(map[firn.EntryID]bool),
		taken: make(map[firn.EntryID]firn.EntryID), calls: make(map[string]string),
	}
}

// Print appends the lines for an entry.
func (p *printer) Print(dst []byte, e firn.Entry) ([]byte, error) {
	if e.Body == nil {
		return dst, fmt.Errorf("write entry %s for Codex: %w: it has no body", e.ID, firn.ErrInvalid)
	}
	dst = p.print(dst, &e)
	p.advance(&e)
	return dst, nil
}

// Stale reports whether the lines are in a format that Codex no longer reads, or begin
// another file: Codex uses the ID in the first line. The first line decides for a file of
// 2025, since one entry may carry the lines of several.
func (p *printer) Stale(e firn.Entry, lines [][]byte) bool {
	if p.to.As == "" || p.outdated || len(lines) == 0 {
		return p.outdated
	}
	if _, ok := e.Body.(*firn.Header); !ok {
		return false
	}
	f, err := readMembers(lines[0])
	meta := f.object("payload")
	if err != nil || meta == nil || f.get("timestamp") == nil {
		p.outdated = true
		return true
	}
	for _, name := range []string{"timestamp", "cwd", "originator", "cli_version"} {
		if meta.get(name) == nil {
			return true
		}
	}
	return meta.text("id") != p.to.As
}

// Finish writes an incomplete history.
func (p *printer) Finish(dst []byte) ([]byte, error) { return p.closeGroup(dst), nil }

// Repeat records an entry that is already in the file.
func (p *printer) Repeat(e firn.Entry, lines [][]byte) {
	switch b := e.Body.(type) {
	case *firn.Header:
		p.own = isOwn(&e)
	case *firn.Tombstone:
		p.hidden[b.Target] = true
		p.taken[e.ID] = b.Target
	case *firn.Message:
		for _, part := range b.Parts {
			if call, ok := part.(firn.ToolCall); ok {
				p.rememberCall(call)
			}
		}
	}
	for _, line := range lines {
		p.repeatLine(line)
	}
	p.advance(&e)
}

// repeatLine updates the printer's state from a line.
func (p *printer) repeatLine(line []byte) {
	f, err := readMembers(line)
	if err != nil {
		return
	}
	if t, ok := parseTime(f.text("timestamp")); ok {
		p.time = t
	}
	p.ordinal = -1
	if f.get("ordinal") != nil {
		p.ordinal = f.number("ordinal") + 1
	}
	if f.text("type") != "event_msg" {
		return
	}
	switch payload := f.object("payload"); payload.text("type") {
	case "token_count":
		if total := payload.object("info").object("total_token_usage"); total != nil {
			p.total = readTotal(total)
		}
	case "task_started":
		p.turn = payload.text("turn_id")
	case "task_complete", "turn_aborted":
		p.turn = ""
	}
}

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
	if p.group != nil {
		if isOf(e.ID, p.group.name) {
			return p.collect(dst, e)
		}
		dst = p.closeGroup(dst)
	}
	switch b := e.Body.(type) {
	case *firn.Header:
		return p.header(dst, e, b)
	case *firn.Compaction:
		return p.compaction(dst, e, b)
	case *firn.Tombstone:
		return p.tombstone(dst, e, b)
	case *firn.Head:
		return p.head(dst, e, b)
	case *firn.Custom:
		if dialect.IsLine(dialect.Codex, b) && rawjson.Valid(b.Data) == nil {
			return p.carried(dst, b)
		}
		p.to.ReportLoss(e, limitNotes, true)
	case *firn.Message, *firn.BranchSummary, *firn.CustomMessage:
		return p.printMessage(dst, e, p.to.ReportLoss)
	default:
		p.loseUnwritten(e)
	}
	return dst
}

// loseUnwritten reports the loss of an entry without an equivalent. There is no loss if a
// carried line of the rollout represents it.
func (p *printer) loseUnwritten(e *firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Title:
		if b.Name != p.to.Title && !p.fromRollout(e) {
			p.to.ReportLoss(e, limitTitles, true)
		}
	case *firn.ModelChange, *firn.ThinkingChange:
		if !p.fromRollout(e) {
			p.to.ReportLoss(e, limitSettings, true)
		}
	case *firn.Label:
		p.to.ReportLoss(e, limitNotes, true)
	default:
		p.to.ReportLoss(e, limitUnknown, true)
	}
}

// fromRollout reports whether an entry was read from a rollout.
func (p *printer) fromRollout(e *firn.Entry) bool { return p.own && lineOf(e.ID) != "" }

// lineOf returns the name of the line that an entry was read from, "" if it was not read
// from a rollout.
func lineOf(id firn.EntryID) string {
	name, piece, several := strings.Cut(string(id), ".")
	if len(name) < 7 || name[0] != 'r' || strings.Trim(name[1:], "0123456789") != "" {
		return ""
	}
	if _, err := strconv.Atoi(piece); several && err != nil {
		return ""
	}
	return name
}

func isOf(id firn.EntryID, line string) bool { return lineOf(id) == line }

// isOwn reports whether a header was read from a rollout.
func isOwn(e *firn.Entry) bool {
	return e.Extra.Get("originator") != nil
}

// stamp formats a time as Codex does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// line appends a line with a payload.
func (p *printer) line(dst []byte, at time.Time, kind string, payload []byte) []byte {
	if at.IsZero() {
		at = p.time
	}
	p.time = at
	dst = rawjson.AppendString(append(dst, `{"timestamp":`...), stamp(at))
	if p.ordinal >= 0 {
		dst = strconv.AppendInt(append(dst, `,"ordinal":`...), p.ordinal, 10)
		p.ordinal++
	}
	dst = rawjson.AppendString(append(dst, `,"type":`...), kind)
	dst = append(append(dst, `,"payload":`...), payload...)
	return append(dst, "}\n"...)
}

// carried writes an original line of Codex unchanged.
func (p *printer) carried(dst []byte, c *firn.Custom) []byte {
	line, err := rawjson.AppendValue(dst, c.Data)
	if err != nil {
		return dst
	}
	p.repeatLine(c.Data)
	return append(line, '\n')
}

// header writes the first line.
func (p *printer) header(dst []byte, e *firn.Entry, h *firn.Header) []byte {
	p.own, p.ordinal = isOwn(e), -1
	if p.own && members(e.Extra).text("history_mode") == "paginated" {
		p.ordinal = 0 // only paginated rollouts number their lines
	}
	created := e.Time
	if created.IsZero() {
		created = p.to.Created
	}
	id := threadID(p.to)
	if p.to.Session == "" && p.to.As == "" {
		id = dialect.UUID(string(dialect.Codex), string(h.Session))
	}
	cwd := h.CWD
	if cwd == "" {
		cwd = p.to.CWD
	}
	w := object{}
	w.text("session_id", id)
	w.text("id", id)
	if parent := parentID(h, p.to); parent != "" && !p.own {
		w.text("forked_from_id", parent)
	}
	w.text("timestamp", stamp(created))
	w.text("cwd", cwd)
	if !p.own {
		w.text("originator", "firn")
		w.text("cli_version", version)
		w.text("source", "cli")
	}
	for _, f := range e.Extra {
		if p.own && !strings.HasPrefix(f.Name, "codex.") {
			w.value(f.Name, f.Value)
		}
	}
	if p.own && e.Extra.Get("cli_version") == nil { // Codex requires this member
		w.text("cli_version", version)
	}
	return p.line(dst, created, "session_meta", w.close())
}

// threadID returns Codex's ID of a session.
func threadID(to dialect.Target) string {
	if to.As != "" {
		return to.As
	}
	return dialect.UUID(string(dialect.Codex), string(to.Session))
}

// parentID returns the session that this one was forked from, if it has an ID valid for
// Codex.
func parentID(h *firn.Header, to dialect.Target) string {
	for _, id := range []string{h.ParentSession, string(to.Parent)} {
		if dialect.IsUUID(id) {
			return id
		}
	}
	return ""
}

// object writes a JSON object.
type object struct{ b []byte }

func (o *object) name(name string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(rawjson.AppendString(o.b, name), ':')
}

func (o *object) text(name, value string) {
	o.name(name)
	o.b = rawjson.AppendString(o.b, value)
}

func (o *object) number(name string, value int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, value, 10)
}

// value writes an encoded value, null if it is invalid.
func (o *object) value(name string, raw []byte) {
	o.name(name)
	b, err := rawjson.AppendValue(o.b, raw)
	if err != nil {
		b = append(o.b, "null"...)
	}
	o.b = b
}

// list writes encoded values as an array.
func (o *object) list(name string, values [][]byte) {
	o.name(name)
	o.b = append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, v...)
	}
	o.b = append(o.b, ']')
}

func (o *object) close() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	return append(o.b, '}')
}
