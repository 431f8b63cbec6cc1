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

// scanner reads a transcript. Its entries form one chain in conversation order, which
// differs from file order.
type scanner struct {
	from   dialect.Origin
	header bool // header was emitted
	number int  // lines read so far
	last   firn.EntryID
	time   time.Time
	// calls holds the calls read so far.
	calls map[string]*call
	// held are results whose calls were not read yet.
	held []result
	// answer is the ID of the current response, "" between responses.
	answer string
	out    []firn.Entry
}

// call is a tool call and whether it was answered.
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
	// turns counts the user messages since then.
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
		s.addHeader(&l)
		return s.out, nil
	}
	s.addHeader(&line{})
	if !s.readEntry(&l) {
		s.releaseResults()
		s.emit(s.id(), &firn.Custom{Type: dialect.LineType(dialect.Claw0, l.kind), Data: rawjson.CleanLine(raw)}, nil)
	}
	return s.out, nil
}

// Finish returns the waiting results. Results without a call belong to an unfinished turn.
func (s *scanner) Finish() []firn.Entry {
	s.out = s.out[:0]
	s.addHeader(&line{})
	s.releaseResults()
	for _, r := range s.held {
		s.result(r)
	}
	s.held = nil
	return s.out
}

// addHeader emits the header, synthesized if the file has none.
func (s *scanner) addHeader(l *line) {
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
		agent, key := toFirnKey(l.key)
		h.Agent, h.Key = orElse(h.Agent, agent), orElse(h.Key, key)
		extra = append(l.other, firn.Field{Name: "sessionKey", Value: rawjson.AppendString(nil, l.key)})
	}
	s.out = append(s.out, firn.Entry{Time: s.time, Body: h, Extra: extra})
}

// id returns the ID of the current line.
func (s *scanner) id() firn.EntryID { return lineID(s.number) }

func lineID(number int) firn.EntryID { return firn.EntryID(fmt.Sprintf("l%06d", number)) }

// emit emits an entry after the previous one.
func (s *scanner) emit(id firn.EntryID, body firn.Body, extra firn.Fields) {
	s.out = append(s.out, firn.Entry{ID: id, Parent: s.last, Time: s.time, Body: body, Extra: extra})
	s.last = id
}

// readEntry emits the entries of a line. It returns false if its type is unknown.
func (s *scanner) readEntry(l *line) bool {
	switch l.kind {
	case kindUser:
		return s.user(l)
	case kindAssistant:
		return s.assistant(l)
	case kindCall:
		return s.readCall(l)
	case kindResult:
		return s.readResult(l)
	}
	return s.readOwn(l)
}

// user emits a user message. Results that waited for a whole turn have no calls.
func (s *scanner) user(l *line) bool {
	parts, err := blocks.Read(l.content)
	if err != nil || l.content == nil {
		return false
	}
	s.releaseResults()
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

// assistant emits a response: in the first version a text, whose calls are on the next
// lines; in the current version all blocks.
func (s *scanner) assistant(l *line) bool {
	parts, err := blocks.Read(l.content)
	if err != nil || l.content == nil {
		return false
	}
	s.releaseResults()
	s.answer = ""
	if l.content[0] == '"' {
		s.answer = string(s.id())
	}
	s.parts(l, firn.RoleAssistant, parts)
	return true
}

// readCall emits a call on a line of its own, unless it was read before.
func (s *scanner) readCall(l *line) bool {
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
		return rawjson.CleanLine(raw)
	case rawjson.None, rawjson.Null:
		return []byte("{}")
	}
	return append(rawjson.AppendString([]byte(`{"invalid":`), string(rawjson.CleanLine(raw))), '}')
}

// readResult emits a result, or holds it back until its call is read.
func (s *scanner) readResult(l *line) bool {
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
	s.releaseResults()
	s.result(r)
	return true
}

// output decodes a tool's output: a text, blocks, or any other value, which is shown as
// JSON.
func output(raw []byte) []firn.Part {
	if raw == nil {
		return nil
	}
	parts, err := blocks.Read(raw)
	if err != nil {
		return []firn.Part{firn.Text{Text: string(rawjson.CleanLine(raw))}}
	}
	return parts
}

// releaseResults emits the results whose calls were read: all calls of a response precede
// the results.
func (s *scanner) releaseResults() {
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

// result emits a result. Later model output is another response.
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

// parts emits the parts of a message. Results among them become messages of their own; the
// last message has the ID of the line.
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
			s.emit(s.id(), m, l.other)
			return
		}
		s.emit(s.id()+firn.EntryID(fmt.Sprintf(".%d", n)), m, nil)
	}
}

func isResult(p firn.Part) bool {
	_, ok := p.(firn.ToolResult)
	return ok
}

// describe completes a message and records its calls.
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

// readOwn emits an entry from one of firn's lines, which claw0 skips.
func (s *scanner) readOwn(l *line) bool {
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
		body = &firn.Compaction{Summary: l.summary, FirstKept: s.entryOfLine(l.kept), TokensBefore: l.tokens}
	case l.kind == kindTombstone && s.entryOfLine(l.target) != s.id():
		body = &firn.Tombstone{Target: s.entryOfLine(l.target)}
	default:
		return false
	}
	s.releaseResults()
	s.emit(s.id(), body, l.other)
	return true
}

// entryOfLine returns the entry of a line, given by its number or, if negative, relative to
// the current line. For an invalid number it returns the line itself: a compaction that
// refers to it keeps nothing.
func (s *scanner) entryOfLine(number int64) firn.EntryID {
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

// toFirnKey converts claw0's key agent:channel:peer to firn's format.
func toFirnKey(key string) (agent, ours string) {
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

// toClaw0Key converts firn's key to claw0's format.
func toClaw0Key(key string) string {
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
