// Package digest converts a conversation to plain text: all of it as input for a model that
// summarizes it, or an extractive summary made without a model.
//
// [Lines] splits messages into lines, [Write] and [Parse] convert lines to text and back,
// [Extract] makes a summary of bounded length, and [Files] returns the files used.
//
// All functions are pure and accept any input.
package digest

import (
	"bytes"
	"encoding/json"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Kind is the kind of a line.
type Kind string

// Kinds of lines.
const (
	// Speech is text of the user, the assistant or the system.
	Speech Kind = "said"
	// Thought is the thinking of the assistant.
	Thought Kind = "thought"
	// Call is a tool call: Name is the tool, Text the arguments as JSON. A command that the
	// user ran is a call of the user.
	Call Kind = "call"
	// Result is the result of a tool call; Name is the tool.
	Result Kind = "result"
)

// Line is a piece of text, a tool call or a tool result.
type Line struct {
	// Role is the user, the assistant, the system or a tool result.
	Role firn.Role
	Kind Kind
	// Name is the tool of a call or a result.
	Name string
	// Text is the text, or the arguments of a call.
	Text string
	// IsError is set if a tool call failed.
	IsError bool
}

// Lines splits messages into lines, in order. Content that models must not see (hidden
// commands, redacted thinking, unknown roles) is left out; an image becomes a placeholder.
func Lines(messages []firn.Message) []Line {
	lines := make([]Line, 0, len(messages))
	for i := range messages {
		lines = appendMessage(lines, &messages[i])
	}
	return lines
}

func appendMessage(lines []Line, m *firn.Message) []Line {
	switch m.Role {
	case firn.RoleUser, firn.RoleAssistant, firn.RoleSystem, firn.RoleShell, firn.RoleToolResult:
	default:
		return lines
	}
	role := m.Role
	if role == firn.RoleShell {
		role = firn.RoleUser
	}
	kind := Speech
	if role == firn.RoleToolResult {
		kind = Result
	}
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.Text:
			lines = appendText(lines, Line{Role: role, Kind: kind, Text: p.Text})
		case firn.Image:
			lines = appendText(lines, Line{Role: role, Kind: kind, Text: imageText(p)})
		case firn.Thinking:
			if !p.Redacted {
				lines = appendText(lines, Line{Role: firn.RoleAssistant, Kind: Thought, Text: p.Text})
			}
		case firn.ToolCall:
			lines = append(lines, Line{Role: firn.RoleAssistant, Kind: Call, Name: p.Name, Text: compactJSON(p.Arguments)})
		case firn.ToolResult:
			lines = append(lines, Line{Role: firn.RoleToolResult, Kind: Result, Name: p.Name, Text: contentText(p.Content), IsError: p.IsError})
		case firn.Shell:
			lines = appendShell(lines, p)
		}
	}
	return lines
}

// appendText adds a line unless it is blank.
func appendText(lines []Line, l Line) []Line {
	if strings.TrimSpace(l.Text) == "" {
		return lines
	}
	return append(lines, l)
}

// appendShell adds a command that the user ran, as a call and its result.
func appendShell(lines []Line, s firn.Shell) []Line {
	if s.Hidden {
		return lines
	}
	arguments := append(rawjson.AppendString([]byte(`{"command":`), s.Command), '}')
	failed := s.Cancelled || s.ExitCode != nil && *s.ExitCode != 0
	return append(lines,
		Line{Role: firn.RoleUser, Kind: Call, Name: "bash", Text: string(arguments)},
		Line{Role: firn.RoleToolResult, Kind: Result, Name: "bash", Text: s.Output, IsError: failed})
}

// contentText returns the text of a result, with a placeholder for each image.
func contentText(parts []firn.Part) string {
	var texts []string
	for _, part := range parts {
		switch p := part.(type) {
		case firn.Text:
			texts = append(texts, p.Text)
		case firn.Image:
			texts = append(texts, imageText(p))
		}
	}
	return strings.Join(texts, "\n")
}

func imageText(i firn.Image) string {
	if i.MimeType == "" {
		return "[image]"
	}
	return "[image: " + i.MimeType + "]"
}

// compactJSON removes white space from JSON. It returns other text unchanged.
func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
