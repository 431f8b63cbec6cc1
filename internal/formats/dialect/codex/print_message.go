package codex

import (
	"encoding/json"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// lossFunc is called for each loss in an entry.
type lossFunc func(e *firn.Entry, limit string, dropped bool)

// printMessage writes an entry that is sent to the model: its items and the events that
// display them.
func (p *printer) printMessage(dst []byte, e *firn.Entry, lose lossFunc) []byte {
	items := p.items(e, lose)
	if line := communication(e); line != nil {
		return append(append(dst, line...), '\n')
	}
	m, ok := e.Body.(*firn.Message)
	switch {
	case !ok || p.fromRollout(e):
	case m.Role == firn.RoleUser && !isContext(m.Parts):
		return p.printUserTurn(dst, e, m, items)
	case m.Role == firn.RoleAssistant && !hasFailed(m):
		return p.printAnswer(dst, e, m, items)
	}
	return p.writeItems(dst, e, items)
}

func (p *printer) writeItems(dst []byte, e *firn.Entry, items [][]byte) []byte {
	for _, item := range items {
		dst = p.line(dst, e.Time, "response_item", item)
	}
	return dst
}

// printUserTurn writes a user message and the event that starts its turn.
func (p *printer) printUserTurn(dst []byte, e *firn.Entry, m *firn.Message, items [][]byte) []byte {
	started := object{}
	started.text("type", "task_started")
	p.turn = dialect.UUID(threadID(p.to), string(e.ID)+p.again)
	started.text("turn_id", p.turn)
	started.value("model_context_window", nil)
	dst = p.line(dst, e.Time, "event_msg", started.close())
	dst = p.writeItems(dst, e, items)
	event := object{}
	event.text("type", "user_message")
	event.text("message", m.Text())
	event.list("images", nil)
	event.list("local_images", nil)
	event.list("audio", nil)
	event.list("local_audio", nil)
	event.list("text_elements", nil)
	return p.line(dst, e.Time, "event_msg", event.close())
}

// printAnswer writes a response, its usage and, if it is final, the event that ends the
// turn.
func (p *printer) printAnswer(dst []byte, e *firn.Entry, m *firn.Message, items [][]byte) []byte {
	for _, part := range m.Parts {
		w := object{}
		switch part := part.(type) {
		case firn.Thinking:
			if part.Text == "" {
				continue
			}
			w.text("type", "agent_reasoning")
			w.text("text", part.Text)
		case firn.Text:
			w.text("type", "agent_message")
			w.text("message", part.Text)
			w.value("phase", nil)
			w.value("memory_citation", nil)
		default:
			continue
		}
		dst = p.line(dst, e.Time, "event_msg", w.close())
	}
	dst = p.writeItems(dst, e, items)
	if m.Usage != nil {
		dst = p.line(dst, e.Time, "event_msg", p.tokenCount(m.Usage))
	}
	if p.turn == "" || m.StopReason != firn.StopEnd {
		return dst
	}
	done := object{}
	done.text("type", "task_complete")
	done.text("turn_id", p.turn)
	done.text("last_agent_message", m.Text())
	p.turn = ""
	return p.line(dst, e.Time, "event_msg", done.close())
}

// items returns the items for an entry, none if it is not sent to the model or Codex cannot
// send it.
func (p *printer) items(e *firn.Entry, lose lossFunc) [][]byte {
	switch b := e.Body.(type) {
	case *firn.Message:
		return p.messageItems(e, b, lose)
	case *firn.BranchSummary:
		lose(e, limitSpeakers, false)
		text := "Summary of a branch that this conversation came back from:\n\n" + b.Summary
		return [][]byte{messageItem("user", []firn.Part{firn.Text{Text: text}}, nil)}
	case *firn.CustomMessage:
		return p.customItems(e, b, lose)
	case *firn.Custom:
		if b.Type == dialect.LineType(dialect.Codex, replacementKind) && rawjson.Valid(b.Data) == nil {
			return [][]byte{b.Data}
		}
	}
	return nil
}

func (p *printer) messageItems(e *firn.Entry, m *firn.Message, lose lossFunc) [][]byte {
	if hasFailed(m) {
		lose(e, limitFailed, true)
		return nil
	}
	dropped := func() { lose(e, limitParts, false) }
	switch m.Role {
	case firn.RoleUser:
		return [][]byte{messageItem("user", m.Parts, dropped)}
	case firn.RoleSystem:
		if len(m.Parts) == 0 || len(m.Parts) == 1 && m.Text() == "" { // for example, it only lists tools
			lose(e, limitSpeakers, true)
			return nil
		}
		lose(e, limitSpeakers, false)
		return [][]byte{messageItem("developer", m.Parts, dropped)}
	case firn.RoleAssistant:
		return p.answerItems(e, m, lose)
	case firn.RoleToolResult:
		return p.resultItems(e, m, lose)
	case firn.RoleShell:
		return shellItems(e, m, lose)
	}
	lose(e, limitUnknown, true)
	return nil
}

// hasFailed reports whether a response failed and is not sent to the model.
func hasFailed(m *firn.Message) bool {
	return m.StopReason == firn.StopError || m.StopReason == firn.StopAborted
}

// customItems returns the items for a custom message.
func (p *printer) customItems(e *firn.Entry, c *firn.CustomMessage, lose lossFunc) [][]byte {
	dropped := func() { lose(e, limitParts, false) }
	switch kind, _ := strings.CutPrefix(c.Type, string(dialect.Codex)+":"); {
	case kind == c.Type:
		lose(e, limitSpeakers, false)
	case kind == "developer" || kind == "system":
		return [][]byte{messageItem(kind, c.Parts, dropped)}
	case kind == kindAgentMessage && rawjson.Valid(c.Details) == nil:
		return [][]byte{c.Details}
	case communication(e) != nil:
		return [][]byte{c.Details}
	}
	return [][]byte{messageItem("user", c.Parts, dropped)}
}

// communication returns the original line of a message from another agent, nil if the entry
// is not one.
func communication(e *firn.Entry) json.RawMessage {
	c, ok := e.Body.(*firn.CustomMessage)
	if !ok || c.Type != dialect.LineType(dialect.Codex, kindCommunication) || rawjson.Valid(c.Details) != nil {
		return nil
	}
	return c.Details
}

// messageItem encodes an input message.
func messageItem(role string, parts []firn.Part, dropped func()) []byte {
	w := object{}
	w.text("type", "message")
	w.text("role", role)
	w.list("content", content(parts, dropped))
	return w.close()
}

// content encodes texts and images for the model. It returns at least one part.
func content(parts []firn.Part, dropped func()) (pieces [][]byte) {
	for _, part := range parts {
		w := object{}
		switch part := part.(type) {
		case firn.Text:
			w.text("type", "input_text")
			w.text("text", part.Text)
		case firn.Image:
			w.text("type", "input_image")
			w.text("image_url", "data:"+part.MimeType+";base64,"+part.Data)
		case firn.OpaquePart:
			if strings.HasPrefix(part.Type, "input_") && rawjson.Valid(part.Raw) == nil {
				pieces = append(pieces, part.Raw)
			} else if dropped != nil {
				dropped()
			}
			continue
		default:
			if dropped != nil {
				dropped()
			}
			continue
		}
		pieces = append(pieces, w.close())
	}
	if len(pieces) == 0 {
		return [][]byte{[]byte(`{"type":"input_text","text":""}`)}
	}
	return pieces
}

// answerItems encodes a response, one item per part. An item with an ID must follow its
// reasoning, so items after reasoning that cannot be sent back have no ID.
func (p *printer) answerItems(e *firn.Entry, m *firn.Message, lose lossFunc) (items [][]byte) {
	ids := m.API == api
	for _, part := range m.Parts {
		switch part := part.(type) {
		case firn.Thinking:
			if item := reasoningItem(part); item != nil {
				items = append(items, item)
			} else {
				ids = false
				lose(e, limitThinking, false)
			}
		case firn.Text:
			items = append(items, textItem(part, ids))
			if part.Signature != "" && m.API != api {
				lose(e, limitMarks, false)
			}
		case firn.ToolCall:
			items = append(items, p.callItem(e, part, ids))
		case firn.OpaquePart:
			if isItem(part) {
				items = append(items, part.Raw)
			} else {
				lose(e, limitParts, false)
			}
		default:
			lose(e, limitParts, false)
		}
	}
	if (m.Model != "" || m.Usage != nil && m.Usage.Cost.Total != 0) && !p.fromRollout(e) {
		lose(e, limitModels, false)
	}
	return items
}

// isItem reports whether a part is an item of the API.
func isItem(part firn.OpaquePart) bool {
	f, err := readMembers(part.Raw)
	return err == nil && f.text("type") == part.Type && (strings.HasSuffix(part.Type, "_call") || strings.HasSuffix(part.Type, "_output") || strings.Contains(part.Type, "compaction"))
}

// reasoningItem returns the original reasoning item, nil if it cannot be sent back.
func reasoningItem(t firn.Thinking) []byte {
	f, err := readMembers([]byte(t.Signature))
	if err != nil || f.text("type") != "reasoning" || f.text("encrypted_content") == "" && len(textsOf(f.get("content"))) == 0 {
		return nil
	}
	item, err := rawjson.AppendValue(nil, []byte(t.Signature))
	if err != nil {
		return nil
	}
	return item
}

// textItem encodes a text of the model.
func textItem(t firn.Text, ids bool) []byte {
	id, phase := t.Signature, ""
	if mark, err := readMembers([]byte(t.Signature)); err == nil {
		id, phase = mark.text("id"), mark.text("phase")
	}
	w := object{}
	w.text("type", "message")
	if ids && strings.HasPrefix(id, "msg_") {
		w.text("id", id)
	}
	w.text("role", "assistant")
	piece := object{}
	piece.text("type", "output_text")
	piece.text("text", t.Text)
	w.list("content", [][]byte{piece.close()})
	if phase != "" {
		w.text("phase", phase)
	}
	return w.close()
}

// callItem encodes a call as an item of its original type.
func (p *printer) callItem(e *firn.Entry, c firn.ToolCall, ids bool) []byte {
	p.rememberCall(c)
	id := c.ID
	if id == "" {
		id = "call_" + string(e.ID)
	}
	extra := members(c.Extra)
	w := object{}
	kind := extra.text(callType)
	if kind == "" {
		kind = "function_call"
	}
	w.text("type", kind)
	if ids && c.Signature != "" {
		w.text("id", c.Signature)
	}
	switch kind {
	case "custom_tool_call":
		if status := extra.text("status"); status != "" {
			w.text("status", status)
		}
		w.text("call_id", id)
		w.text("name", c.Name)
		input, _ := readMembers(c.Arguments)
		w.text("input", input.text("input"))
	case "local_shell_call":
		w.text("call_id", id)
		w.text("status", orElse(extra.text("status"), "completed"))
		w.value("action", c.Arguments)
	default:
		w.text("name", c.Name)
		if space := extra.text("namespace"); space != "" {
			w.text("namespace", space)
		}
		w.text("arguments", argumentsText(c.Arguments))
		w.text("call_id", id)
	}
	return w.close()
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// rememberCall records the type of result that a call needs.
func (p *printer) rememberCall(c firn.ToolCall) {
	if kind := members(c.Extra).text(callType); kind == "custom_tool_call" && len(p.calls) < maxCalls {
		p.calls[c.ID] = kind
	}
}

// argumentsText returns the original text of the arguments.
func argumentsText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "{}"
	}
	if f, err := readMembers(raw); err == nil && len(f) == 1 && f[0].Name == "invalid" {
		if text, ok := textValue(f[0].Value); ok && rawjson.Valid([]byte(text)) != nil {
			return text
		}
	}
	return string(raw)
}

