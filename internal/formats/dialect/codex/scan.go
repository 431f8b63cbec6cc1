package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// scanner reads a rollout.
type scanner struct {
	from dialect.Origin
	// number counts the objects read; last is the parent of the next entry.
	number int
	last   firn.EntryID
	time   time.Time
	headed bool
	// provider, model and effort are those of the turn.
	provider, model, effort string
	turns                   turns
	// calls maps a call ID to the name of the tool.
	calls map[string]string
	held  messageGroup
	// move is a pending head entry after a rollback.
	move *firn.Entry
	out  []firn.Entry
}

func newScanner(from dialect.Origin) *scanner {
	return &scanner{from: from, calls: make(map[string]string)}
}

// Scan reads the next line. The items of a response are held back until its usage is read,
// or until a line shows that there is none.
func (s *scanner) Scan(line []byte) ([]firn.Entry, error) {
	s.out = s.out[:0]
	if rawjson.IsBlank(line) {
		return nil, nil
	}
	f, err := readMembers(line)
	if err != nil {
		return nil, fmt.Errorf("reading a line of a rollout of Codex: %w: %w", firn.ErrCorrupt, err)
	}
	s.number++
	s.emitMove()
	if t, ok := parseTime(f.text("timestamp")); ok {
		s.time = t
	}
	kind, payload := f.text("type"), f.object("payload")
	if !s.headed {
		s.headed = true
		if s.header(f, kind, payload) {
			return s.out, nil
		}
	}
	line = bytes.TrimSpace(line)
	if payload == nil && f.get("payload") == nil { // the format until summer 2025
		s.item(f, f, line)
		return s.out, nil
	}
	s.line(kind, f, payload, line)
	return s.out, nil
}

// Finish returns the items of a response without usage.
func (s *scanner) Finish() []firn.Entry {
	s.out = s.out[:0]
	s.emitMove()
	s.release()
	return s.out
}

// line processes a line after the first.
func (s *scanner) line(kind string, f, payload members, line []byte) {
	switch kind {
	case "response_item":
		s.item(payload, f, line)
	case "compacted":
		s.compaction(payload)
	case "turn_context":
		s.settings(payload, line)
	case "event_msg":
		s.event(payload, line)
	case "token_usage_record":
		s.setUsage(readUsage(payload.object("usage")), payload.text("response_id"), line, kind)
	case kindCommunication:
		s.communication(payload, line)
	default:
		s.add(draft{body: carried(kind, line)})
	}
}

// header processes the first line, or synthesizes a header if it is missing. It reports
// whether the line was consumed.
func (s *scanner) header(f members, kind string, payload members) bool {
	meta := payload
	switch {
	case kind == "session_meta":
	case kind == "" && f.get("id") != nil && f.get("timestamp") != nil && f.get("payload") == nil:
		meta = f
	default:
		s.out = append(s.out, firn.Entry{Time: s.time, Body: &firn.Header{Session: s.session(""), CWD: s.from.CWD}})
		return false
	}
	h := firn.Header{CWD: meta.text("cwd"), ParentSession: parentOf(meta)}
	id := meta.text("id")
	if id == "" {
		id = meta.text("session_id")
	}
	h.Session = s.session(id)
	s.provider = meta.text("model_provider")
	created, ok := parseTime(meta.text("timestamp"))
	if !ok {
		created = s.time
	}
	if s.time.IsZero() {
		s.time = created
	}
	s.out = append(s.out, firn.Entry{Time: created, Body: &h, Extra: meta.without("id", "session_id", "timestamp", "cwd", "base_instructions", "instructions")})
	return true
}

// session returns the ID of the session: the one from the folder, the rollout's own, or one
// derived from the path.
func (s *scanner) session(own string) firn.ID {
	if s.from.ID != "" {
		own = string(s.from.ID)
	} else if own == "" && len(s.from.Parts) > 0 {
		own = s.from.Parts[0]
		if name, ok := parseName(own); ok {
			own = name.id
		}
	}
	if id := firn.ID(own); id.Check() == nil {
		return id
	}
	return firn.ID(dialect.UUID(string(dialect.Codex), own))
}

