package cline

import (
	"cmp"
	"encoding/json"
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// record is a record of a transcript.
type record struct {
	Type, Text string
	Data       message
}

// message is a message in the form of Anthropic's API, with additions.
type message struct {
	ID, Role  string
	Content   json.RawMessage
	TS        int64
	Metadata  struct{ DisplayOnly bool }
	ModelInfo struct{ ID, Provider, ModelID, ProviderID string }
	Metrics   *struct{ InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens int64 }
}

// block is a part of a message.
type block struct {
	Type, Text          string
	Thinking, Signature string
	Data                string
	ID, Name            string
	Input               json.RawMessage
	ToolUseID           string `json:"tool_use_id"`
	Content             json.RawMessage
	IsError             bool `json:"is_error"`
	Source              struct {
		Type      string
		MediaType string `json:"media_type"`
		Data      string
	}
}

// decoder reads records.
type decoder struct{}

// Decode returns the entries of a record.
func (decoder) Decode(line []byte) []history.Item {
	var r record
	if !history.Unmarshal(line, &r) {
		return nil
	}
	if r.Type == "system" {
		return []history.Item{{Body: &firn.CustomMessage{Type: dialect.LineType(dialect.Cline, dialect.KindContext), Parts: []firn.Part{firn.Text{Text: history.Clean(r.Text)}}}}}
	}
	m := &r.Data
	if r.Type != "message" || m.Metadata.DisplayOnly || m.Role != "user" && m.Role != "assistant" {
		return nil
	}
	parts, results, ok := readContent(m.Content)
	if !ok {
		return nil
	}
	at := history.Unix(m.TS)
	var items []history.Item
	for _, r := range results {
		items = append(items, history.Item{Time: at, Body: &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r}}})
	}
	if len(parts) == 0 && len(items) > 0 {
		return items
	}
	if m.Role == "user" {
		return append(items, history.Item{Time: at, Body: &firn.Message{Role: firn.RoleUser, Parts: parts}})
	}
	return append(items, history.Item{Time: at, Body: m.answer(parts)})
}

// answer returns an answer of the model.
func (m *message) answer(parts []firn.Part) *firn.Message {
	a := &firn.Message{
		Role: firn.RoleAssistant, Parts: parts, StopReason: firn.StopEnd,
		Provider: history.Clean(cmp.Or(m.ModelInfo.Provider, m.ModelInfo.ProviderID)), Model: history.Clean(cmp.Or(m.ModelInfo.ID, m.ModelInfo.ModelID)),
	}
	for _, p := range parts {
		if _, ok := p.(firn.ToolCall); ok {
			a.StopReason = firn.StopToolUse
		}
	}
	if u := m.Metrics; u != nil {
		a.Usage = &firn.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheWriteTokens}
	}
	return a
}

// readContent returns the parts of a content, a text or a list of blocks, and the results of
// calls among them. It returns false if it is neither.
func readContent(raw json.RawMessage) (parts []firn.Part, results []firn.ToolResult, ok bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []firn.Part{firn.Text{Text: history.Clean(unwrap(text))}}, nil, true
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, nil, false
	}
	for _, raw := range list {
		var b block
		switch ok := history.Unmarshal(raw, &b); {
		case ok && b.Type == "tool_result":
			results = append(results, firn.ToolResult{CallID: history.Clean(b.ToolUseID), Name: history.Clean(b.Name), IsError: b.IsError, Content: resultContent(b.Content)})
		default:
			parts = append(parts, b.part(raw))
		}
	}
	return parts, results, true
}

// part returns a part of a message.
func (b *block) part(raw []byte) firn.Part {
	switch b.Type {
	case "text":
		return firn.Text{Text: history.Clean(unwrap(b.Text))}
	case "thinking":
		return firn.Thinking{Text: history.Clean(b.Thinking), Signature: history.Clean(b.Signature)}
	case "redacted_thinking":
		return firn.Thinking{Signature: history.Clean(b.Data), Redacted: true}
	case "tool_use":
		return firn.ToolCall{ID: history.Clean(b.ID), Name: history.Clean(b.Name), Arguments: history.Object(b.Input)}
	case "image":
		if b.Source.Type == "base64" {
			return firn.Image{MimeType: history.Clean(b.Source.MediaType), Data: history.Clean(b.Source.Data)}
		}
	}
	return history.Opaque(b.Type, raw)
}

// resultContent returns the content of a result: a text, blocks, or objects of Cline's own
// tools with a member result.
func resultContent(raw json.RawMessage) (parts []firn.Part) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []firn.Part{firn.Text{Text: history.Clean(text)}}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		if len(raw) > 0 {
			parts = append(parts, firn.Text{Text: history.Clean(string(raw))})
		}
		return parts
	}
	for _, raw := range list {
		var b block
		var own struct{ Result *string }
		switch ok := history.Unmarshal(raw, &b); {
		case ok && b.Type != "":
			parts = append(parts, b.part(raw))
		case history.Unmarshal(raw, &own) && own.Result != nil:
			parts = append(parts, firn.Text{Text: history.Clean(*own.Result)})
		default:
			parts = append(parts, firn.Text{Text: history.Clean(string(raw))})
		}
	}
	return parts
}

// unwrap returns a prompt without the tag that Cline puts around it.
func unwrap(text string) string {
	inner, ok := strings.CutSuffix(text, "</user_input>")
	if !ok || !strings.HasPrefix(inner, "<user_input") {
		return text
	}
	if _, prompt, ok := strings.Cut(inner, ">"); ok {
		return prompt
	}
	return text
}
