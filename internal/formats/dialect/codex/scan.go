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
	// number counts the objects that were read, last is the entry that the next
	// one follows.
	number int
	last   firn.EntryID
	time   time.Time
	headed bool
	// provider, model and effort are those of the turn.
	provider, model, effort string
	turns                   turns
	// calls maps the id of a call to the name of the tool.
	calls map[string]string
	held  answer
	// move goes away from turns that were rolled back.
	move *firn.Entry
	out  []firn.Entry
}

func newScanner(from dialect.Origin) *scanner {
	return &scanner{from: from, calls: make(map[string]string)}
}

// Scan reads the next line. The items of an answer wait for the line that says
// what the answer cost, or for one that shows that none will come.
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
	s.leave()
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
	if payload == nil && f.get("payload") == nil { // as Codex wrote it until summer 2025
		s.item(f, f, line)
		return s.out, nil
	}
	s.line(kind, f, payload, line)
	return s.out, nil
}

// Finish returns the items of an answer of which nobody told what it cost.
func (s *scanner) Finish() []firn.Entry {
	s.out = s.out[:0]
	s.leave()
	s.release()
	return s.out
}

// line takes a line after the first.
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
		s.cost(readUsage(payload.object("usage")), payload.text("response_id"), line, kind)
	case kindCommunication:
		s.communication(payload, line)
	default:
		s.add(said{body: carried(kind, line)})
	}
}

// header takes the first line, or makes up a header for a rollout that lost it;
// it reports whether that is all there is to say of the line.
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

// session is the id of the session: the folder's, the rollout's own, or one
// made of what is known.
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

// parentOf is the session that a fork or a sub-agent's session comes from.
func parentOf(meta members) string {
	for _, name := range []string{"forked_from_id", "parent_thread_id"} {
		if id := meta.text(name); id != "" {
			return id
		}
	}
	return meta.object("source").object("subagent").object("thread_spawn").text("parent_thread_id")
}

// settings takes what holds for a turn.
func (s *scanner) settings(f members, line []byte) {
	var all []said
	if provider := f.text("model_provider"); provider != "" {
		s.provider = provider
	}
	if model := f.text("model"); model != "" && model != s.model {
		s.model = model
		all = append(all, said{body: &firn.ModelChange{Provider: s.provider, Model: model}})
	}
	if effort := f.text("effort"); effort != "" && effort != s.effort {
		s.effort = effort
		if effort == "none" {
			effort = "off"
		}
		all = append(all, said{body: &firn.ThinkingChange{Level: effort}})
	}
	s.add(append(all, said{body: carried("turn_context", line)})...)
}

// event takes an event. Most only repeat for the screen what items say.
func (s *scanner) event(f members, line []byte) {
	kind := f.text("type")
	switch kind {
	case "thread_rolled_back":
		s.rollBack(f, line)
		return
	case "token_count":
		s.cost(readUsage(f.object("info").object("last_token_usage")), "", line, kind)
		return
	case "thread_name_updated":
		if name := f.text("thread_name"); name != "" {
			s.add(said{body: &firn.Title{Name: name}}, said{body: carried(kind, line)})
			return
		}
	case "task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted":
		s.release()
	}
	s.add(said{body: carried(kind, line)})
}

// rollBack drops the last turns from the path. The line stays with the turns
// that it drops: where they are left out, it must be too. The move away from
// them waits for the next line.
func (s *scanner) rollBack(f members, line []byte) {
	s.release()
	to, ok := s.turns.drop(f.number("num_turns"))
	if !ok {
		s.add(said{body: carried("thread_rolled_back", line)})
		return
	}
	s.put(s.name()+".1", said{body: carried("thread_rolled_back", line)})
	s.move = &firn.Entry{ID: s.name(), Parent: to, Time: s.time, Body: &firn.Head{Reason: "thread_rolled_back"}, Extra: f.without("type")}
	s.last, s.turns.solid = s.name(), s.name()
}

// leave makes the move that a rollback asked for.
func (s *scanner) leave() {
	if s.move != nil {
		s.out = append(s.out, *s.move)
		s.move = nil
	}
}

// cost takes what the answer that is held cost.
func (s *scanner) cost(usage *firn.Usage, response string, line []byte, kind string) {
	if usage == nil {
		s.add(said{body: carried(kind, line)})
		return
	}
	s.held.settle(usage, response)
	s.add(said{body: carried(kind, line)})
	s.release()
}

// communication takes what another agent says to this one, which the model is
// sent.
func (s *scanner) communication(f members, line []byte) {
	text := f.text("content")
	if text == "" {
		s.add(said{body: carried(kindCommunication, line)})
		return
	}
	s.release()
	body := &firn.CustomMessage{Type: dialect.LineType(dialect.Codex, kindCommunication), Parts: []firn.Part{firn.Text{Text: text}}, Display: true, Details: keep(line)}
	s.turns.begin(s.last, "")
	s.add(said{body: body})
	s.turns.solid = s.last
}

// said is what a line says, or a part of it.
type said struct {
	body  firn.Body
	extra firn.Fields
}

// add makes entries of what a line says, each after the one before. The last
// has the name of the line.
func (s *scanner) add(all ...said) {
	for i, a := range all {
		id := s.name()
		if i < len(all)-1 {
			id += firn.EntryID("." + strconv.Itoa(i+1))
		}
		s.put(id, a)
	}
}

// name is the name of the line that is being read.
func (s *scanner) name() firn.EntryID { return firn.EntryID(fmt.Sprintf("r%06d", s.number)) }

