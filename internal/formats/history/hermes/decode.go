package hermes

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// record is a record of a transcript.
type record struct {
	Type, Text string
	Timestamp  time.Time
	Data       json.RawMessage
}

// message is a row of the database, or a message of a transcript. In the database, lists are
// texts with JSON.
type message struct {
	Role              string
	Content           json.RawMessage
	Parts             json.RawMessage
	ToolCallID        string          `json:"tool_call_id"`
	ToolCalls         json.RawMessage `json:"tool_calls"`
	ToolName          string          `json:"tool_name"`
	Name              string
	At                json.RawMessage
	FinishReason      string `json:"finish_reason"`
	Reasoning         string
	ReasoningContent  string          `json:"reasoning_content"`
	ReasoningDetails  json.RawMessage `json:"reasoning_details"`
	CodexMessageItems json.RawMessage `json:"codex_message_items"`
	Summary           int64           `json:"_compressed_summary"`
	Active            *int64
	Compacted         int64
	DisplayKind       string `json:"display_kind"`
}

// summaryStarts begin the summaries of compactions in versions that do not mark them.
var summaryStarts = []string{"[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:"}

// decoder reads records. It remembers the model of the session, and the messages that a
// compaction archived, because those that it keeps are stored again around its summary.
type decoder struct {
	model, provider string
	archived        map[[32]byte]bool
	compacting      bool
}

// Decode returns the entries of a record.
func (d *decoder) Decode(line []byte) []history.Item {
	var r record
	if !history.Unmarshal(line, &r) {
		return nil
	}
	switch r.Type {
	case "system":
		return []history.Item{{Time: r.Timestamp, Body: contextOf(dialect.KindContext, firn.Text{Text: history.Clean(r.Text)})}}
	case "session":
		d.setModel(r.Data)
	case "message":
		var m message
		if history.Unmarshal(r.Data, &m) {
			if body := d.body(&m, r.Data); body != nil {
				return []history.Item{{Time: r.Timestamp, Body: body}}
			}
		}
	}
	return nil
}

// contextOf returns text that Hermes itself gave to the model.
func contextOf(kind string, parts ...firn.Part) *firn.CustomMessage {
	return &firn.CustomMessage{Type: dialect.LineType(dialect.Hermes, kind), Parts: parts}
}

// setModel reads the model of a session from its row or from its first line.
func (d *decoder) setModel(data json.RawMessage) {
	var session struct {
		Model    string
		Provider string `json:"billing_provider"`
	}
	history.Unmarshal(data, &session)
	d.model, d.provider = history.Clean(session.Model), history.Clean(session.Provider)
}

// body returns the entry of a message; nil if it is not in the conversation: undone, or the
// repetition of one that stands before the summary of a compaction.
func (d *decoder) body(m *message, raw json.RawMessage) firn.Body {
	if m.Active != nil && *m.Active == 0 {
		if m.Compacted == 0 {
			return nil
		}
		d.archived[m.digest()], d.compacting = true, true
	} else if d.compacting {
		if m.isSummary() {
			d.compacting = false
		} else if d.archived[m.digest()] {
			return nil
		}
	}
	switch {
	case m.Role == "session_meta":
		d.setModel(raw)
		return nil
	case m.isSummary() && (m.Role == "user" || m.Role == "assistant" || m.Role == "system"):
		return &firn.Compaction{Summary: firn.JoinText(m.parts())}
	case m.Role == "user" && m.DisplayKind == "hidden":
		return contextOf("hidden", m.parts()...)
	case m.Role == "user":
		return &firn.Message{Role: firn.RoleUser, Parts: m.parts()}
	case m.Role == "system":
		return contextOf(dialect.KindSystem, m.parts()...)
	case m.Role == "tool":
		return &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{
			CallID: history.Clean(m.ToolCallID), Name: history.Clean(cmp.Or(m.ToolName, m.Name)), Content: m.parts(),
		}}}
	case m.Role == "assistant":
		return d.answer(m)
	}
	return nil
}

// digest identifies a message by its contents and time.
func (m *message) digest() [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q", m.Role, m.Content, m.Parts, m.ToolCallID, m.ToolCalls, m.At))
}

// isSummary reports whether a message is the summary of a compaction.
func (m *message) isSummary() bool {
	if m.Summary != 0 {
		return true
	}
	var text string
	if json.Unmarshal(m.Content, &text) != nil {
		return false
	}
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, summaryStarts[0]) || strings.HasPrefix(text, summaryStarts[1])
}

