package crush

import (
	"encoding/json"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/history"
)

// record is a message.
type record struct {
	Type string
	Data struct {
		Role, Model, Provider string
		CreatedAt             int64           `json:"created_at"`
		Summary               json.RawMessage `json:"is_summary_message"`
	}
	Parts json.RawMessage
}

// content holds the members of all kinds of parts.
type content struct {
	Text, Thinking, Signature string
	URL                       string
	Path, MIMEType, Data      string
	ID, Name, Input           string
	ToolCallID                string `json:"tool_call_id"`
	Content                   string
	MIME                      string `json:"mime_type"`
	IsError                   bool   `json:"is_error"`
	Metadata                  string
	Reason, Message, Details  string
}

// decoder reads records.
type decoder struct{}

// roles maps Crush's roles.
var roles = map[string]firn.Role{"user": firn.RoleUser, "assistant": firn.RoleAssistant, "system": firn.RoleSystem, "tool": firn.RoleToolResult}

// Decode returns the entries of a message.
func (decoder) Decode(line []byte) []history.Item {
	var r record
	if !history.Unmarshal(line, &r) || r.Type != "message" || roles[r.Data.Role] == "" {
		return nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(r.Parts, &parts) != nil {
		return nil
	}
	m := &firn.Message{Role: roles[r.Data.Role]}
	if m.Role == firn.RoleAssistant {
		m.Provider, m.Model, m.StopReason = history.Clean(r.Data.Provider), history.Clean(r.Data.Model), firn.StopAborted
	}
	var results []firn.Part
	for _, raw := range parts {
		var p part
		var c content
		if !history.Unmarshal(raw, &p) || !history.Unmarshal(p.Data, &c) {
			m.Parts = append(m.Parts, history.Opaque(p.Type, raw))
			continue
		}
		switch {
		case p.Type == "tool_result":
			results = append(results, c.result())
		case p.Type == "finish" && m.Role == firn.RoleAssistant:
			c.finish(m)
		case p.Type == "finish":
		default:
			m.Parts = append(m.Parts, c.part(p.Type, raw))
		}
	}
	at := history.Unix(r.Data.CreatedAt)
	if s := string(r.Data.Summary); s == "1" || s == "true" {
		return []history.Item{{Time: at, Body: &firn.Compaction{Summary: firn.JoinText(m.Parts)}}}
	}
	var items []history.Item
	for _, p := range results {
		items = append(items, history.Item{Time: at, Body: &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{p}}})
	}
	if m.Role == firn.RoleToolResult {
		if len(m.Parts) > 0 {
			return nil // not only results
		}
		return items
	}
	return append(items, history.Item{Time: at, Body: m})
}

// part returns a part of a message.
func (c *content) part(kind string, raw []byte) firn.Part {
	switch {
	case kind == "text":
		return firn.Text{Text: history.Clean(c.Text)}
	case kind == "reasoning":
		return firn.Thinking{Text: history.Clean(c.Thinking), Signature: history.Clean(c.Signature)}
	case kind == "tool_call":
		return firn.ToolCall{ID: history.Clean(c.ID), Name: history.Clean(c.Name), Arguments: history.Object([]byte(c.Input))}
	case kind == "binary" && strings.HasPrefix(c.MIMEType, "image/"):
		return firn.Image{MimeType: history.Clean(c.MIMEType), Data: history.Clean(c.Data)}
	}
	return history.Opaque(kind, raw)
}

// result returns the result of a call.
func (c *content) result() firn.Part {
	r := firn.ToolResult{CallID: history.Clean(c.ToolCallID), Name: history.Clean(c.Name), IsError: c.IsError, Details: rawjson.CleanLine([]byte(c.Metadata))}
	r.Content = []firn.Part{firn.Text{Text: history.Clean(c.Content)}}
	if strings.HasPrefix(c.MIME, "image/") && c.Data != "" {
		r.Content = append(r.Content, firn.Image{MimeType: history.Clean(c.MIME), Data: history.Clean(c.Data)})
	}
	return r
}

// stops maps reasons to stop.
var stops = map[string]firn.StopReason{
	"end_turn": firn.StopEnd, "max_tokens": firn.StopLength, "tool_use": firn.StopToolUse, "canceled": firn.StopAborted, "error": firn.StopError, "content_filter": firn.StopError,
}

// finish sets how an answer ended.
func (c *content) finish(m *firn.Message) {
	if m.StopReason = stops[c.Reason]; m.StopReason == "" {
		m.StopReason = firn.StopEnd
	}
	if m.StopReason == firn.StopError || m.StopReason == firn.StopAborted {
		m.Error = history.Clean(strings.TrimSpace(c.Message + " " + c.Details))
	}
}
