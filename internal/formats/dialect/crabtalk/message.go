package crabtalk

import (
	"bytes"
	"encoding/json"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// CrabTalk's names of the message roles.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// readMessage decodes a message. It returns false if the object is not a message. Missing
// members are treated as empty, including the arguments of a call: CrabTalk omits empty
// arguments and then fails to read its own line.
func readMessage(f members) (*firn.Message, bool) {
	role, _ := f.text("role")
	content, ok := optional(f, "content")
	reasoning, ok2 := optional(f, "reasoning_content")
	if !ok || !ok2 {
		return nil, false
	}
	m := &firn.Message{Extra: f.without("role", "content", "reasoning_content", "name", "tool_call_id", "tool_calls")}
	switch role {
	case roleSystem:
		m.Role = firn.RoleSystem
	case roleUser:
		m.Role = firn.RoleUser
	case roleAssistant:
		m.Role, m.StopReason = firn.RoleAssistant, firn.StopEnd
	case roleTool:
		return readResult(m, f, content), true
	default:
		return nil, false
	}
	if reasoning != "" {
		m.Parts = append(m.Parts, firn.Thinking{Text: reasoning})
	}
	if content != "" {
		m.Parts = append(m.Parts, firn.Text{Text: content})
	}
	if name := f.get("name"); name != nil && !isEmpty(name) {
		m.Extra = append(m.Extra, firn.Field{Name: "name", Value: rawjson.CleanCopy(name)})
	}
	return m, readCalls(m, f.get("tool_calls"))
}

// optional returns a string that may be missing or null. It returns false for any other
// type.
func optional(f members, name string) (string, bool) {
	value := f.get(name)
	if value == nil || string(value) == "null" {
		return "", true
	}
	return f.text(name)
}

// readResult decodes a tool result.
func readResult(m *firn.Message, f members, content string) *firn.Message {
	id, _ := f.text("tool_call_id")
	name, _ := f.text("name")
	result := firn.ToolResult{CallID: id, Name: name}
	if content != "" {
		result.Content = []firn.Part{firn.Text{Text: content}}
	}
	m.Role = firn.RoleToolResult
	m.Parts = []firn.Part{result}
	return m
}

// readCalls adds the calls of a message. It returns false if they are invalid.
func readCalls(m *firn.Message, raw json.RawMessage) bool {
	if raw == nil || string(raw) == "null" {
		return true
	}
	r := rawjson.New(raw)
	if !r.Array() {
		return false
	}
	for r.Element() {
		f, err := readMembers(r.Raw())
		if err != nil {
			return false
		}
		function, err := readMembers(f.get("function"))
		if err != nil {
			return false
		}
		call := firn.ToolCall{Extra: f.without("id", "type", "function", "index")}
		call.ID, _ = f.text("id")
		call.Name, _ = function.text("name")
		call.Arguments = arguments(function)
		m.Parts = append(m.Parts, call)
		m.StopReason = firn.StopToolUse
	}
	return r.End() == nil
}

// arguments returns the arguments of a call as an object. A text that is not an object is
// stored as the member "invalid".
func arguments(function members) json.RawMessage {
	text, ok := function.text("arguments")
	if !ok {
		text = string(function.get("arguments"))
	}
	trimmed := bytes.TrimSpace([]byte(text))
	switch {
	case len(trimmed) == 0 || string(trimmed) == "null":
		return json.RawMessage(`{}`)
	case rawjson.Valid(trimmed) == nil:
		return oneLine(trimmed)
	}
	return append(rawjson.AppendString([]byte(`{"invalid":`), text), '}')
}

// oneLine sanitizes a valid value and puts it on one line.
func oneLine(raw []byte) json.RawMessage {
	value, err := rawjson.AppendValue(nil, raw)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return value
}

// argumentsText returns the original text of the arguments.
func argumentsText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "{}"
	}
	f, err := readMembers(raw)
	if err == nil && len(f) == 1 && f[0].Name == "invalid" {
		if text, ok := f.text("invalid"); ok && rawjson.Valid([]byte(text)) != nil {
			return text
		}
	}
	return string(raw)
}

// isEmpty reports whether a value is null or an empty string.
func isEmpty(raw json.RawMessage) bool { return string(raw) == "null" || string(raw) == `""` }
