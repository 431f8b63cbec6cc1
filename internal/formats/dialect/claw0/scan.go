package claw0

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// scanner reads a transcript. Its entries make one chain, in the order in which
// things were said and not in which they were written.
type scanner struct {
	from   dialect.Origin
	header bool // was told
	number int  // of the lines so far
	last   firn.EntryID
	time   time.Time
	// calls are those that were read.
	calls map[string]*call
	// held are results whose calls did not come yet.
	held []result
	// answer is the id of the answer that the pieces belong to which come now,
	// empty between answers.
	answer string
	out    []firn.Entry
}

// call is a call of a tool, and whether it was answered.
type call struct {
	name     string
	answered bool
}

// result is a result that waits for its call.
type result struct {
	id    firn.EntryID
	time  time.Time
	extra firn.Fields
	part  firn.ToolResult
	// turns counts what the user said since.
	turns int
}

func newScanner(from dialect.Origin) *scanner {
	return &scanner{from: from, time: from.Created, calls: make(map[string]*call)}
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
	if l.kind == kindSession && l.hasKey && !s.header {
		s.begin(&l)
		return s.out, nil
	}
	s.begin(&line{})
	if !s.said(&l) {
		s.settle()
		s.tell(s.id(), &firn.Custom{Type: dialect.LineType(dialect.Claw0, l.kind), Data: keep(raw)}, nil)
	}
	return s.out, nil
}

// Finish tells the results that still wait. Those whose calls never came are
// left from a turn that was not finished.
func (s *scanner) Finish() []firn.Entry {
	s.out = s.out[:0]
	s.begin(&line{})
	s.settle()
	for _, r := range s.held {
		s.result(r)
	}
	s.held = nil
	return s.out
}

// begin tells the header, made up if the file has none.
func (s *scanner) begin(l *line) {
	if s.header {
		return
	}
	s.header = true
	h := &firn.Header{Session: s.from.ID, Version: 3, CWD: s.from.CWD, Agent: s.from.Agent, Key: s.from.Key, ParentSession: string(s.from.Parent)}
	if h.Session == "" {
		h.Session = firn.ID(l.id)
		if h.Session.Check() != nil {
			h.Session = firn.ID(dialect.UUID(string(dialect.Claw0), "session/"+l.id))
		}
	}
	var extra firn.Fields
	if l.hasKey {
		agent, key := ourKey(l.key)
		h.Agent, h.Key = orElse(h.Agent, agent), orElse(h.Key, key)
		extra = append(l.other, firn.Field{Name: "sessionKey", Value: rawjson.AppendString(nil, l.key)})
	}
	s.out = append(s.out, firn.Entry{Time: s.time, Body: h, Extra: extra})
}

// id names the line that is read.
func (s *scanner) id() firn.EntryID { return lineID(s.number) }

func lineID(number int) firn.EntryID { return firn.EntryID(fmt.Sprintf("l%06d", number)) }

// tell tells an entry, after the one before it.
func (s *scanner) tell(id firn.EntryID, body firn.Body, extra firn.Fields) {
	s.out = append(s.out, firn.Entry{ID: id, Parent: s.last, Time: s.time, Body: body, Extra: extra})
	s.last = id
}

// said tells what a line says; false if that is nothing we know.
func (s *scanner) said(l *line) bool {
	switch l.kind {
	case kindUser:
		return s.user(l)
	case kindAssistant:
		return s.assistant(l)
	case kindCall:
		return s.called(l)
	case kindResult:
		return s.answered(l)
	}
	return s.ours(l)
}

// user tells what the user said. Results that waited for the whole of a turn
// have no calls.
func (s *scanner) user(l *line) bool {
	parts, err := blocks.Read(l.content)
	if err != nil || l.content == nil {
		return false
	}
	s.settle()
	s.answer = ""
	var waiting []result
	for _, r := range s.held {
		if r.turns++; r.turns > 1 {
			s.result(r)
		} else {
			waiting = append(waiting, r)
		}
	}
	s.held = waiting
	s.parts(l, firn.RoleUser, parts)
	return true
}

// assistant tells an answer: a text of the first version, to which calls on the
// next lines belong, or all blocks of one of the current version.
func (s *scanner) assistant(l *line) bool {
	parts, err := blocks.Read(l.content)
	if err != nil || l.content == nil {
		return false
	}
	s.settle()
	s.answer = ""
	if l.content[0] == '"' {
		s.answer = string(s.id())
	}
	s.parts(l, firn.RoleAssistant, parts)
	return true
}

// called tells a call on a line of its own, unless it was read before.
func (s *scanner) called(l *line) bool {
	waits := slices.ContainsFunc(s.held, func(r result) bool { return r.part.CallID == l.call })
	if _, twice := s.calls[l.call]; !l.hasCall || twice && !waits {
		return false
	}
	if s.answer == "" {
		s.answer = string(s.id())
	}
	c := firn.ToolCall{ID: l.call, Name: l.name, Arguments: arguments(l.input)}
	s.parts(l, firn.RoleAssistant, []firn.Part{c})
	return true
}

// arguments returns the input of a call as an object.
func arguments(raw []byte) []byte {
	r := rawjson.New(raw)
	switch r.Kind() {
	case rawjson.Object:
		return keep(raw)
	case rawjson.None, rawjson.Null:
		return []byte("{}")
	}
	return append(rawjson.AppendString([]byte(`{"invalid":`), string(keep(raw))), '}')
}