// resultItems encodes tool results.
func (p *printer) resultItems(e *firn.Entry, m *firn.Message, lose lossFunc) (items [][]byte) {
	for _, part := range m.Parts {
		result, ok := part.(firn.ToolResult)
		if !ok {
			lose(e, limitParts, false)
			continue
		}
		if result.IsError {
			lose(e, limitErrors, false)
		}
		if len(result.Details) > 0 {
			lose(e, limitMarks, false)
		}
		w := object{}
		if p.calls[result.CallID] != "" {
			w.text("type", "custom_tool_call_output")
		} else {
			w.text("type", "function_call_output")
		}
		w.text("call_id", result.CallID)
		if isText(result.Content) {
			w.text("output", firn.JoinText(result.Content))
		} else {
			w.list("output", content(result.Content, func() { lose(e, limitParts, false) }))
		}
		items = append(items, w.close())
	}
	return items
}

// isText reports whether all parts are text.
func isText(parts []firn.Part) bool {
	for _, part := range parts {
		if _, ok := part.(firn.Text); !ok {
			return false
		}
	}
	return true
}

// shellItems encodes shell commands of the user as Codex does.
func shellItems(e *firn.Entry, m *firn.Message, lose lossFunc) (items [][]byte) {
	for _, part := range m.Parts {
		s, ok := part.(firn.Shell)
		if !ok || s.Hidden {
			lose(e, limitNotes, true)
			continue
		}
		lose(e, limitSpeakers, false)
		code := 0
		if s.ExitCode != nil {
			code = *s.ExitCode
		}
		text := "<user_shell_command>\n<command>\n" + s.Command + "\n</command>\n<result>\nExit code: " + strconv.Itoa(code) + "\nOutput:\n" + s.Output + "\n</result>\n</user_shell_command>"
		items = append(items, messageItem("user", []firn.Part{firn.Text{Text: text}}, nil))
	}
	return items
}

