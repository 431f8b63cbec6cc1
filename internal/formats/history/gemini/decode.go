package gemini

import (
	"encoding/json"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// message is a message of a session.
type message struct {
	Type      string
	Timestamp time.Time
	Content   json.RawMessage
	Model     string
	Thoughts  []struct{ Subject, Description string }
	ToolCalls []call
	Tokens    *struct{ Input, Output, Cached, Thoughts, Tool, Total int64 }
}

// call is a call of a tool with its result.
type call struct {
	ID, Name, Status string
	Args             json.RawMessage
	Result           json.RawMessage
	Timestamp        time.Time
}

// part is a part of a message in the form of Google's API.
type part struct {
	Text             *string
	Thought          bool
	InlineData       *struct{ MimeType, Data string }
	FunctionResponse *struct {
		ID, Name string
		Response json.RawMessage
	}
}

// decoder reads records. It remembers the calls whose results it returned, because results
// are stored with the call and once more as a message.
type decoder struct{ answered map[string]bool }

// contextTag begins the message that Gemini CLI itself puts before the first one.
const contextTag = "<session_context>"

// Decode returns the entries of a message.
func (d *decoder) Decode(line []byte) []history.Item {
	var m message
	if !history.Unmarshal(line, &m) {
		return nil
	}
	switch m.Type {
	case "user":
		return d.user(&m)
	case "gemini":
		return d.answer(&m)
	}
	return nil
}

// user returns a message of the user, or the results of calls in one.
func (d *decoder) user(m *message) []history.Item {
	var items []history.Item
	parts, results := d.parts(m.Content)
	for _, r := range results {
		if !d.answered[r.CallID] {
			d.answered[r.CallID] = true
			items = append(items, history.Item{Time: m.Timestamp, Body: &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r}}})
		}
	}
	switch {
	case len(parts) == 0:
	case strings.HasPrefix(firn.JoinText(parts), contextTag):
		items = append(items, history.Item{Time: m.Timestamp, Body: &firn.CustomMessage{Type: dialect.LineType(dialect.Gemini, dialect.KindContext), Parts: parts}})
	default:
		items = append(items, history.Item{Time: m.Timestamp, Body: &firn.Message{Role: firn.RoleUser, Parts: parts}})
	}
	return items
}

// answer returns an answer of the model and the results of its calls.
func (d *decoder) answer(m *message) []history.Item {
	a := &firn.Message{Role: firn.RoleAssistant, Provider: "google", Model: history.Clean(m.Model), StopReason: firn.StopEnd}
	for _, t := range m.Thoughts {
		text := strings.TrimSpace(t.Subject + "\n" + t.Description)
		a.Parts = append(a.Parts, firn.Thinking{Text: history.Clean(text)})
	}
	parts, _ := d.parts(m.Content)
	a.Parts = append(a.Parts, parts...)
	items := []history.Item{{Time: m.Timestamp, Body: a}}
	for _, c := range m.ToolCalls {
		a.StopReason = firn.StopToolUse
		a.Parts = append(a.Parts, firn.ToolCall{ID: history.Clean(c.ID), Name: history.Clean(c.Name), Arguments: history.Object(c.Args)})
		if r, ok := d.result(&c); ok {
			d.answered[r.CallID] = true
			items = append(items, history.Item{Time: c.Timestamp, Body: &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r}}})
		}
	}
	if t := m.Tokens; t != nil {
		a.Usage = &firn.Usage{Input: t.Input - min(t.Cached, t.Input), Output: t.Output + t.Thoughts, CacheRead: t.Cached, Total: t.Total}
	}
	return items
}

// result returns the result of a call; false if there is none yet.
func (d *decoder) result(c *call) (firn.ToolResult, bool) {
	r := firn.ToolResult{CallID: history.Clean(c.ID), Name: history.Clean(c.Name), IsError: c.Status == "error" || c.Status == "cancelled"}
	var text string
	if json.Unmarshal(c.Result, &text) == nil {
		r.Content = []firn.Part{firn.Text{Text: history.Clean(text)}}
		return r, text != "" || r.IsError
	}
	parts, results := d.parts(c.Result)
	for _, inner := range results {
		r.Content = append(r.Content, inner.Content...)
		r.IsError = r.IsError || inner.IsError
	}
	r.Content = append(r.Content, parts...)
	return r, len(r.Content) > 0 || r.IsError
}

// parts returns the parts of a content, which is a text, a part or a list of parts, and the
// results of calls among them.
func (d *decoder) parts(raw json.RawMessage) (parts []firn.Part, results []firn.ToolResult) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text != "" {
			parts = append(parts, firn.Text{Text: history.Clean(text)})
		}
		return parts, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil && len(raw) > 0 {
		list = []json.RawMessage{raw}
	}
	for _, raw := range list {
		var p part
		var text string
		switch ok := history.Unmarshal(raw, &p); {
		case json.Unmarshal(raw, &text) == nil:
			parts = append(parts, firn.Text{Text: history.Clean(text)})
		case ok && p.FunctionResponse != nil:
			results = append(results, response(p.FunctionResponse.ID, p.FunctionResponse.Name, p.FunctionResponse.Response))
		case ok && p.Text != nil && p.Thought:
			parts = append(parts, firn.Thinking{Text: history.Clean(*p.Text)})
		case ok && p.Text != nil:
			parts = append(parts, firn.Text{Text: history.Clean(*p.Text)})
		case ok && p.InlineData != nil && strings.HasPrefix(p.InlineData.MimeType, "image/"):
			parts = append(parts, firn.Image{MimeType: history.Clean(p.InlineData.MimeType), Data: history.Clean(p.InlineData.Data)})
		default:
			parts = append(parts, history.Opaque("gemini", raw))
		}
	}
	return parts, results
}

// response returns a result from a function response: its output or error, or the whole
// object.
func response(id, name string, raw json.RawMessage) firn.ToolResult {
	r := firn.ToolResult{CallID: history.Clean(id), Name: history.Clean(name)}
	var known struct{ Output, Error *string }
	switch ok := history.Unmarshal(raw, &known); {
	case ok && known.Output != nil:
		r.Content = []firn.Part{firn.Text{Text: history.Clean(*known.Output)}}
	case ok && known.Error != nil:
		r.IsError = true
		r.Content = []firn.Part{firn.Text{Text: history.Clean(*known.Error)}}
	case len(raw) > 0:
		r.Content = []firn.Part{firn.Text{Text: history.Clean(string(raw))}}
	}
	return r
}