// stops maps reasons to stop.
var stops = map[string]firn.StopReason{
	"stop": firn.StopEnd, "tool_calls": firn.StopToolUse, "length": firn.StopLength, "content_filter": firn.StopError, "error": firn.StopError,
}

// answer returns an answer of the model.
func (d *decoder) answer(m *message) *firn.Message {
	a := &firn.Message{Role: firn.RoleAssistant, Provider: d.provider, Model: d.model, StopReason: stops[m.FinishReason]}
	if text := cmp.Or(m.ReasoningContent, m.Reasoning, detailsText(m.ReasoningDetails)); text != "" {
		a.Parts = append(a.Parts, firn.Thinking{Text: history.Clean(text)})
	}
	parts := m.parts()
	if firn.JoinText(parts) == "" && len(parts) < 2 {
		parts = m.replyItems()
	}
	a.Parts = append(a.Parts, parts...)
	calls := m.calls()
	a.Parts = append(a.Parts, calls...)
	switch {
	case a.StopReason == "" && len(calls) > 0:
		a.StopReason = firn.StopToolUse
	case a.StopReason == "":
		a.StopReason = firn.StopEnd
	}
	return a
}

// unpacked returns a JSON value that the database holds as text.
func unpacked(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return json.RawMessage(text)
	}
	return raw
}

// elements returns the elements of a list, which may be a text with JSON. Anything else that is
// not empty is an element itself.
func elements(raw json.RawMessage) (list []json.RawMessage) {
	inner := unpacked(raw)
	if json.Unmarshal(inner, &list) == nil || len(inner) == 0 {
		return list
	}
	return []json.RawMessage{raw}
}

// calls returns the calls of tools in an answer.
func (m *message) calls() (calls []firn.Part) {
	for _, raw := range elements(m.ToolCalls) {
		var c struct {
			ID       string
			Function struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if !history.Unmarshal(raw, &c) || c.Function.Name == "" {
			calls = append(calls, history.Opaque("tool_call", raw))
			continue
		}
		calls = append(calls, firn.ToolCall{ID: history.Clean(c.ID), Name: history.Clean(c.Function.Name), Arguments: history.Object(unpacked(c.Function.Arguments))})
	}
	return calls
}

// detailsText returns the text of structured reasoning.
func detailsText(raw json.RawMessage) string {
	var texts []string
	for _, raw := range elements(raw) {
		var detail struct{ Text, Thinking, Summary string }
		history.Unmarshal(raw, &detail)
		if text := cmp.Or(detail.Text, detail.Thinking, detail.Summary); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// replyItems returns the reply of an answer of OpenAI's Responses API whose content is empty.
// Its items in other phases are commentary.
func (m *message) replyItems() (parts []firn.Part) {
	for _, raw := range elements(m.CodexMessageItems) {
		var item struct {
			Role, Phase string
			Content     []struct{ Type, Text string }
		}
		history.Unmarshal(raw, &item)
		if item.Role != "assistant" || item.Phase == "commentary" || item.Phase == "analysis" {
			continue
		}
		for _, c := range item.Content {
			if c.Text != "" {
				parts = append(parts, firn.Text{Text: history.Clean(c.Text)})
			}
		}
	}
	return parts
}

// parts returns the content of a message: a text, or a list of parts.
func (m *message) parts() (parts []firn.Part) {
	var text string
	switch {
	case len(m.Parts) > 0:
		return contentParts(elements(m.Parts))
	case json.Unmarshal(m.Content, &text) == nil:
		if text != "" {
			parts = append(parts, firn.Text{Text: history.Clean(text)})
		}
		return parts
	}
	return contentParts(elements(m.Content))
}

// contentParts returns the parts of a content in the forms of OpenAI's APIs.
func contentParts(list []json.RawMessage) (parts []firn.Part) {
	for _, raw := range list {
		var c struct {
			Type, Text string
			ImageURL   json.RawMessage `json:"image_url"`
		}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			parts = append(parts, firn.Text{Text: history.Clean(text)})
			continue
		}
		history.Unmarshal(raw, &c)
		var image struct{ URL string }
		if json.Unmarshal(c.ImageURL, &image.URL) != nil {
			history.Unmarshal(c.ImageURL, &image)
		}
		if i, ok := history.DataImage(image.URL); ok {
			parts = append(parts, i)
		} else if c.Type == "text" || c.Type == "input_text" || c.Type == "output_text" {
			parts = append(parts, firn.Text{Text: history.Clean(c.Text)})
		} else {
			parts = append(parts, history.Opaque(c.Type, raw))
		}
	}
	return parts
}