// parentOf returns the parent session of a fork or a sub-agent's session.
func parentOf(meta members) string {
	for _, name := range []string{"forked_from_id", "parent_thread_id"} {
		if id := meta.text(name); id != "" {
			return id
		}
	}
	return meta.object("source").object("subagent").object("thread_spawn").text("parent_thread_id")
}

// settings processes the settings of a turn.
func (s *scanner) settings(f members, line []byte) {
	var all []draft
	if provider := f.text("model_provider"); provider != "" {
		s.provider = provider
	}
	if model := f.text("model"); model != "" && model != s.model {
		s.model = model
		all = append(all, draft{body: &firn.ModelChange{Provider: s.provider, Model: model}})
	}
	if effort := f.text("effort"); effort != "" && effort != s.effort {
		s.effort = effort
		if effort == "none" {
			effort = "off"
		}
		all = append(all, draft{body: &firn.ThinkingChange{Level: effort}})
	}
	s.add(append(all, draft{body: carried("turn_context", line)})...)
}

// event processes an event. Most events only duplicate items for display.
func (s *scanner) event(f members, line []byte) {
	kind := f.text("type")
	switch kind {
	case "thread_rolled_back":
		s.rollBack(f, line)
		return
	case "token_count":
		s.setUsage(readUsage(f.object("info").object("last_token_usage")), "", line, kind)
		return
	case "thread_name_updated":
		if name := f.text("thread_name"); name != "" {
			s.add(draft{body: &firn.Title{Name: name}}, draft{body: carried(kind, line)})
			return
		}
	case "task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted":
		s.release()
	}
	s.add(draft{body: carried(kind, line)})
}

// rollBack drops the last turns from the path. Its line stays on the dropped branch: if
// that branch is omitted, so is the line. The move away from the branch is emitted with the
// next line.
func (s *scanner) rollBack(f members, line []byte) {
	s.release()
	to, ok := s.turns.drop(f.number("num_turns"))
	if !ok {
		s.add(draft{body: carried("thread_rolled_back", line)})
		return
	}
	s.emit(s.name()+".1", draft{body: carried("thread_rolled_back", line)})
	s.move = &firn.Entry{ID: s.name(), Parent: to, Time: s.time, Body: &firn.Head{Reason: "thread_rolled_back"}, Extra: f.without("type")}
	s.last, s.turns.lastOwn = s.name(), s.name()
}

// emitMove emits the move of a rollback.
func (s *scanner) emitMove() {
	if s.move != nil {
		s.out = append(s.out, *s.move)
		s.move = nil
	}
}

// setUsage sets the usage of the held response.
func (s *scanner) setUsage(usage *firn.Usage, response string, line []byte, kind string) {
	if usage == nil {
		s.add(draft{body: carried(kind, line)})
		return
	}
	s.held.setUsage(usage, response)
	s.add(draft{body: carried(kind, line)})
	s.release()
}

// communication processes a message from another agent, which is sent to the model.
func (s *scanner) communication(f members, line []byte) {
	text := f.text("content")
	if text == "" {
		s.add(draft{body: carried(kindCommunication, line)})
		return
	}
	s.release()
	body := &firn.CustomMessage{Type: dialect.LineType(dialect.Codex, kindCommunication), Parts: []firn.Part{firn.Text{Text: text}}, Display: true, Details: rawjson.CleanCopy(line)}
	s.turns.add(s.last, "")
	s.add(draft{body: body})
	s.turns.lastOwn = s.last
}

// draft is an entry of a line without ID and parent.
type draft struct {
	body  firn.Body
	extra firn.Fields
}

