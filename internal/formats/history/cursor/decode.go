package cursor

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// provider is the provider of all answers: Cursor's own service calls the models.
const provider = "cursor"

// decoder reads records. It remembers the model of the session.
type decoder struct{ model string }

// Decode returns the entries of a message. One that is not listed is not in the conversation.
func (d *decoder) Decode(line []byte) []history.Item {
	var r struct {
		Type, ID  string
		Timestamp time.Time
		Listed    *bool
		Data      json.RawMessage
	}
	if !history.Unmarshal(line, &r) || r.Listed != nil && !*r.Listed {
		return nil
	}
	var bodies []firn.Body
	switch r.Type {
	case "session":
		var session struct {
			ModelConfig   struct{ ModelName string }
			LastUsedModel string
		}
		history.Unmarshal(r.Data, &session)
		d.model = history.Clean(cmp.Or(session.ModelConfig.ModelName, session.LastUsedModel))
	case "bubble":
		bodies = d.bubble(r.ID, r.Data)
	case "message":
		bodies = d.message(r.Data)
	}
	var items []history.Item
	for _, b := range bodies {
		items = append(items, history.Item{Time: r.Timestamp, Body: b})
	}
	return items
}

// call is a call of a tool in the editor, with its result.
type call struct {
	Name, Status, ToolCallID string
	RawArgs, Params, Result  json.RawMessage
	Error                    json.RawMessage
}

// bubble returns the entries of a message of the editor.
func (d *decoder) bubble(id string, raw json.RawMessage) []firn.Body {
	var b struct {
		Type           int64
		Text           string
		Thinking       json.RawMessage
		Images         []json.RawMessage
		ToolFormerData call
		TokenCount     struct{ InputTokens, OutputTokens int64 }
		ModelInfo      struct{ ModelName string }
		ErrorDetails   struct{ Message, Error string }
	}
	if !history.Unmarshal(raw, &b) || b.Type != 1 && b.Type != 2 {
		return nil
	}
	var parts []firn.Part
	if thought, ok := thinkingOf(b.Thinking); ok {
		parts = append(parts, thought)
	}
	if b.Text != "" {
		parts = append(parts, firn.Text{Text: history.Clean(b.Text)})
	}
	for _, raw := range b.Images {
		parts = append(parts, imageOf(raw))
	}
	if b.Type == 1 {
		return []firn.Body{&firn.Message{Role: firn.RoleUser, Parts: parts}}
	}
	a := &firn.Message{Role: firn.RoleAssistant, Provider: provider, Model: cmp.Or(history.Clean(b.ModelInfo.ModelName), d.model), StopReason: firn.StopEnd, Parts: parts}
	if u := b.TokenCount; u.InputTokens+u.OutputTokens > 0 {
		a.Usage = &firn.Usage{Input: u.InputTokens, Output: u.OutputTokens}
	}
	if text := cmp.Or(b.ErrorDetails.Message, b.ErrorDetails.Error); text != "" {
		a.StopReason, a.Error = firn.StopError, history.Clean(text)
	}
	if b.ToolFormerData.Name == "" {
		if len(parts) == 0 && a.Error == "" {
			return nil // a mark without contents
		}
		return []firn.Body{a}
	}
	call, result := b.ToolFormerData.parts(id)
	a.Parts, a.StopReason = append(a.Parts, call), firn.StopToolUse
	if result == nil {
		return []firn.Body{a}
	}
	return []firn.Body{a, &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{*result}}}
}

// thinkingOf returns reasoning: an object, or a text.
func thinkingOf(raw json.RawMessage) (t firn.Thinking, ok bool) {
	var thinking struct{ Text, Signature string }
	if json.Unmarshal(raw, &thinking.Text) != nil {
		history.Unmarshal(raw, &thinking)
	}
	return firn.Thinking{Text: history.Clean(thinking.Text), Signature: history.Clean(thinking.Signature)}, thinking.Text != ""
}

// imageOf returns an image in base64 or as a data URL. Others, which are files, are opaque.
func imageOf(raw json.RawMessage) firn.Part {
	var image struct{ Data, Image, URL, MimeType, MediaType string }
	if json.Unmarshal(raw, &image.URL) != nil {
		history.Unmarshal(raw, &image)
	}
	for _, text := range []string{image.URL, image.Data, image.Image} {
		if i, ok := history.DataImage(text); ok {
			return i
		}
	}
	mime, data := cmp.Or(image.MimeType, image.MediaType), cmp.Or(image.Data, image.Image)
	if strings.HasPrefix(mime, "image/") && data != "" {
		return firn.Image{MimeType: history.Clean(mime), Data: history.Clean(data)}
	}
	return history.Opaque("image", raw)
}

// textOf returns a JSON text, or any other value as JSON.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return text
}

