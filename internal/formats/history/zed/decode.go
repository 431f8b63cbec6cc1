package zed

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// decoder reads records. It remembers the model of the thread, and the tokens of requests by
// the ID of the user's message.
type decoder struct {
	provider, model string
	usage           map[string]usage
	request         string
}

// usage is the number of tokens of a request.
type usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// Decode returns the entries of a message.
func (d *decoder) Decode(line []byte) []history.Item {
	var r struct {
		Type string
		Data json.RawMessage
	}
	if !history.Unmarshal(line, &r) {
		return nil
	}
	var bodies []firn.Body
	switch r.Type {
	case "thread":
		d.readThread(r.Data)
	case "message":
		bodies = d.message(r.Data)
	}
	var items []history.Item
	for _, b := range bodies {
		items = append(items, history.Item{Body: b})
	}
	return items
}

// readThread reads the model and the tokens of a thread.
func (d *decoder) readThread(raw json.RawMessage) {
	var thread struct {
		Model struct{ Provider, Model string }
		Usage json.RawMessage `json:"request_token_usage"`
	}
	history.Unmarshal(raw, &thread)
	d.provider, d.model = history.Clean(thread.Model.Provider), history.Clean(thread.Model.Model)
	history.Unmarshal(thread.Usage, &d.usage) // earlier versions have a list
}

// message returns the entries of a message: an object with one member for its role, or of an
// earlier version one with the members role and segments.
func (d *decoder) message(raw json.RawMessage) []firn.Body {
	var m struct {
		User *struct {
			ID      string
			Content json.RawMessage
		}
		Agent *struct {
			Content json.RawMessage
			Results map[string]json.RawMessage `json:"tool_results"`
		}
		Role string
	}
	switch ok := history.Unmarshal(raw, &m); {
	case ok && m.User != nil:
		d.request = m.User.ID
		return []firn.Body{&firn.Message{Role: firn.RoleUser, Parts: parts(m.User.Content)}}
	case ok && m.Agent != nil:
		return d.answer(parts(m.Agent.Content), m.Agent.Results)
	case ok && m.Role != "":
		return d.earlier(raw)
	}
	return nil // such as "Resume"
}

// answer returns an answer and the results of its calls, in the order of the calls. Only the
// first answer to a message has its tokens.
func (d *decoder) answer(content []firn.Part, results map[string]json.RawMessage) []firn.Body {
	a := &firn.Message{Role: firn.RoleAssistant, Provider: d.provider, Model: d.model, StopReason: firn.StopEnd, Parts: content}
	if u, ok := d.usage[d.request]; ok {
		a.Usage = &firn.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
		d.request = ""
	}
	bodies := []firn.Body{a}
	left := maps.Clone(results)
	add := func(id string) {
		if raw, ok := left[id]; ok {
			delete(left, id)
			bodies = append(bodies, &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{result(id, raw)}})
		}
	}
	for _, p := range content {
		if c, ok := p.(firn.ToolCall); ok {
			a.StopReason = firn.StopToolUse
			add(c.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		add(id)
	}
	return bodies
}

// result returns the result of a call. Its content is a text, or parts of texts and images.
func result(id string, raw json.RawMessage) firn.ToolResult {
	var stored struct {
		Name    string `json:"tool_name"`
		IsError bool   `json:"is_error"`
		Content json.RawMessage
		Output  json.RawMessage
	}
	history.Unmarshal(raw, &stored)
	return firn.ToolResult{CallID: history.Clean(id), Name: history.Clean(stored.Name), IsError: stored.IsError, Content: parts(stored.Content), Details: rawjson.CleanLine(stored.Output)}
}

// parts returns the parts of a content: a text, a part or a list.
func parts(raw json.RawMessage) (all []firn.Part) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil && len(raw) > 0 {
		list = []json.RawMessage{raw}
	}
	for _, raw := range list {
		all = append(all, part(raw))
	}
	return all
}