// add emits the entries of a line, each after the previous one. The last has the name of
// the line.
func (s *scanner) add(all ...draft) {
	for i, a := range all {
		id := s.name()
		if i < len(all)-1 {
			id += firn.EntryID("." + strconv.Itoa(i+1))
		}
		s.emit(id, a)
	}
}

// name returns the name of the current line.
func (s *scanner) name() firn.EntryID { return firn.EntryID(fmt.Sprintf("r%06d", s.number)) }

// emit emits an entry after the previous one.
func (s *scanner) emit(id firn.EntryID, a draft) {
	if c, ok := a.body.(*firn.Compaction); ok {
		c.FirstKept = id // the kept entries follow it
	}
	e := firn.Entry{ID: id, Parent: s.last, Time: s.time, Body: a.body, Extra: a.extra}
	s.last = id
	if s.held.open {
		s.held.entries = append(s.held.entries, e)
	} else {
		s.out = append(s.out, e)
	}
}

// release emits the held entries. The items of the response are first, so that they are
// contiguous.
func (s *scanner) release() {
	if len(s.held.entries) > 0 {
		s.last = s.held.reorder()
		s.out = append(s.out, s.held.entries...)
	}
	s.held = messageGroup{}
}

// messageGroup holds the items of a response and the entries between and after them until
// the usage of the response is known.
type messageGroup struct {
	entries []firn.Entry
	// open is set once there is an item; done once a result follows it, so that the next
	// item starts a new response.
	open, done bool
}

// setUsage sets the usage on the first message of the response, and the response ID on all
// of them.
func (a *messageGroup) setUsage(usage *firn.Usage, response string) {
	for _, m := range a.messages() {
		m.Usage, usage = usage, nil
		if response != "" {
			m.Extra = append(m.Extra, firn.Field{Name: dialect.ResponseID, Value: quote(response)})
		}
	}
}

// messages lists the items.
func (a *messageGroup) messages() (list []*firn.Message) {
	for _, e := range a.entries {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleAssistant {
			list = append(list, m)
		}
	}
	return list
}

// reorder moves the items before the entries between them, assigns a common response ID if
// there is none, and returns the last entry.
func (a *messageGroup) reorder() firn.EntryID {
	items := a.messages()
	if len(items) > 1 && items[0].Extra.Get(dialect.ResponseID) == nil {
		for _, m := range items {
			m.Extra = append(m.Extra, firn.Field{Name: dialect.ResponseID, Value: quote(string(a.entries[0].ID))})
		}
	}
	before := a.entries[0].Parent
	slices.SortStableFunc(a.entries, func(x, y firn.Entry) int { return rank(x) - rank(y) })
	for i := range a.entries {
		a.entries[i].Parent = before
		before = a.entries[i].ID
	}
	return before
}

// rank is 0 for an item of a response and 1 for other entries.
func rank(e firn.Entry) int {
	if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleAssistant {
		return 0
	}
	return 1
}

// readUsage decodes the usage of a response, nil if there is none.
func readUsage(f members) *firn.Usage {
	if f.get("total_tokens") == nil && f.get("input_tokens") == nil {
		return nil
	}
	read, write := f.number("cached_input_tokens"), f.number("cache_write_input_tokens")
	u := &firn.Usage{Output: f.number("output_tokens"), CacheRead: read, CacheWrite: write, Total: f.number("total_tokens")}
	u.Input = max(0, f.number("input_tokens")-read-write)
	if n := f.get("reasoning_output_tokens"); n != nil && string(n) != "0" {
		u.Extra = firn.Fields{{Name: "reasoning_output_tokens", Value: rawjson.CleanCopy(n)}}
	}
	return u
}

// turns records the start of each turn, for rollbacks.
type turns struct {
	list []turn
	// lastOwn is the last entry that is not context generated by Codex: the context before
	// a turn belongs to the turn.
	lastOwn firn.EntryID
	// size is the total size of the stored texts.
	size int
}

// turn is a user message: the entry before it, and its text as long as an old-style
// compaction may need it.
type turn struct {
	before firn.EntryID
	text   string
}