// parts returns a call and its result; nil if there is none yet.
func (c *call) parts(id string) (firn.ToolCall, *firn.ToolResult) {
	arguments := history.Object([]byte(textOf(c.RawArgs)))
	if len(arguments) == 2 {
		arguments = history.Object([]byte(textOf(c.Params)))
	}
	call := firn.ToolCall{ID: history.Clean(cmp.Or(c.ToolCallID, id)), Name: history.Clean(c.Name), Arguments: arguments}
	text, fault := textOf(c.Result), textOf(c.Error)
	result := &firn.ToolResult{CallID: call.ID, Name: call.Name, IsError: fault != "" || c.Status == "error"}
	if !result.IsError && text == "" && c.Status != "completed" && c.Status != "cancelled" && c.Status != "rejected" {
		return call, nil
	}
	var known struct{ Output, Contents, Content, Result string }
	if history.Unmarshal([]byte(text), &known) {
		result.Details = rawjson.CleanLine([]byte(text))
	}
	result.Content = []firn.Part{firn.Text{Text: history.Clean(cmp.Or(fault, known.Output, known.Contents, known.Content, known.Result, text))}}
	return call, result
}

// content is a part of a message of the command line.
type content struct {
	Type, Text, Signature string
	ToolCallID, ToolName  string
	Args, Result, Output  json.RawMessage
	IsError               bool
	raw                   json.RawMessage
}

// contents returns the parts of a content: a text, or a list.
func contents(raw json.RawMessage) (parts []content) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []content{{Type: "text", Text: text}}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for _, raw := range list {
		c := content{raw: raw}
		history.Unmarshal(raw, &c)
		parts = append(parts, c)
	}
	return parts
}

// message returns the entries of a message of the command line.
func (d *decoder) message(raw json.RawMessage) (bodies []firn.Body) {
	var m struct {
		Role            string
		Content         json.RawMessage
		ProviderOptions struct {
			Cursor struct{ ModelName string }
		}
	}
	if !history.Unmarshal(raw, &m) {
		return nil
	}
	var parts []firn.Part
	stop, isContext := firn.StopEnd, m.Role == "user"
	for _, c := range contents(m.Content) {
		if c.Type == "tool-result" {
			bodies = append(bodies, &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{c.result()}})
			continue
		}
		p := c.part()
		if text, ok := p.(firn.Text); ok && m.Role == "user" {
			query, ours := unwrap(text.Text)
			p, isContext = firn.Text{Text: query}, isContext && ours
		} else {
			isContext = false
		}
		if c.Type == "tool-call" {
			stop = firn.StopToolUse
		}
		parts = append(parts, p)
	}
	switch {
	case len(parts) == 0:
		return bodies
	case m.Role == "system" || isContext:
		return append(bodies, &firn.CustomMessage{Type: dialect.LineType(dialect.Cursor, dialect.KindContext), Parts: parts})
	case m.Role == "user":
		return append(bodies, &firn.Message{Role: firn.RoleUser, Parts: parts})
	case m.Role == "assistant":
		model := cmp.Or(history.Clean(m.ProviderOptions.Cursor.ModelName), d.model)
		return append(bodies, &firn.Message{Role: firn.RoleAssistant, Provider: provider, Model: model, StopReason: stop, Parts: parts})
	}
	return nil
}

// unwrap returns the prompt in the tag that Cursor puts around it, without what Cursor adds. A
// text without it that begins with Cursor's own tag is context.
func unwrap(text string) (query string, context bool) {
	if _, rest, ok := strings.Cut(text, "<user_query>"); ok {
		if query, _, ok := strings.Cut(rest, "</user_query>"); ok {
			return strings.TrimSpace(query), false
		}
	}
	return text, strings.HasPrefix(text, "<user_info>")
}

// part returns a part of a message.
func (c *content) part() firn.Part {
	switch c.Type {
	case "text":
		return firn.Text{Text: history.Clean(c.Text)}
	case "reasoning":
		return firn.Thinking{Text: history.Clean(c.Text), Signature: history.Clean(c.Signature)}
	case "tool-call":
		return firn.ToolCall{ID: history.Clean(c.ToolCallID), Name: history.Clean(c.ToolName), Arguments: history.Object(c.Args)}
	case "image":
		return imageOf(c.raw)
	}
	return history.Opaque(c.Type, c.raw)
}

// result returns the result of a call.
func (c *content) result() firn.Part {
	r := firn.ToolResult{CallID: history.Clean(c.ToolCallID), Name: history.Clean(c.ToolName), IsError: c.IsError}
	var output struct{ Value json.RawMessage }
	history.Unmarshal(c.Output, &output)
	raw := c.Result
	if len(raw) == 0 {
		raw = output.Value
	}
	r.Content = []firn.Part{firn.Text{Text: history.Clean(textOf(raw))}}
	return r
}