// part returns a part: a text, or an object with one member for its kind.
func part(raw json.RawMessage) firn.Part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return firn.Text{Text: history.Clean(text)}
	}
	var p struct {
		Type             string
		Text             *string
		Thinking         *struct{ Text, Signature string }
		RedactedThinking *string
		Image            *struct{ Source string }
		Mention          *struct{ Content string }
		ToolUse          *struct {
			ID, Name string
			RawInput string `json:"raw_input"`
			Input    json.RawMessage
		}
	}
	switch ok := history.Unmarshal(raw, &p); {
	case ok && p.Text != nil:
		return firn.Text{Text: history.Clean(*p.Text)}
	case ok && p.Thinking != nil:
		return firn.Thinking{Text: history.Clean(p.Thinking.Text), Signature: history.Clean(p.Thinking.Signature)}
	case ok && p.RedactedThinking != nil:
		return firn.Thinking{Signature: history.Clean(*p.RedactedThinking), Redacted: true}
	case ok && p.Image != nil && p.Image.Source != "":
		return firn.Image{MimeType: "image/png", Data: history.Clean(p.Image.Source)} // Zed converts images to PNG
	case ok && p.Mention != nil && p.Mention.Content != "":
		return firn.Text{Text: history.Clean(p.Mention.Content)}
	case ok && p.ToolUse != nil:
		arguments := history.Object(p.ToolUse.Input)
		if len(arguments) == 2 {
			arguments = history.Object([]byte(p.ToolUse.RawInput))
		}
		return firn.ToolCall{ID: history.Clean(p.ToolUse.ID), Name: history.Clean(p.ToolUse.Name), Arguments: arguments}
	}
	return history.Opaque(kindOf(raw), raw)
}

// kindOf returns the name of the only member of a part.
func kindOf(raw json.RawMessage) string {
	r := rawjson.New(raw)
	if r.Object() && r.Member() {
		return r.KeyText()
	}
	return ""
}

// earlier returns the entries of a message of an earlier version. Calls and results follow its
// segments.
func (d *decoder) earlier(raw json.RawMessage) []firn.Body {
	var m struct {
		Role, Context string
		Segments      []struct {
			Type, Text, Signature string
			Data                  json.RawMessage
		}
		ToolUses []struct {
			ID, Name string
			Input    json.RawMessage
		} `json:"tool_uses"`
		ToolResults []json.RawMessage `json:"tool_results"`
	}
	history.Unmarshal(raw, &m)
	var content []firn.Part
	if m.Context != "" {
		content = append(content, firn.Text{Text: history.Clean(m.Context)})
	}
	for _, s := range m.Segments {
		switch strings.ToLower(s.Type) {
		case "thinking":
			content = append(content, firn.Thinking{Text: history.Clean(s.Text), Signature: history.Clean(s.Signature)})
		case "redactedthinking":
			var data string
			history.Unmarshal(s.Data, &data)
			content = append(content, firn.Thinking{Signature: history.Clean(cmp.Or(data, string(s.Data))), Redacted: true})
		default:
			content = append(content, firn.Text{Text: history.Clean(s.Text)})
		}
	}
	for _, u := range m.ToolUses {
		content = append(content, firn.ToolCall{ID: history.Clean(u.ID), Name: history.Clean(u.Name), Arguments: history.Object(u.Input)})
	}
	results := make(map[string]json.RawMessage)
	for _, raw := range m.ToolResults {
		var r struct {
			ID string `json:"tool_use_id"`
		}
		history.Unmarshal(raw, &r)
		results[r.ID] = raw
	}
	switch m.Role {
	case "user":
		bodies := d.answer(nil, results)[1:] // the oldest versions have results there
		if len(content) > 0 || len(bodies) == 0 {
			bodies = append(bodies, &firn.Message{Role: firn.RoleUser, Parts: content})
		}
		return bodies
	case "assistant":
		return d.answer(content, results)
	case "system":
		return []firn.Body{&firn.CustomMessage{Type: dialect.LineType(dialect.Zed, dialect.KindSystem), Parts: content}}
	}
	return nil
}