// maxTexts limits the user texts that an old-style compaction keeps: Codex kept the last
// 20,000 tokens, at four bytes each.
const maxTexts = 80_000

// add records a user message after the entry last.
func (t *turns) add(last firn.EntryID, text string) {
	if len(t.list) > 0 {
		last = t.lastOwn
	}
	t.list = append(t.list, turn{last, text})
	t.size += len(text)
	for i := 0; t.size > maxTexts && i < len(t.list); i++ {
		t.size -= len(t.list[i].text)
		t.list[i].text = ""
	}
}

// drop removes the last n turns and returns the entry before them. It returns false if
// there are none.
func (t *turns) drop(n int64) (firn.EntryID, bool) {
	if n <= 0 || len(t.list) == 0 {
		return "", false
	}
	from := max(0, int64(len(t.list))-n)
	to := t.list[from].before
	for _, gone := range t.list[from:] {
		t.size -= len(gone.text)
	}
	t.list = t.list[:from]
	return to, true
}

// carried returns an entry that carries a line which is not sent to the model.
func carried(kind string, line []byte) *firn.Custom {
	return &firn.Custom{Type: dialect.LineType(dialect.Codex, kind), Data: rawjson.CleanCopy(line)}
}

// compaction processes a history that replaces all earlier entries.
func (s *scanner) compaction(f members) {
	s.release()
	summary, history := f.text("message"), f.get("replacement_history")
	extra := f.without("message", "replacement_history", "replacement_history_metadata")
	c := &firn.Compaction{Summary: summary}
	all := []draft{{body: c, extra: extra}}
	switch {
	case history == nil:
		all = append(all, s.oldUserMessages()...)
	case summary == "": // no summary: the history starts again
		s.last = ""
		all[0].body = &firn.Head{Reason: replacedReason}
		all = append(all, s.history(history, "", new(int))...)
	default:
		at := -1
		all = append(all, s.history(history, summary, &at)...)
		c.Details = json.RawMessage(`{"summary_at":` + strconv.Itoa(at) + `}`)
	}
	s.add(all...)
	s.turns.lastOwn = s.last
}

// replacedReason is the reason of a head entry for a replaced history without a summary.
const replacedReason = "compacted"

// oldUserMessages returns the user messages that an old-style compaction keeps.
func (s *scanner) oldUserMessages() (all []draft) {
	for _, t := range s.turns.list {
		if t.text != "" {
			all = append(all, draft{body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: t.text}}, Time: s.time}})
		}
	}
	return all
}

// history decodes the history of a compaction without its summary, and stores the index of
// the summary in at.
func (s *scanner) history(raw json.RawMessage, summary string, at *int) (all []draft) {
	for i, raw := range elements(raw) {
		item, err := readMembers(raw)
		if err == nil && summary != "" && *at < 0 && isSummary(item, summary) {
			*at = i
			continue
		}
		all = append(all, s.replacement(item, raw))
	}
	return all
}

// replacement decodes an item of a history.
func (s *scanner) replacement(item members, raw json.RawMessage) draft {
	if read := s.decodeItem(item); read.body != nil {
		return read.draft
	}
	return draft{body: carried(replacementKind, raw)}
}

// replacementKind is the kind of a carried item of a history.
const replacementKind = "replacement"

// isSummary reports whether an item is the summary of its compaction.
func isSummary(item members, summary string) bool {
	if item.text("type") != "message" || item.text("role") != "user" {
		return false
	}
	content := elements(item.get("content"))
	if len(content) != 1 {
		return false
	}
	piece, err := readMembers(content[0])
	text := piece.text("text")
	return err == nil && (text == summary || text == summaryText(summary))
}

// summaryText returns the text of a summary for the model.
func summaryText(summary string) string {
	return "The conversation before this point was compacted into this summary:\n\n<summary>\n" + strings.ReplaceAll(summary, "</summary>", `<\/summary>`) + "\n</summary>"
}
