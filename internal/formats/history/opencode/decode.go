package opencode

import (
	"encoding/json"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/history"
)

// record is a message with its parts.
type record struct {
	Type    string
	Created int64
	Data    message
	Parts   []struct{ Data json.RawMessage }
}

// message is the data of a message.
type message struct {
	Role, ModelID, ProviderID, Finish string
	Summary                           json.RawMessage
	Cost                              float64
	Tokens                            struct {
		Total, Input, Output, Reasoning int64
		Cache                           struct{ Read, Write int64 }
	}
	Time  struct{ Created, Completed int64 }
	Error *struct {
		Name string
		Data struct{ Message string }
	}
}

// part is the data of a part.
type part struct {
	Type, Text   string
	Ignored      bool
	URL          string
	Tool, CallID string
	State        struct {
		Status, Output, Error string
		Input, Metadata       json.RawMessage
		Time                  struct{ Start, End int64 }
		Attachments           []struct{ URL string }
	}
}

// decoder reads records.
type decoder struct{}

// Decode returns the entries of a message.
func (decoder) Decode(line []byte) []history.Item {
	var r record
	if !history.Unmarshal(line, &r) || r.Type != "message" {
		return nil
	}
	if r.Data.Time.Created == 0 {
		r.Data.Time.Created = r.Created
	}
	switch r.Data.Role {
	case "user":
		return r.user()
	case "assistant":
		if string(r.Data.Summary) == "true" && r.Data.Error == nil && r.Data.Finish != "" {
			return r.compaction()
		}
		return r.assistant()
	}
	return nil
}

// user returns the message of a user.
func (r *record) user() []history.Item {
	m := &firn.Message{Role: firn.RoleUser}
	for _, raw := range r.Parts {
		var p part
		if !history.Unmarshal(raw.Data, &p) {
			m.Parts = append(m.Parts, history.Opaque("part", raw.Data))
			continue
		}
		switch image, isImage := history.DataImage(p.URL); {
		case p.Type == "text" && !p.Ignored:
			m.Parts = append(m.Parts, firn.Text{Text: history.Clean(p.Text)})
		case p.Type == "file" && isImage:
			m.Parts = append(m.Parts, image)
		default:
			m.Parts = append(m.Parts, history.Opaque(p.Type, raw.Data))
		}
	}
	return []history.Item{{Time: history.Millis(r.Data.Time.Created), Body: m}}
}

// compaction returns the summary that replaces all earlier messages.
func (r *record) compaction() []history.Item {
	var texts []string
	for _, raw := range r.Parts {
		var p part
		if history.Unmarshal(raw.Data, &p) && p.Type == "text" {
			texts = append(texts, history.Clean(p.Text))
		}
	}
	return []history.Item{{Time: history.Millis(r.Data.Time.Created), Body: &firn.Compaction{Summary: strings.Join(texts, "\n")}}}
}

// assistant returns the answers in a message, one for each step, each followed by the
// results of its calls.
func (r *record) assistant() []history.Item {
	var items []history.Item
	created := history.Millis(r.Data.Time.Created)
	answer, results := r.answer(), []history.Item(nil)
	flush := func() {
		if len(answer.Parts) > 0 {
			items = append(append(items, history.Item{Time: created, Body: answer}), results...)
			answer, results = r.answer(), nil
			answer.Usage = nil // that of the message is on its first answer
		}
	}
	for _, raw := range r.Parts {
		var p part
		if !history.Unmarshal(raw.Data, &p) {
			answer.Parts = append(answer.Parts, history.Opaque("part", raw.Data))
			continue
		}
		switch p.Type {
		case "step-start":
			flush()
		case "step-finish", "snapshot": // only the number of tokens and names of snapshots
		case "text":
			answer.Parts = append(answer.Parts, firn.Text{Text: history.Clean(p.Text)})
		case "reasoning":
			answer.Parts = append(answer.Parts, firn.Thinking{Text: history.Clean(p.Text)})
		case "tool":
			call, result := p.call()
			answer.Parts = append(answer.Parts, call)
			if result != nil {
				results = append(results, history.Item{Time: history.Millis(p.State.Time.End), Body: result})
			}
		default:
			answer.Parts = append(answer.Parts, history.Opaque(p.Type, raw.Data))
		}
	}
	if len(items) == 0 && len(answer.Parts) == 0 {
		return []history.Item{{Time: created, Body: answer}}
	}
	flush()
	return withStops(items)
}

// withStops sets the stop reason of each answer but the last, which calls tools.
func withStops(items []history.Item) []history.Item {
	last := true
	for i := len(items) - 1; i >= 0; i-- {
		m := items[i].Body.(*firn.Message)
		if m.Role != firn.RoleAssistant {
			continue
		}
		if !last {
			m.StopReason, m.Error = firn.StopToolUse, ""
		}
		last = false
	}
	return items
}

// stops maps reasons to stop.
var stops = map[string]firn.StopReason{"stop": firn.StopEnd, "tool-calls": firn.StopToolUse, "length": firn.StopLength, "error": firn.StopError}

// answer returns an assistant message without parts.
func (r *record) answer() *firn.Message {
	d := &r.Data
	m := &firn.Message{Role: firn.RoleAssistant, Provider: history.Clean(d.ProviderID), Model: history.Clean(d.ModelID), StopReason: stops[d.Finish]}
	if t := d.Tokens; t.Input+t.Output+t.Cache.Read+t.Cache.Write > 0 {
		m.Usage = &firn.Usage{Input: t.Input, Output: t.Output, CacheRead: t.Cache.Read, CacheWrite: t.Cache.Write, Total: t.Total, Cost: firn.Cost{Total: d.Cost}}
	}
	switch {
	case d.Error != nil && d.Error.Name == "MessageAbortedError":
		m.StopReason, m.Error = firn.StopAborted, history.Clean(d.Error.Data.Message)
	case d.Error != nil:
		m.StopReason, m.Error = firn.StopError, history.Clean(strings.TrimSpace(d.Error.Name+": "+d.Error.Data.Message))
	case m.StopReason == "" && d.Time.Completed == 0:
		m.StopReason = firn.StopAborted // it was never finished
	case m.StopReason == "":
		m.StopReason = firn.StopEnd
	}
	return m
}

// call returns a call and its result; nil if it has none.
func (p *part) call() (firn.ToolCall, *firn.Message) {
	call := firn.ToolCall{ID: history.Clean(p.CallID), Name: history.Clean(p.Tool), Arguments: history.Object(p.State.Input)}
	result := firn.ToolResult{CallID: call.ID, Name: call.Name, Details: rawjson.CleanLine(p.State.Metadata)}
	switch p.State.Status {
	case "completed":
		result.Content = []firn.Part{firn.Text{Text: history.Clean(p.State.Output)}}
	case "error":
		result.IsError = true
		result.Content = []firn.Part{firn.Text{Text: history.Clean(p.State.Error)}}
	default:
		return call, nil
	}
	for _, a := range p.State.Attachments {
		if image, ok := history.DataImage(a.URL); ok {
			result.Content = append(result.Content, image)
		}
	}
	return call, &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{result}}
}
