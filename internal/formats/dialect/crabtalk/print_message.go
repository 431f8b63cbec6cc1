package crabtalk

import (
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// lossFunc is called for each loss in an entry.
type lossFunc func(e *firn.Entry, limit string, dropped bool)

// printMessage writes an entry as a message, if it is sent to the model.
func (p *printer) printMessage(dst []byte, e *firn.Entry, lose lossFunc) []byte {
	switch b := e.Body.(type) {
	case *firn.Message:
		return appendMessage(dst, e, b, lose)
	case *firn.BranchSummary:
		lose(e, limitSpeakers, false)
		return line{role: roleUser, content: "Summary of a branch that this conversation came back from:\n\n" + b.Summary}.append(dst)
	case *firn.CustomMessage:
		lose(e, limitSpeakers, false)
		return line{role: roleUser, content: textOf(e, b.Parts, lose)}.append(dst)
	}
	return dst
}

func appendMessage(dst []byte, e *firn.Entry, m *firn.Message, lose lossFunc) []byte {
	if m.StopReason == firn.StopError || m.StopReason == firn.StopAborted {
		lose(e, limitFailed, true)
		return dst
	}
	lose(e, limitTimes, false)
	l := line{}
	switch m.Role {
	case firn.RoleUser:
		l.role, l.content = roleUser, textOf(e, m.Parts, lose)
	case firn.RoleSystem:
		l.role, l.content = roleSystem, textOf(e, m.Parts, lose)
	case firn.RoleAssistant:
		if l = assistantLine(e, m, lose); l.content == "" && len(l.calls) == 0 {
			lose(e, limitEmpty, true)
			return dst
		}
	case firn.RoleToolResult:
		return appendResults(dst, e, m, lose)
	case firn.RoleShell:
		return appendShell(dst, e, m, lose)
	default:
		lose(e, limitUnknown, true)
		return dst
	}
	l.agent, _ = members(m.Extra).text("agent")
	return l.append(dst)
}

// assistantLine encodes a response as CrabTalk does: reasoning, text and calls.
func assistantLine(e *firn.Entry, m *firn.Message, lose lossFunc) line {
	l := line{role: roleAssistant, content: textOf(e, m.Parts, lose)}
	var thoughts []string
	calls, marked := false, false
	for _, part := range m.Parts {
		switch part := part.(type) {
		case firn.Thinking:
			thoughts = append(thoughts, part.Text)
			marked = marked || part.Signature != ""
		case firn.Text:
			marked = marked || part.Signature != ""
			if calls {
				lose(e, limitParts, false)
			}
		case firn.ToolCall:
			calls = true
			marked = marked || part.Signature != ""
			l.calls = append(l.calls, part)
		}
	}
	l.reasoning = strings.Join(thoughts, "\n")
	if marked {
		lose(e, limitMarks, false)
	}
	if m.Model != "" || m.Provider != "" {
		lose(e, limitModels, false)
	}
	if m.Usage != nil {
		lose(e, limitUsage, false)
	}
	return l
}

// appendResults appends tool results.
func appendResults(dst []byte, e *firn.Entry, m *firn.Message, lose lossFunc) []byte {
	agent, _ := members(m.Extra).text("agent")
	for _, part := range m.Parts {
		result, ok := part.(firn.ToolResult)
		if !ok {
			lose(e, limitParts, false)
			continue
		}
		if result.IsError {
			lose(e, limitErrors, false)
		}
		if len(result.Details) > 0 {
			lose(e, limitMarks, false)
		}
		dst = line{role: roleTool, content: textOf(e, result.Content, lose), name: result.Name, callID: result.CallID, agent: agent}.append(dst)
	}
	return dst
}

// appendShell appends a shell command of the user as a user message.
func appendShell(dst []byte, e *firn.Entry, m *firn.Message, lose lossFunc) []byte {
	for _, part := range m.Parts {
		s, ok := part.(firn.Shell)
		if !ok || s.Hidden {
			lose(e, limitNotes, true)
			continue
		}
		lose(e, limitSpeakers, false)
		text := "Ran `" + s.Command + "`\n" + s.Output
		if s.ExitCode != nil && *s.ExitCode != 0 {
			text += "\n\nExit code: " + strconv.Itoa(*s.ExitCode)
		}
		dst = line{role: roleUser, content: text}.append(dst)
	}
	return dst
}

// textOf joins the texts among parts.
func textOf(e *firn.Entry, parts []firn.Part, lose lossFunc) string {
	var texts []string
	for _, part := range parts {
		switch part := part.(type) {
		case firn.Text:
			texts = append(texts, part.Text)
		case firn.Image:
			lose(e, limitImages, false)
			texts = append(texts, "[image]")
		case firn.OpaquePart:
			lose(e, limitParts, false)
		}
	}
	if len(texts) > 1 {
		lose(e, limitParts, false)
	}
	return strings.Join(texts, "\n")
}

// line is a message in CrabTalk's format. Empty members are omitted.
type line struct {
	role, content, reasoning string
	name, callID             string
	calls                    []firn.ToolCall
	agent                    string
}

// append appends the line with the members in CrabTalk's order.
func (l line) append(dst []byte) []byte {
	dst = rawjson.AppendString(append(dst, `{"role":`...), l.role)
	dst = member(dst, "content", l.content)
	dst = member(dst, "reasoning_content", l.reasoning)
	dst = member(dst, "name", l.name)
	dst = member(dst, "tool_call_id", l.callID)
	for i, call := range l.calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		if call.ID != "" {
			dst = append(rawjson.AppendString(append(dst, `"id":`...), call.ID), ',')
		}
		dst = rawjson.AppendString(append(dst, `"type":"function","function":{"name":`...), call.Name)
		dst = rawjson.AppendString(append(dst, `,"arguments":`...), argumentsText(call.Arguments))
		dst = append(dst, "}}"...)
	}
	if len(l.calls) > 0 {
		dst = append(dst, ']')
	}
	dst = member(dst, "agent", l.agent)
	return append(dst, "}\n"...)
}

func member(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return rawjson.AppendString(dst, value)
}
