package native

import (
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// message writes the member "message".
func (w *encoder) message(m *firn.Message) {
	if m.Role == "" {
		w.fail("the message has no role")
		return
	}
	w.name("message")
	w.b = append(w.b, '{')
	w.text("role", string(m.Role))
	switch m.Role {
	case firn.RoleToolResult:
		w.toolResult(m)
	case firn.RoleShell:
		w.shell(m)
	default:
		if m.Parts != nil || requiresContent(m.Role) {
			w.parts("content", m.Parts)
		}
		w.answer(m)
	}
	w.extra(m.Extra, nil)
	w.b = append(w.b, '}')
}

// answer writes the model, the usage and the stop reason of a response. Only assistant
// messages have all of them.
func (w *encoder) answer(m *firn.Message) {
	w.optional("api", m.API)
	w.optional("provider", m.Provider)
	w.optional("model", m.Model)
	switch {
	case m.Usage != nil:
		w.usage(m.Usage)
	case m.Role == firn.RoleAssistant && m.Extra.Get("usage") == nil:
		w.usage(&firn.Usage{}) // pi crashes without a usage
	}
	w.optional("stopReason", string(m.StopReason))
	w.epoch(m.Time)
	w.optional("errorMessage", m.Error)
}

func (w *encoder) toolResult(m *firn.Message) {
	t, ok := onePart[firn.ToolResult](m.Parts)
	if !ok {
		w.fail("a message of the role toolResult must have one part, a ToolResult")
		return
	}
	w.text("toolCallId", t.CallID)
	w.text("toolName", t.Name)
	w.parts("content", t.Content)
	w.raw("details", t.Details)
	w.boolean("isError", t.IsError)
	w.answer(m)
}

func (w *encoder) shell(m *firn.Message) {
	s, ok := onePart[firn.Shell](m.Parts)
	if !ok {
		w.fail("a message of the role bashExecution must have one part, a Shell")
		return
	}
	w.text("command", s.Command)
	w.text("output", s.Output)
	if s.ExitCode != nil {
		w.integer("exitCode", int64(*s.ExitCode))
	}
	w.boolean("cancelled", s.Cancelled)
	w.boolean("truncated", s.Truncated)
	w.optional("fullOutputPath", s.FullOutput)
	w.answer(m)
	w.flag("excludeFromContext", s.Hidden)
}

// onePart returns the only part if it is of type T.
func onePart[T firn.Part](parts []firn.Part) (part T, ok bool) {
	if len(parts) != 1 {
		return part, false
	}
	part, ok = parts[0].(T)
	return part, ok
}

// epoch writes the time of a message in milliseconds since 1970.
func (w *encoder) epoch(t time.Time) {
	if t.IsZero() {
		return
	}
	ms := t.UnixMilli()
	if !epochOK(ms) {
		w.fail("the time of the message is out of range")
		return
	}
	w.integer("timestamp", ms)
}

func (w *encoder) usage(u *firn.Usage) {
	w.name("usage")
	w.b = append(w.b, '{')
	w.integer("input", u.Input)
	w.integer("output", u.Output)
	w.integer("cacheRead", u.CacheRead)
	w.integer("cacheWrite", u.CacheWrite)
	w.integer("totalTokens", u.Total)
	if u.Extra.Get("cost") == nil { // otherwise the carried cost has more members than the fields
		w.name("cost")
		w.b = append(w.b, '{')
		w.float("input", u.Cost.Input)
		w.float("output", u.Cost.Output)
		w.float("cacheRead", u.Cost.CacheRead)
		w.float("cacheWrite", u.Cost.CacheWrite)
		w.float("total", u.Cost.Total)
		w.b = append(w.b, '}')
	}
	w.extra(u.Extra, nil)
	w.b = append(w.b, '}')
}

// parts writes content, always as an array.
func (w *encoder) parts(name string, parts []firn.Part) {
	w.name(name)
	w.b = append(w.b, '[')
	for i, p := range parts {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.part(p)
	}
	w.b = append(w.b, ']')
}

func (w *encoder) part(p firn.Part) {
	switch p := p.(type) {
	case firn.Text:
		w.open("text")
		w.text("text", p.Text)
		w.optional("textSignature", p.Signature)
		w.closePart(p.Extra)
	case firn.Image:
		w.open("image")
		w.text("data", p.Data)
		w.text("mimeType", p.MimeType)
		w.closePart(p.Extra)
	case firn.Thinking:
		w.open("thinking")
		w.text("thinking", p.Text)
		w.optional("thinkingSignature", p.Signature)
		w.flag("redacted", p.Redacted)
		w.closePart(p.Extra)
	case firn.ToolCall:
		w.toolCall(p)
	case firn.OpaquePart:
		w.opaquePart(p)
	default:
		w.fail(fmt.Sprintf("a %T cannot be within the content of a message", p))
	}
}

func (w *encoder) closePart(extra firn.Fields) {
	w.extra(extra, nil)
	w.b = append(w.b, '}')
}

func (w *encoder) toolCall(p firn.ToolCall) {
	w.open("toolCall")
	w.text("id", p.ID)
	w.text("name", p.Name)
	if p.Arguments == nil {
		w.b = append(w.b, `,"arguments":{}`...)
	} else {
		w.raw("arguments", p.Arguments)
	}
	w.optional("thoughtSignature", p.Signature)
	w.closePart(p.Extra)
}

func (w *encoder) opaquePart(p firn.OpaquePart) {
	var err error
	if w.b, err = rawjson.AppendValue(w.b, p.Raw); err != nil && w.err == nil {
		w.err = fmt.Errorf("%w: a part of the type %q is not JSON: %w", firn.ErrInvalid, p.Type, err)
	}
}