// put makes an entry that follows the one before.
func (s *scanner) put(id firn.EntryID, a said) {
	if c, ok := a.body.(*firn.Compaction); ok {
		c.FirstKept = id // what is kept stands behind it
	}
	e := firn.Entry{ID: id, Parent: s.last, Time: s.time, Body: a.body, Extra: a.extra}
	s.last = id
	if s.held.open {
		s.held.entries = append(s.held.entries, e)
	} else {
		s.out = append(s.out, e)
	}
}

// release gives out what was held. The items of the answer come first, so that
// nothing parts them.
func (s *scanner) release() {
	if len(s.held.entries) > 0 {
		s.last = s.held.gather()
		s.out = append(s.out, s.held.entries...)
	}
	s.held = answer{}
}

// answer holds the items of an answer, what came between and after them, until
// it is known what the answer cost.
type answer struct {
	entries []firn.Entry
	// open is set once there is an item; done once a result came behind it, so
	// that the next item is one of the next answer.
	open, done bool
}

// settle tells what the answer cost. The first of its messages says so, and all
// of them have its id.
func (a *answer) settle(usage *firn.Usage, response string) {
	for _, m := range a.messages() {
		m.Usage, usage = usage, nil
		if response != "" {
			m.Extra = append(m.Extra, firn.Field{Name: dialect.ResponseID, Value: quote(response)})
		}
	}
}

// messages lists the items.
func (a *answer) messages() (list []*firn.Message) {
	for _, e := range a.entries {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleAssistant {
			list = append(list, m)
		}
	}
	return list
}

// gather puts the items before what stood between them, gives them an id to
// belong together by if nobody told theirs, and returns the last entry.
func (a *answer) gather() firn.EntryID {
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

// rank is 0 for an item of an answer and 1 for all else.
func rank(e firn.Entry) int {
	if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleAssistant {
		return 0
	}
	return 1
}

// readUsage reads what an answer cost; nil if that is not told.
func readUsage(f members) *firn.Usage {
	if f.get("total_tokens") == nil && f.get("input_tokens") == nil {
		return nil
	}
	read, write := f.number("cached_input_tokens"), f.number("cache_write_input_tokens")
	u := &firn.Usage{Output: f.number("output_tokens"), CacheRead: read, CacheWrite: write, Total: f.number("total_tokens")}
	u.Input = max(0, f.number("input_tokens")-read-write)
	if n := f.get("reasoning_output_tokens"); n != nil && string(n) != "0" {
		u.Extra = firn.Fields{{Name: "reasoning_output_tokens", Value: keep(n)}}
	}
	return u
}

// turns remembers where each turn begins, so that it can be dropped.
type turns struct {
	list []turn
	// solid is the last entry that was not put before the model by Codex itself:
	// what it puts before a turn goes with the turn.
	solid firn.EntryID
	// size is that of the texts that are kept.
	size int
}

// turn is something the user said: the entry before it, and the text as long as
// a compaction of the old kind could want it.
type turn struct {
	before firn.EntryID
	text   string
}

// maxTexts bounds the texts of the user that a compaction of the old kind keeps:
// Codex kept the last 20,000 tokens, at four bytes each.
const maxTexts = 80_000

// begin notes that the user speaks, after the entry last.
func (t *turns) begin(last firn.EntryID, text string) {
	if len(t.list) > 0 {
		last = t.solid
	}
	t.list = append(t.list, turn{last, text})
	t.size += len(text)
	for i := 0; t.size > maxTexts && i < len(t.list); i++ {
		t.size -= len(t.list[i].text)
		t.list[i].text = ""
	}
}

// drop takes the last turns away and returns the entry before them; false if
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

// carried is a line that no model sees, as it is.
func carried(kind string, line []byte) *firn.Custom {
	return &firn.Custom{Type: dialect.LineType(dialect.Codex, kind), Data: keep(line)}
}

// compaction takes a history that is put in place of all that stands before.
func (s *scanner) compaction(f members) {
	s.release()
	summary, history := f.text("message"), f.get("replacement_history")
	extra := f.without("message", "replacement_history", "replacement_history_metadata")
	c := &firn.Compaction{Summary: summary}
	all := []said{{body: c, extra: extra}}
	switch {
	case history == nil:
		all = append(all, s.oldUserMessages()...)
	case summary == "": // nothing stands for the past: the history begins anew
		s.last = ""
		all[0].body = &firn.Head{Reason: replacedReason}
		all = append(all, s.history(history, "", new(int))...)
	default:
		at := -1
		all = append(all, s.history(history, summary, &at)...)
		c.Details = json.RawMessage(`{"summary_at":` + strconv.Itoa(at) + `}`)
	}
	s.add(all...)
	s.turns.solid = s.last
}

// replacedReason is why the head moved when a history without a summary was put
// in place of the old one.
const replacedReason = "compacted"

// oldUserMessages is what a compaction of the old kind keeps: what the user said.
func (s *scanner) oldUserMessages() (all []said) {
	for _, t := range s.turns.list {
		if t.text != "" {
			all = append(all, said{body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: t.text}}, Time: s.time}})
		}
	}
	return all
}

// history reads the history of a compaction without its summary, and tells
// where in it that stood.
func (s *scanner) history(raw json.RawMessage, summary string, at *int) (all []said) {
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

// replacement makes an entry of an item of a history.
func (s *scanner) replacement(item members, raw json.RawMessage) said {
	if read := s.read(item); read.body != nil {
		return read.said
	}
	return said{body: carried(replacementKind, raw)}
}

// replacementKind is the kind of a line that is no line but an item of a history.
const replacementKind = "replacement"

// isSummary reports whether an item is the summary of the compaction that it
// stands in.
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

// summaryText is how a summary is put to the model.
func summaryText(summary string) string {
	return "The conversation before this point was compacted into this summary:\n\n<summary>\n" + strings.ReplaceAll(summary, "</summary>", `<\/summary>`) + "\n</summary>"
}