// usage holds the token counts of a session.
type usage struct{ input, read, write, output, total int64 }

func readTotal(f members) usage {
	return usage{f.number("input_tokens"), f.number("cached_input_tokens"), f.number("cache_write_input_tokens"), f.number("output_tokens"), f.number("total_tokens")}
}

func (u usage) object() []byte {
	w := object{}
	w.number("input_tokens", u.input)
	w.number("cached_input_tokens", u.read)
	w.number("cache_write_input_tokens", u.write)
	w.number("output_tokens", u.output)
	w.number("reasoning_output_tokens", 0)
	w.number("total_tokens", u.total)
	return w.close()
}

// tokenCount encodes the usage of a response and the total so far.
func (p *printer) tokenCount(u *firn.Usage) []byte {
	last := usage{u.Input + u.CacheRead + u.CacheWrite, u.CacheRead, u.CacheWrite, u.Output, u.Context()}
	p.total.input += last.input
	p.total.read += last.read
	p.total.write += last.write
	p.total.output += last.output
	p.total.total += last.total
	info := object{}
	info.value("total_token_usage", p.total.object())
	info.value("last_token_usage", last.object())
	info.value("model_context_window", nil)
	w := object{}
	w.text("type", "token_count")
	w.value("info", info.close())
	w.value("rate_limits", nil)
	return w.close()
}