// answered tells a result, or holds it back until its call comes.
func (s *scanner) answered(l *line) bool {
	if !l.hasCall {
		return false
	}
	raw := l.output
	if raw == nil {
		raw = l.content
	}
	r := result{id: s.id(), time: s.time, extra: l.other, part: firn.ToolResult{CallID: l.call, Content: output(raw), IsError: l.failed}}
	if c := s.calls[l.call]; c == nil || c.answered {
		s.held = append(s.held, r)
		return true
	}
	s.settle()
	s.result(r)
	return true
}

// output reads what a tool answered: a text, blocks, or any other value, which
// is shown as it is.
func output(raw []byte) []firn.Part {
	if raw == nil {
		return nil
	}
	parts, err := blocks.Read(raw)
	if err != nil {
		return []firn.Part{firn.Text{Text: string(keep(raw))}}
	}
	return parts
}

// settle tells the results whose calls were read: all calls of an answer come
// before the results.
func (s *scanner) settle() {
	var waiting []result
	for _, r := range s.held {
		if c := s.calls[r.part.CallID]; c != nil && !c.answered {
			s.result(r)
		} else {
			waiting = append(waiting, r)
		}
	}
	s.held = waiting
}

// result tells a result. What the model says next is another answer.
func (s *scanner) result(r result) {
	s.answer = ""
	if c := s.calls[r.part.CallID]; c != nil {
		r.part.Name = c.name
		c.answered = true
	}
	m := &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r.part}, Time: r.time}
	s.out = append(s.out, firn.Entry{ID: r.id, Parent: s.last, Time: r.time, Body: m, Extra: r.extra})
	s.last = r.id
}

// parts tells the parts of a message. Results among them are messages of their
// own; the last message has the id of the line.
func (s *scanner) parts(l *line, role firn.Role, parts []firn.Part) {
	for n := 1; ; n++ {
		end := 0
		for end < len(parts) && !isResult(parts[end]) {
			end++
		}
		isOne := end == 0 && len(parts) > 0
		if isOne {
			end = 1
		}
		m := &firn.Message{Role: role, Parts: parts[:end:end], Time: s.time}
		parts = parts[end:]
		if isOne {
			m.Role = firn.RoleToolResult
		}
		s.describe(m)
		if len(parts) == 0 {
			s.tell(s.id(), m, l.other)
			return
		}
		s.tell(s.id()+firn.EntryID(fmt.Sprintf(".%d", n)), m, nil)
	}
}

func isResult(p firn.Part) bool {
	_, ok := p.(firn.ToolResult)
	return ok
}

// describe completes a message, and notes its calls.
func (s *scanner) describe(m *firn.Message) {
	if m.Role == firn.RoleAssistant {
		m.StopReason = firn.StopEnd
		if s.answer != "" {
			m.Extra = firn.Fields{{Name: dialect.ResponseID, Value: rawjson.AppendString(nil, s.answer)}}
		}
	}
	for i, p := range m.Parts {
		switch p := p.(type) {
		case firn.ToolCall:
			s.calls[p.ID] = &call{name: p.Name}
			m.StopReason = firn.StopToolUse
		case firn.ToolResult:
			if c := s.calls[p.CallID]; c != nil {
				p.Name, c.answered = c.name, true
				m.Parts[i] = p
			}
		}
	}
}

// ours tells what our printer keeps in lines that claw0 skips.
func (s *scanner) ours(l *line) bool {
	var body firn.Body
	switch {
	case l.kind == kindSystem && l.content != nil:
		parts, err := blocks.Read(l.content)
		if err != nil {
			return false
		}
		body = &firn.Message{Role: firn.RoleSystem, Parts: parts, Time: s.time}
	case l.kind == kindTitle && l.title != "":
		body = &firn.Title{Name: l.title, Source: firn.Source(l.source)}
	case l.kind == kindCompaction && l.summary != "":
		body = &firn.Compaction{Summary: l.summary, FirstKept: s.named(l.kept), TokensBefore: l.tokens}
	case l.kind == kindTombstone && s.named(l.target) != s.id():
		body = &firn.Tombstone{Target: s.named(l.target)}
	default:
		return false
	}
	s.settle()
	s.tell(s.id(), body, l.other)
	return true
}

// named finds the entry of a line by its number, or by how many lines back it
// stands. None is the line itself: a compaction that names it keeps nothing.
func (s *scanner) named(number int64) firn.EntryID {
	if number < 0 {
		number += int64(s.number)
	}
	if number <= 0 || number >= int64(s.number) {
		return s.id()
	}
	return lineID(int(number))
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// ourKey reads a key of claw0's, agent:channel:peer, as firn writes it.
func ourKey(key string) (agent, ours string) {
	if after, ok := strings.CutPrefix(key, "agent:"); ok {
		agent, _, _ = strings.Cut(after, ":")
		return agent, key
	}
	parts := strings.Split(key, ":")
	if len(parts) != 3 || slices.Contains(parts, "") {
		return "", ""
	}
	return parts[0], "agent:" + parts[0] + ":" + parts[1] + ":direct:" + parts[2]
}

// theirKey writes a key of firn's as claw0 does.
func theirKey(key string) string {
	after, ok := strings.CutPrefix(key, "agent:")
	parts := strings.Split(after, ":")
	switch {
	case !ok:
		return key
	case len(parts) == 4 && parts[2] == "direct":
		return parts[0] + ":" + parts[1] + ":" + parts[3]
	}
	return parts[0] + ":firn:" + strings.Join(parts[1:], "_")
}
