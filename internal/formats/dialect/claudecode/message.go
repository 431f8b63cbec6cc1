package claudecode

import (
	"encoding/json"
	"hash/maphash"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// The API and the provider of all of Claude Code's responses.
const (
	api      = "anthropic-messages"
	provider = "anthropic"
)

// message is a decoded member "message".
type message struct {
	answer          bool
	id, model, stop string
	parts           []firn.Part
	usage           *firn.Usage
	// calls are the IDs of its tool calls, results the call IDs of its tool results.
	calls, results []string
	// body is the raw message, used to detect copies.
	body []byte
}

// readMessage decodes the message of a line.
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
			if readString(&m.id, &r) {
				continue
			}
		case "model":
			if readString(&m.model, &r) {
				continue
			}
		case "stop_reason":
			if readString(&m.stop, &r) {
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

// readContent decodes the content of a message. Unreadable content becomes an opaque part.
func readContent(raw []byte) []firn.Part {
	parts, err := blocks.Read(raw)
	if err != nil {
		return []firn.Part{firn.OpaquePart{Raw: rawjson.CleanLine(raw)}}
	}
	return parts
}

// readUsage decodes the usage of a response, nil if it is all zero.
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

// repeats reports whether a line is a copy of an earlier one in the same place, and adds it
// as such. Claude Code treats the copy as the last line, so the conversation continues from
// there.
func (s *scanner) repeats(l *line, m *message, p *piece, data []byte) bool {
	n := s.thread.nodes[l.uuid]
	if l.uuid == "" || n == nil || n.sum != maphash.Bytes(s.seed, m.body) || n.up != s.thread.entryOf(p.before) {
		return false
	}
	e := s.custom(l, data, "duplicate")
	if s.thread.continuation(n.spoken, nil) == s.thread.spoken {
		s.add(e)
		return true
	}
	s.reply = nil
	e.Parent = s.thread.move(l.uuid)
	s.push(e)
	return true
}

// registerMessage records a message for later lines that refer to it.
func (s *scanner) registerMessage(l *line, m *message, p *piece) {
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

// entries returns the entries of a conversation line: one for each tool result and one for
// the parts between them.
func (s *scanner) entries(l *line, m *message) []firn.Entry {
	if e, ok := s.readPrivateMessage(l, m); ok {
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
			result.Details, details = rawjson.CleanLine(details[0]), details[1:]
		}
		entries = append(entries, s.entry(l, &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{result}}))
	}
	flush()
	return entries
}

// detailList returns the details of a line's tool results in order.
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

// entry creates an entry for a message.
func (s *scanner) entry(l *line, m *firn.Message) firn.Entry {
	m.Time = s.now
	return firn.Entry{Time: s.now, Body: m, Extra: s.extra(l)}
}

// assistant creates a message from a line of a response.
func (s *scanner) assistant(l *line, m *message) *firn.Message {
	a := &firn.Message{Role: firn.RoleAssistant, Parts: m.parts, API: api, Provider: provider, Model: m.model, StopReason: stopReason(m)}
	if m.id != "" {
		a.Extra = firn.Fields{{Name: dialect.ResponseID, Value: quote(m.id)}}
	}
	if output, ok := s.usage[m.id]; m.usage != nil && (!ok || output == l.uuid && l.uuid != "" || m.id == "") {
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

// stopReason returns the stop reason of a response. Most lines have none; it is then
// derived from the presence of calls.
func stopReason(m *message) firn.StopReason {
	switch {
	case m.stop == "max_tokens", m.stop == "model_context_window_exceeded":
		return firn.StopLength
	case m.stop == "tool_use", len(m.calls) > 0:
		return firn.StopToolUse
	}
	return firn.StopEnd
}

// extra returns the other useful members of a line. The directory and the branch are
// included only when they change.
func (s *scanner) extra(l *line) firn.Fields {
	var f firn.Fields
	add := func(name string, value json.RawMessage) { f = append(f, firn.Field{Name: name, Value: value}) }
	if l.meta {
		add("isMeta", json.RawMessage("true"))
	}
	if l.cwd != "" && l.cwd != s.cwd && s.started {
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
	if raw := rawjson.CleanLine(l.forked); raw != nil {
		add("forkedFrom", raw)
	}
	return f
}
