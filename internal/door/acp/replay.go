package acp

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// replay sends the history of a session in order: the branch of its head, including
// compacted messages.
func (d *agent) replay(ctx context.Context, to sdk.SessionId, id firn.ID) error {
	for e, err := range d.c.Entries(ctx, id, client.EntryQuery{View: wire.ViewBranch}) {
		if err != nil {
			return err
		}
		for _, u := range updates(e) {
			if err := d.update(ctx, to, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// line holds the members of a log line that are sent; see docs/format.md.
type line struct {
	ID      firn.EntryID `json:"id"`
	Message *struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Call    string          `json:"toolCallId"`
		Failed  bool            `json:"isError"`
	} `json:"message"`
}

// part is a part of a message.
type part struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	MimeType  string          `json:"mimeType"`
	Data      string          `json:"data"`
}

// updates converts an entry to session updates. Hidden entries and entries other than
// messages are left out.
func updates(e wire.Entry) []sdk.SessionUpdate {
	var all []sdk.SessionUpdate
	if e.Damage != nil { // shown as a thought, since it is not a message
		all = append(all, sdk.UpdateAgentThoughtText(prose.Damage(*e.Damage)))
	}
	var l line
	if json.Unmarshal(e.Line, &l) != nil || l.Message == nil || e.Out == "tombstoned" {
		return all
	}
	parts := partsOf(l.Message.Content)
	switch firn.Role(l.Message.Role) {
	case firn.RoleUser:
		for _, p := range parts {
			if block, ok := blockOf(p); ok {
				all = append(all, ofMessage(sdk.UpdateUserMessage(block), l.ID))
			}
		}
	case firn.RoleAssistant:
		for _, p := range parts {
			if u, ok := answerUpdate(p); ok {
				all = append(all, ofMessage(u, l.ID))
			}
		}
	case firn.RoleToolResult:
		var texts []string
		for _, p := range parts {
			texts = append(texts, p.Text)
		}
		all = append(all, callEnded(l.Message.Call, strings.Join(texts, "\n"), l.Message.Failed))
	}
	return all
}

// partsOf returns the parts of a message, whose content may be a plain string.
func partsOf(content json.RawMessage) []part {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []part{{Type: "text", Text: text}}
	}
	var parts []part
	_ = json.Unmarshal(content, &parts) // invalid content is left out
	return parts
}

func blockOf(p part) (sdk.ContentBlock, bool) {
	switch {
	case p.Type == "text" && p.Text != "":
		return sdk.TextBlock(p.Text), true
	case p.Type == "image" && p.Data != "":
		return sdk.ImageBlock(p.Data, p.MimeType), true
	}
	return sdk.ContentBlock{}, false
}

// answerUpdate converts a part of an answer.
func answerUpdate(p part) (sdk.SessionUpdate, bool) {
	switch {
	case p.Type == "text" && p.Text != "":
		return sdk.UpdateAgentMessageText(p.Text), true
	case p.Type == "thinking" && p.Thinking != "":
		return sdk.UpdateAgentThoughtText(p.Thinking), true
	case p.Type == "toolCall":
		return callStarted(p.ID, p.Name, p.Arguments, sdk.ToolCallStatusPending), true
	}
	return sdk.SessionUpdate{}, false
}

// callStarted returns the update for the start of a tool call.
func callStarted(call, name string, arguments json.RawMessage, status sdk.ToolCallStatus) sdk.SessionUpdate {
	title := prose.OneLine(name+" "+short(arguments), 120)
	options := []sdk.ToolCallStartOpt{sdk.WithStartKind(kindOf(name)), sdk.WithStartStatus(status)}
	var input any
	if json.Unmarshal(arguments, &input) == nil {
		options = append(options, sdk.WithStartRawInput(input))
	}
	return sdk.StartToolCall(sdk.ToolCallId(call), title, options...)
}

// short returns the first string among the arguments of a call.
func short(arguments json.RawMessage) string {
	var members map[string]any
	if json.Unmarshal(arguments, &members) != nil {
		return ""
	}
	for _, name := range []string{"path", "command", "pattern", "query", "expression"} {
		if text, ok := members[name].(string); ok {
			return text
		}
	}
	return ""
}

// callEnded returns the update for the end of a tool call.
func callEnded(call, text string, failed bool) sdk.SessionUpdate {
	status := sdk.ToolCallStatusCompleted
	if failed {
		status = sdk.ToolCallStatusFailed
	}
	options := []sdk.ToolCallUpdateOpt{sdk.WithUpdateStatus(status)}
	if text != "" {
		options = append(options, sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))}))
	}
	return sdk.UpdateToolCall(sdk.ToolCallId(call), options...)
}

// kindOf returns the kind of a tool, by the names of firn's own tools.
func kindOf(name string) sdk.ToolKind {
	switch name {
	case "read_file", "list_dir", "shell_output":
		return sdk.ToolKindRead
	case "write_file", "edit_file", "remember":
		return sdk.ToolKindEdit
	case "grep", "glob", "recall":
		return sdk.ToolKindSearch
	case "shell", "shell_kill":
		return sdk.ToolKindExecute
	case "web_fetch":
		return sdk.ToolKindFetch
	}
	return sdk.ToolKindOther
}
