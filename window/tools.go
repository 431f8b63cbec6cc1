package window

import (
	"bytes"
	"encoding/json"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// arguments makes the arguments of every call a JSON object that every parser accepts.
var arguments = Rule{"arguments", func(items []Item, p *Pass) []Item {
	var it *Item
	mend := func(part firn.Part) (firn.Part, verdict) {
		call, ok := part.(firn.ToolCall)
		if !ok {
			return part, keep
		}
		object, what := argumentObject(call.Arguments)
		if what == "" {
			return part, keep
		}
		p.Note(it, "arguments of call %s: %s", call.ID, what)
		call.Arguments = object
		return call, change
	}
	for i := range items {
		if it = &items[i]; it.Message.Role == firn.RoleAssistant {
			if parts, changed := edit(it.Message.Parts, mend); changed {
				it.Message.Parts = parts
			}
		}
	}
	return items
}}

// argumentObject converts raw to an object and describes the change. The description is
// empty if raw was valid.
func argumentObject(raw json.RawMessage) (object json.RawMessage, what string) {
	if rawjson.Valid(raw) == nil {
		clean, changed := rawjson.Clean(raw)
		if !changed {
			return raw, ""
		}
		return clean, "invalid characters replaced"
	}
	trimmed := bytes.TrimSpace(raw)
	var inner string
	switch {
	case len(trimmed) == 0 || string(trimmed) == "null":
		return json.RawMessage("{}"), "missing, {} assumed"
	case !json.Valid(trimmed):
		object = append(rawjson.AppendString([]byte(`{"invalid":`), string(raw)), '}')
		return object, "not JSON, kept as text"
	case json.Unmarshal(trimmed, &inner) == nil && rawjson.Valid([]byte(inner)) == nil:
		object, _ = rawjson.Clean([]byte(inner))
		return object, "an object encoded as a string, decoded"
	}
	value, err := rawjson.AppendValue([]byte(`{"value":`), trimmed)
	if err != nil || rawjson.Valid(append(value, '}')) != nil { // nested too deeply
		return json.RawMessage("{}"), "nested too deeply, left out"
	}
	return append(value, '}'), "not an object, wrapped in one"
}

// toolNames makes the names of tools legal for Anthropic, OpenAI and Mistral.
var toolNames = nameRule(func(name string) string { return legalName(name, false) })

// toolNamesGemini is toolNames for Gemini, where a name starts with a letter.
var toolNamesGemini = nameRule(func(name string) string { return legalName(name, true) })

// maxName is the maximum length of a tool name.
const maxName = 64

func nameRule(legal func(string) string) Rule {
	return Rule{"tool-names", func(items []Item, p *Pass) []Item {
		var it *Item
		mend := func(part firn.Part) (firn.Part, verdict) {
			call, ok := part.(firn.ToolCall)
			if !ok {
				return part, keep
			}
			name := legal(call.Name)
			if name == call.Name {
				return part, keep
			}
			p.Note(it, "tool name %q sent as %s", firn.CutText(call.Name, 2*maxName), name)
			call.Name = name
			return call, change
		}
		for i := range items {
			if it = &items[i]; it.Message.Role == firn.RoleAssistant {
				if parts, changed := edit(it.Message.Parts, mend); changed {
					it.Message.Parts = parts
				}
			}
		}
		return items
	}}
}

// legalName keeps ASCII letters, digits, underscores and dashes.
func legalName(name string, letterFirst bool) string {
	name = sanitize(name, "_-", "_")
	if name == "" {
		return "tool"
	}
	if c := name[0]; letterFirst && (c == '-' || c >= '0' && c <= '9') {
		name = "_" + name
	}
	return firn.CutText(name, maxName)
}

// sanitize keeps ASCII letters and digits and the characters of also; every other rune
// becomes instead. It returns s itself if nothing was replaced.
func sanitize(s, also, instead string) string {
	legal := func(c byte) bool {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return true
		}
		for i := range len(also) {
			if also[i] == c {
				return true
			}
		}
		return false
	}
	clean := 0
	for clean < len(s) && legal(s[clean]) {
		clean++
	}
	if clean == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:clean]...)
	for _, r := range s[clean:] {
		if r < 0x80 && legal(byte(r)) {
			b = append(b, byte(r))
		} else {
			b = append(b, instead...)
		}
	}
	return string(b)
}
