// Package digest tells a conversation in plain text: all of it, for a summariser,
// or what of it is worth keeping, found without asking a model.
//
// [Lines] takes messages apart, [Write] and [Parse] spell the lines for a
// summariser and read them back, [Extract] makes a summary of them that is
// never longer than it may be, [Files] tells which files were touched.
//
// Everything here is pure: the same input gives the same output, and no input
// makes it fail.
package digest

import (
	"bytes"
	"encoding/json"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Kind says what a line is.
type Kind string

// The kinds of lines.
const (
	// Said is what the user, the assistant or the system said.
	Said Kind = "said"
	// Thought is what the assistant said to itself.
	Thought Kind = "thought"
	// Call asks for a tool: Name is the tool, Text the arguments as JSON. What
	// the user ran beside the conversation is a call of the user's.
	Call Kind = "call"
	// Result is what a tool answered; Name is the tool.
	Result Kind = "result"
)

// Line is one thing that was said or done.
type Line struct {
	// Role is of the user, the assistant, the system or a tool's result.
	Role firn.Role
	Kind Kind
	// Name is the tool of a call or a result.
	Name string
	// Text is what was said, or the arguments of a call.
	Text string
	// IsError says that a result tells of a failure.
	IsError bool
}

// Lines takes messages apart, in order. What no model may see (hidden
// commands, redacted thinking, roles we do not know) is left out; an image is
// told of in a word.
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
	kind := Said
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

// appendText adds a line unless it says nothing.
func appendText(lines []Line, l Line) []Line {
	if strings.TrimSpace(l.Text) == "" {
		return lines
	}
	return append(lines, l)
}

// appendShell tells of a command that the user ran, as a call and its result.
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

// contentText is the text of a result, with a word for each image.
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

// compactJSON takes the white space out of JSON; what is not JSON stays as it is.
func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
