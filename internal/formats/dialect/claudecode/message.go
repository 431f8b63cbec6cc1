package claudecode

import (
	"encoding/json"
	"hash/maphash"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// The API and the provider of all of Claude Code's answers.
const (
	api      = "anthropic-messages"
	provider = "anthropic"
)

// message is the member of that name.
type message struct {
	answer          bool
	id, model, stop string
	parts           []firn.Part
	usage           *firn.Usage
	// calls and results are the ids of calls that it makes and answers.
	calls, results []string
	// body is what it says, to tell copies apart.
	body []byte
}

// readMessage reads the message of a line.
func readMessage(l *line) message {
	if l.kind == "attachment" {
		prompt := valueOf(l.attachment, "prompt")
		return message{parts: readContent(prompt), body: prompt}
	}
	m := message{answer: l.kind == "assistant", body: l.message}
	r := rawjson.New(l.message)
	for r.Object(); r.Member(); {
		switch string(r.Key()) {
		case "id":
			if into(&m.id, &r) {
				continue
			}
		case "model":
			if into(&m.model, &r) {
				continue
			}
		case "stop_reason":
			if into(&m.stop, &r) {
				continue
			}
		case "content":
			m.parts = readContent(r.Raw())
			continue
		case "usage":
			m.usage = readUsage(r.Raw())
			continue
		}
		r.Skip()
	}
	for _, p := range m.parts {
		switch p := p.(type) {
		case firn.ToolCall:
			m.calls = append(m.calls, p.ID)
		case firn.ToolResult:
			m.results = append(m.results, p.CallID)
		}
	}
	return m
}

// readContent reads what a message says. What cannot be read is opaque.
func readContent(raw []byte) []firn.Part {
	parts, err := blocks.Read(raw)
	if err != nil {
		return []firn.Part{firn.OpaquePart{Raw: keep(raw)}}
	}
	return parts
}

// readUsage reads what an answer cost; nil if that is nothing.
func readUsage(raw []byte) *firn.Usage {
	var u firn.Usage
	r := rawjson.New(raw)
	for ok := r.Object(); ok && r.Member(); {
		var field *int64
		switch string(r.Key()) {
		case "input_tokens":
			field = &u.Input
		case "output_tokens":
			field = &u.Output
		case "cache_read_input_tokens":
			field = &u.CacheRead
		case "cache_creation_input_tokens":
			field = &u.CacheWrite
		}
		if field != nil && r.Kind() == rawjson.Number {
			if n, ok := r.Int(); ok {
				*field = n
				continue
			}
		}
		r.Skip()
	}
	u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
	if u.Total == 0 {
		return nil
	}
	return &u
}

// repeats reports whether a line only says again what another did, in the same
// place. To Claude Code it is the last one all the same: the conversation goes
// on from there.
func (s *scanner) repeats(l *line, m *message, p *piece, data []byte) bool {
	n := s.thread.nodes[l.uuid]
	if l.uuid == "" || n == nil || n.sum != maphash.Bytes(s.seed, m.body) || n.up != s.thread.entryOf(p.before) {
		return false
	}
	e := s.custom(l, data, "duplicate")
	if s.thread.behind(n.spoken, nil) == s.thread.spoken {
		s.add(e)
		return true
	}
	s.reply = nil
	e.Parent = s.thread.move(l.uuid)
	s.push(e)
	return true
}

// know remembers a message for the lines that name it.
func (s *scanner) know(l *line, m *message, p *piece) {
	n := &node{
		entry: p.entries[len(p.entries)-1].ID, first: p.entries[0].ID, spoken: p.uuid,
		up: s.thread.entryOf(p.before), sum: maphash.Bytes(s.seed, m.body),
	}
	s.thread.nodes[p.uuid] = n
	for _, part := range m.parts {
		if call, ok := part.(firn.ToolCall); ok {
			s.calls[call.ID] = call.Name
		}
	}
}

// entries makes the entries that a line of the conversation says: one for each
// result of a tool, one for what is between them.
func (s *scanner) entries(l *line, m *message) []firn.Entry {
	if e, ok := s.restored(l, m); ok {
		return []firn.Entry{e}
	}
	if m.answer {
		return []firn.Entry{s.entry(l, s.assistant(l, m))}
	}
	var entries []firn.Entry
	var parts []firn.Part
	flush := func() {
		if parts != nil || len(entries) == 0 {
			entries = append(entries, s.entry(l, &firn.Message{Role: firn.RoleUser, Parts: parts}))
		}
		parts = nil
	}
	details := detailList(l)
	for _, p := range m.parts {
		result, ok := p.(firn.ToolResult)
		if !ok {
			parts = append(parts, p)
			continue
		}
		if parts != nil {
			flush()
		}
		result.Name = s.calls[result.CallID]
		if len(details) > 0 {
			result.Details, details = keep(details[0]), details[1:]
		}
		entries = append(entries, s.entry(l, &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{result}}))
	}
	flush()
	return entries
}

