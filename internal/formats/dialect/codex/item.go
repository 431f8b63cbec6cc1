package codex

import (
	"bytes"
	"encoding/json"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// api is firn's name for the API that Codex uses.
const api = "openai-responses"

// decodedItem is the content of an item.
type decodedItem struct {
	draft
	// answer is set for model output, turn for a user message, whose text is in text, and
	// context for context that Codex generated.
	answer, turn, context, result bool
	text                          string
}

// item processes an item of the conversation; outer is the line around it.
func (s *scanner) item(f, outer members, line []byte) {
	r := s.decodeItem(f)
	switch {
	case r.body == nil:
		s.add(draft{body: carried(f.text("type"), line)})
		return
	case r.answer:
		if s.held.done {
			s.release()
		}
		s.held.open = true
	case r.result:
		s.held.done = s.held.open
	default:
		s.release()
	}
	if r.turn {
		s.turns.add(s.last, r.text)
	}
	if metadata := outer.get("metadata"); metadata != nil && len(metadata) <= maxExtra {
		r.extra = append(r.extra, firn.Field{Name: "metadata", Value: rawjson.CleanCopy(metadata)})
	}
	s.add(r.draft)
	if !r.context {
		s.turns.lastOwn = s.last
	}
}

// decodeItem decodes an item. The body is nil if the item is not part of the model's input.
func (s *scanner) decodeItem(f members) decodedItem {
	switch kind := f.text("type"); kind {
	case "message", "":
		return s.readMessage(f)
	case "reasoning":
		if t := readReasoning(f); t.Text != "" || t.Signature != "" {
			return s.answer(t, f, "")
		}
		return decodedItem{}
	case "function_call", "custom_tool_call", "local_shell_call":
		return s.readCall(f, kind)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		return s.readResult(f)
	case "agent_message":
		return decodedItem{draft: draft{body: contextMessage(f, kindAgentMessage)}, turn: true}
	case "web_search_call", "image_generation_call", "tool_search_call", "tool_search_output", "mcp_tool_call", "compaction", "compaction_summary", "context_compaction":
		raw := objectOf(f)
		return s.answer(firn.OpaquePart{Type: kind, Raw: raw}, nil, "")
	}
	return decodedItem{}
}

// objectOf encodes members as an object, without Codex's internal ones.
func objectOf(f members) json.RawMessage {
	raw := []byte{'{'}
	for _, m := range f {
		if m.Name == passthrough {
			continue
		}
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = append(rawjson.AppendString(raw, m.Name), ':')
		raw = append(raw, rawjson.CleanCopy(m.Value)...)
	}
	return append(raw, '}')
}

// passthrough is the member with Codex's own metadata of an item.
const passthrough = "internal_chat_message_metadata_passthrough"

// readMessage decodes a message of the user, the model or the developer.
func (s *scanner) readMessage(f members) decodedItem {
	role := f.text("role")
	if f.get("content") == nil {
		return decodedItem{}
	}
	switch role {
	case "assistant":
		r := s.answer(nil, nil, firn.StopEnd)
		m := r.body.(*firn.Message)
		m.Parts = readContent(f.get("content"))
		m.Extra = f.without("type", "role", "content", "id", "phase", passthrough)
		if len(m.Parts) > 0 {
			if t, ok := m.Parts[0].(firn.Text); ok {
				t.Signature = textMark(f.text("id"), f.text("phase"))
				m.Parts[0] = t
			}
		}
		return r
	case "user":
		parts := readContent(f.get("content"))
		if isContext(parts) {
			return decodedItem{draft: draft{body: contextMessage(f, kindContext)}, context: true}
		}
		m := &firn.Message{Role: firn.RoleUser, Parts: parts, Time: s.time, Extra: f.without("type", "role", "content", passthrough)}
		return decodedItem{draft: draft{body: m}, turn: true, text: m.Text()}
	case "developer", "system":
		return decodedItem{draft: draft{body: contextMessage(f, role)}, context: true}
	}
	return decodedItem{}
}

// Kinds of context, in addition to the developer role.
const (
	kindContext       = dialect.KindContext
	kindAgentMessage  = "agent_message"
	kindCommunication = "inter_agent_communication"
)

// contextMessage returns an entry for context that Codex generated.
func contextMessage(f members, kind string) *firn.CustomMessage {
	c := &firn.CustomMessage{Type: dialect.LineType(dialect.Codex, kind), Parts: readContent(f.get("content"))}
	if kind == kindAgentMessage {
		c.Details, c.Display = objectOf(f), true
	}
	return c
}

// answer returns an assistant message with a single part.
func (s *scanner) answer(part firn.Part, f members, stop firn.StopReason) decodedItem {
	m := &firn.Message{Role: firn.RoleAssistant, API: api, Provider: s.provider, Model: s.model, StopReason: stop, Time: s.time}
	if part != nil {
		m.Parts = []firn.Part{part}
	}
	if f != nil {
		m.Extra = f.without("type", "id", "summary", "content", "encrypted_content", passthrough)
	}
	return decodedItem{draft: draft{body: m}, answer: true}
}

// readReasoning decodes reasoning. The signature is the whole item if it can be sent back
// to the model.
func readReasoning(f members) firn.Thinking {
	texts := textsOf(f.get("summary"))
	content := textsOf(f.get("content"))
	if len(texts) == 0 {
		texts = content
	}
	t := firn.Thinking{Text: strings.Join(texts, "\n\n")}
	t.Redacted = t.Text == ""
	if f.text("encrypted_content") != "" || len(content) > 0 {
		t.Signature = string(objectOf(f))
	}
	return t
}

// textsOf lists the texts of an array of content parts.
func textsOf(raw json.RawMessage) (texts []string) {
	for _, piece := range elements(raw) {
		f, err := readMembers(piece)
		if text := f.text("text"); err == nil && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// readContent decodes the content of a message or a result.
func readContent(raw json.RawMessage) (parts []firn.Part) {
	if text, ok := textValue(raw); ok {
		return []firn.Part{firn.Text{Text: text}}
	}
	for _, piece := range elements(raw) {
		f, err := readMembers(piece)
		if err != nil {
			parts = append(parts, firn.OpaquePart{Raw: rawjson.CleanCopy(piece)})
			continue
		}
		parts = append(parts, readPiece(f, piece))
	}
	return parts
}

func readPiece(f members, piece json.RawMessage) firn.Part {
	switch kind := f.text("type"); kind {
	case "input_text", "output_text", "text":
		return firn.Text{Text: f.text("text")}
	case "input_image":
		mime, data, ok := strings.Cut(strings.TrimPrefix(f.text("image_url"), "data:"), ";base64,")
		if ok && strings.HasPrefix(f.text("image_url"), "data:") {
			return firn.Image{MimeType: mime, Data: data}
		}
		return firn.OpaquePart{Type: kind, Raw: rawjson.CleanCopy(piece)}
	default:
		return firn.OpaquePart{Type: kind, Raw: rawjson.CleanCopy(piece)}
	}
}

// textMark returns the signature of a text for Responses APIs: the message ID, and the
// phase if there is one.
func textMark(id, phase string) string {
	if phase == "" || id == "" {
		return id
	}
	mark := rawjson.AppendString([]byte(`{"v":1,"id":`), id)
	mark = rawjson.AppendString(append(mark, `,"phase":`...), phase)
	return string(append(mark, '}'))
}

// callType is the extra field of a call with the type of its item, if it is not
// function_call.
const callType = "itemType"

// maxCalls limits the number of remembered calls. Results follow soon after their calls, or
// are repeated with them.
const maxCalls = 4096

// readCall decodes a call of a tool that Codex runs.
func (s *scanner) readCall(f members, kind string) decodedItem {
	call := firn.ToolCall{ID: f.text("call_id"), Name: f.text("name"), Signature: f.text("id")}
	call.Extra = f.without("type", "call_id", "name", "id", "arguments", "input", "action", passthrough)
	switch kind {
	case "function_call":
		call.Arguments = arguments(f.get("arguments"))
	case "custom_tool_call":
		call.Arguments = append(rawjson.AppendString([]byte(`{"input":`), f.text("input")), '}')
		call.Extra = append(call.Extra, firn.Field{Name: callType, Value: quote(kind)})
	case "local_shell_call":
		call.Name = "local_shell"
		call.Arguments = arguments(f.get("action"))
		call.Extra = append(call.Extra, firn.Field{Name: callType, Value: quote(kind)})
		if call.ID == "" {
			call.ID = call.Signature
		}
	}
	if len(s.calls) >= maxCalls {
		clear(s.calls)
	}
	s.calls[call.ID] = call.Name
	return s.answer(call, nil, firn.StopToolUse)
}

// arguments returns the arguments of a call as an object. A text that is not an object is
// stored as the member "invalid".
func arguments(raw json.RawMessage) json.RawMessage {
	text, ok := textValue(raw)
	if !ok {
		text = string(raw)
	}
	trimmed := bytes.TrimSpace([]byte(text))
	switch {
	case len(trimmed) == 0 || string(trimmed) == "null":
		return json.RawMessage(`{}`)
	case rawjson.Valid(trimmed) == nil:
		if value, err := rawjson.AppendValue(nil, trimmed); err == nil {
			return value
		}
	}
	return append(rawjson.AppendString([]byte(`{"invalid":`), text), '}')
}

// readResult decodes a tool result: a string, an array of content parts or, in old files,
// an object with the content and a success flag.
func (s *scanner) readResult(f members) decodedItem {
	id := f.text("call_id")
	result := firn.ToolResult{CallID: id, Name: s.calls[id]}
	output := f.get("output")
	if old := f.object("output"); old != nil {
		output = old.get("content")
		result.IsError = string(old.get("success")) == "false"
	}
	for _, part := range readContent(output) {
		if t, ok := part.(firn.Text); !ok || t.Text != "" {
			result.Content = append(result.Content, part)
		}
	}
	m := &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{result}, Time: s.time}
	return decodedItem{draft: draft{body: m}, result: true}
}

// contextTags are the opening and closing tags of context that Codex generates in the user
// role.
var contextTags = [...][2]string{
	{"<environment_context>", "</environment_context>"},
	{"<user_instructions>", "</user_instructions>"},
	{"# AGENTS.md instructions", "</INSTRUCTIONS>"},
	{"<skill>", "</skill>"},
	{"<user_shell_command>", "</user_shell_command>"},
	{"<turn_aborted>", "</turn_aborted>"},
	{"<subagent_notification>", "</subagent_notification>"},
}

// isContext reports whether one of the texts is such context.
func isContext(parts []firn.Part) bool {
	for _, part := range parts {
		if t, ok := part.(firn.Text); ok && isContextText(t.Text) {
			return true
		}
	}
	return false
}

func isContextText(text string) bool {
	text = strings.TrimSpace(text)
	for _, tag := range contextTags {
		if len(text) >= len(tag[0])+len(tag[1]) && strings.EqualFold(text[:len(tag[0])], tag[0]) && strings.EqualFold(text[len(text)-len(tag[1]):], tag[1]) {
			return true
		}
	}
	return false
}
