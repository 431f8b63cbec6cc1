package copilot

import (
	"encoding/json"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// event is an event of the log.
type event struct {
	Type, AgentID string
	Timestamp     time.Time
	Data          struct {
		ParentToolCallID string
		Content          string
		Attachments      []json.RawMessage
		Model            string
		ReasoningText    string
		ToolRequests     []struct {
			ToolCallID, Name string
			Arguments        json.RawMessage
		}
		ToolCallID     string
		Success        bool
		Result         *struct{ Content string }
		Error          json.RawMessage
		SummaryContent string
		Title          string
		Usage          *struct {
			InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens int64
			Cost                                                         float64
		}
		PreCompactionTokens int64
	}
}

// decoder reads events. The usage of an answer precedes it.
type decoder struct{ usage *firn.Usage }

// Decode returns the entries of an event; none for those that are no part of the
// conversation, and for those of sub-agents.
func (d *decoder) Decode(line []byte) []history.Item {
	var e event
	if !history.Unmarshal(line, &e) || e.AgentID != "" || e.Data.ParentToolCallID != "" {
		return nil
	}
	var body firn.Body
	switch e.Type {
	case "user.message":
		body = e.user()
	case "system.message":
		body = &firn.CustomMessage{Type: dialect.LineType(dialect.Copilot, dialect.KindContext), Parts: []firn.Part{firn.Text{Text: history.Clean(e.Data.Content)}}}
	case "session.usage_record":
		d.note(&e)
		return nil
	case "assistant.message":
		body = d.answer(&e)
	case "tool.execution_complete":
		body = e.result()
	case "session.compaction_complete":
		if !e.Data.Success || e.Data.SummaryContent == "" {
			return nil
		}
		body = &firn.Compaction{Summary: history.Clean(e.Data.SummaryContent), TokensBefore: e.Data.PreCompactionTokens}
	case "session.title_changed":
		if e.Data.Title == "" {
			return nil
		}
		body = &firn.Title{Name: history.Clean(e.Data.Title)}
	default:
		return nil
	}
	return []history.Item{{Time: e.Timestamp, Body: body}}
}

// user returns a message of the user. Attachments are carried.
func (e *event) user() firn.Body {
	m := &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: history.Clean(e.Data.Content)}}}
	for _, raw := range e.Data.Attachments {
		var a struct{ Type string }
		history.Unmarshal(raw, &a)
		m.Parts = append(m.Parts, history.Opaque(a.Type, raw))
	}
	return m
}

// note remembers the usage of the next answer.
func (d *decoder) note(e *event) {
	if u := e.Data.Usage; u != nil {
		d.usage = &firn.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheWriteTokens, Cost: firn.Cost{Total: u.Cost}}
	}
}

// answer returns an answer of the model.
func (d *decoder) answer(e *event) firn.Body {
	m := &firn.Message{Role: firn.RoleAssistant, Provider: "github-copilot", Model: history.Clean(e.Data.Model), StopReason: firn.StopEnd, Usage: d.usage}
	d.usage = nil
	if e.Data.ReasoningText != "" {
		m.Parts = append(m.Parts, firn.Thinking{Text: history.Clean(e.Data.ReasoningText)})
	}
	if e.Data.Content != "" {
		m.Parts = append(m.Parts, firn.Text{Text: history.Clean(e.Data.Content)})
	}
	for _, c := range e.Data.ToolRequests {
		m.StopReason = firn.StopToolUse
		m.Parts = append(m.Parts, firn.ToolCall{ID: history.Clean(c.ToolCallID), Name: history.Clean(c.Name), Arguments: history.Object(c.Arguments)})
	}
	return m
}

// result returns the result of a call. Its name is that of the call.
func (e *event) result() firn.Body {
	r := firn.ToolResult{CallID: history.Clean(e.Data.ToolCallID), IsError: !e.Data.Success}
	text := ""
	if e.Data.Result != nil {
		text = e.Data.Result.Content
	}
	if text == "" && len(e.Data.Error) > 0 {
		var known struct{ Message string }
		if history.Unmarshal(e.Data.Error, &known); known.Message == "" {
			known.Message = strings.Trim(string(e.Data.Error), `"`)
		}
		text = known.Message
	}
	r.Content = []firn.Part{firn.Text{Text: history.Clean(text)}}
	return &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r}}
}
