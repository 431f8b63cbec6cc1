package cersei

import (
	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// content is a message in Cersei's format, in a line of a transcript or bare.
type content struct {
	role, id string
	// raw is the content member; has is set if there is one.
	raw      []byte
	has      bool
	metadata []byte
	other    firn.Fields
}

// readContent decodes the message of a line.
func readContent(raw []byte) (c content) {
	r := rawjson.New(raw)
	for r.Object(); r.Member(); {
		if name := r.KeyText(); !c.member(name, &r) {
			c.other = append(c.other, firn.Field{Name: name, Value: rawjson.CleanLine(r.Raw())})
		}
	}
	return c
}

// member reads a member of a message. It returns false if the member is unknown.
func (c *content) member(name string, r *rawjson.Reader) bool {
	switch name {
	case "role":
		return readString(&c.role, r)
	case "id":
		return readString(&c.id, r)
	case "content":
		c.raw, c.has = r.Raw(), true
		return true
	case "metadata":
		return capture(&c.metadata, r, rawjson.Object)
	}
	return false
}

// messages converts the content to messages: one for each tool result and one for the parts
// between them. It returns nil if the content is invalid.
func (c *content) messages() []*firn.Message {
	role, ok := roles[c.role]
	if !ok || !c.has {
		return nil
	}
	parts, err := blocks.Read(c.raw)
	if err != nil {
		return nil
	}
	var all []*firn.Message
	for len(parts) > 0 {
		if result, ok := parts[0].(firn.ToolResult); ok {
			all = append(all, &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{result}})
			parts = parts[1:]
			continue
		}
		n := 1
		for n < len(parts) && !isResult(parts[n]) {
			n++
		}
		all = append(all, &firn.Message{Role: role, Parts: parts[:n:n]})
		parts = parts[n:]
	}
	if len(all) == 0 {
		all = []*firn.Message{{Role: role}}
	}
	c.describe(all)
	return all
}

// roles are the roles that Cersei knows.
var roles = map[string]firn.Role{"user": firn.RoleUser, "assistant": firn.RoleAssistant, "system": firn.RoleSystem}

func isResult(p firn.Part) bool {
	_, ok := p.(firn.ToolResult)
	return ok
}

// describe adds the facts about the messages as a whole.
func (c *content) describe(all []*firn.Message) {
	last := all[len(all)-1]
	last.Extra = c.other
	if last.Role != firn.RoleAssistant {
		if c.metadata != nil {
			last.Extra = append(last.Extra, firn.Field{Name: "metadata", Value: rawjson.CleanLine(c.metadata)})
		}
		return
	}
	if c.id != "" {
		id := rawjson.AppendString(nil, c.id)
		last.Extra = append(last.Extra, firn.Field{Name: dialect.ResponseID, Value: id})
	}
	if c.metadata != nil {
		readMetadata(c.metadata, last)
	}
	if last.StopReason == "" {
		last.StopReason = firn.StopEnd
		for _, p := range last.Parts {
			if _, ok := p.(firn.ToolCall); ok {
				last.StopReason = firn.StopToolUse
			}
		}
	}
}

// stops maps Cersei's stop reasons.
var stops = map[string]firn.StopReason{
	"end_turn": firn.StopEnd, "stop_sequence": firn.StopEnd, "max_tokens": firn.StopLength, "tool_use": firn.StopToolUse,
}

// readMetadata reads the model, the stop reason and the usage.
func readMetadata(raw []byte, m *firn.Message) {
	r := rawjson.New(raw)
	for r.Object(); r.Member(); {
		name := r.KeyText()
		value := r.Raw()
		inner := rawjson.New(value)
		text, _ := inner.Text()
		switch stop, known := stops[text]; {
		case name == "model" && text != "":
			m.Model = text
		case name == "stop_reason" && known:
			m.StopReason = stop
		case name == "usage" && inner.Kind() == rawjson.Object:
			m.Usage = readUsage(value)
		case string(value) != "null":
			m.Extra = append(m.Extra, firn.Field{Name: name, Value: rawjson.CleanLine(value)})
		}
	}
}

// readUsage decodes the usage of a response. The provider's original usage is in a separate
// member; of that only Anthropic's cache counts are read.
func readUsage(raw []byte) *firn.Usage {
	u := new(firn.Usage)
	r := rawjson.New(raw)
	for r.Object(); r.Member(); {
		ok := false
		switch name := r.KeyText(); name {
		case "input_tokens":
			u.Input, ok = r.Int()
		case "output_tokens":
			u.Output, ok = r.Int()
		case "total_tokens":
			u.Total, ok = r.Int()
		case "cost_usd":
			u.Cost.Total, ok = r.Float()
		case "provider_usage":
			value := r.Raw()
			u.CacheRead, u.CacheWrite = readCache(value)
			u.Extra = append(u.Extra, firn.Field{Name: name, Value: rawjson.CleanLine(value)})
			ok = true
		}
		if !ok {
			r.Skip()
		}
	}
	return u
}

// readCache reads Anthropic's cache counts.
func readCache(raw []byte) (read, write int64) {
	r := rawjson.New(raw)
	if !r.Object() {
		return 0, 0
	}
	for r.Member() {
		ok := false
		switch string(r.Key()) {
		case "cache_read_input_tokens":
			read, ok = r.Int()
		case "cache_creation_input_tokens":
			write, ok = r.Int()
		}
		if !ok {
			r.Skip()
		}
	}
	return read, write
}