// detailList is what a line tells of its results for people, in their order.
func detailList(l *line) [][]byte {
	own := valueOf(l.firn, "details")
	if own == nil {
		return [][]byte{l.result}
	}
	var all [][]byte
	r := rawjson.New(own)
	for ok := r.Array(); ok && r.Element(); {
		all = append(all, r.Raw())
		if string(all[len(all)-1]) == "null" {
			all[len(all)-1] = nil
		}
	}
	return all
}

// entry makes an entry of a message.
func (s *scanner) entry(l *line, m *firn.Message) firn.Entry {
	m.Time = s.now
	return firn.Entry{Time: s.now, Body: m, Extra: s.extra(l)}
}

// assistant makes a message of a line of an answer.
func (s *scanner) assistant(l *line, m *message) *firn.Message {
	a := &firn.Message{Role: firn.RoleAssistant, Parts: m.parts, API: api, Provider: provider, Model: m.model, StopReason: stopped(m)}
	if m.id != "" {
		a.Extra = firn.Fields{{Name: dialect.ResponseID, Value: quote(m.id)}}
	}
	if told, ok := s.usage[m.id]; m.usage != nil && (!ok || told == l.uuid && l.uuid != "" || m.id == "") {
		a.Usage = m.usage
		s.usage[m.id] = l.uuid
	}
	if l.failure {
		a.StopReason, a.Error = firn.StopError, a.Text()
	}
	if s := textOf(l.firn, "provider"); s != "" {
		a.Provider, a.API = s, textOf(l.firn, "api")
	}
	if stop := textOf(l.firn, "stopReason"); stop != "" {
		a.StopReason, a.Error = firn.StopReason(stop), textOf(l.firn, "errorMessage")
		if model := textOf(l.firn, "model"); model != "" {
			a.Model = model
		}
		if boolOf(l.firn, "empty") {
			a.Parts = nil
		}
	}
	return a
}

// stopped tells why an answer ended. Most lines do not say it: then it is told
// by whether there are calls.
func stopped(m *message) firn.StopReason {
	switch {
	case m.stop == "max_tokens", m.stop == "model_context_window_exceeded":
		return firn.StopLength
	case m.stop == "tool_use", len(m.calls) > 0:
		return firn.StopToolUse
	}
	return firn.StopEnd
}

// extra is what a line tells beside its message, where it is of use to others:
// the directory and the branch only when they change.
func (s *scanner) extra(l *line) firn.Fields {
	var f firn.Fields
	add := func(name string, value json.RawMessage) { f = append(f, firn.Field{Name: name, Value: value}) }
	if l.meta {
		add("isMeta", json.RawMessage("true"))
	}
	if l.cwd != "" && l.cwd != s.cwd && s.begun {
		add("cwd", quote(l.cwd))
		s.cwd = l.cwd
	}
	if l.branch != "" && l.branch != s.branch {
		add("gitBranch", quote(l.branch))
		s.branch = l.branch
	}
	if l.request != "" {
		add("requestId", quote(l.request))
	}
	if l.agent != "" {
		add("agentId", quote(l.agent))
	}
	if raw := keep(l.forked); raw != nil {
		add("forkedFrom", raw)
	}
	return f
}
