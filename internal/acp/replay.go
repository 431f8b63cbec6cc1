package acp

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"firn"
	"firn/client"
	"firn/internal/prose"
	"firn/wire"
)

// replay tells all that was said in a session, in order: the branch of its
// head, also what a compaction stands for.
func (d *desk) replay(ctx context.Context, to sdk.SessionId, id firn.ID) error {
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

// line is what of a line of the log is told; see docs/format.md.
type line struct {
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

// updates tells an entry as the protocol does. What nobody said, and what is
// hidden, is left out.
func updates(e wire.Entry) []sdk.SessionUpdate {
	var all []sdk.SessionUpdate
	if e.Damage != nil { // no one said it: it is told as a thought
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
				all = append(all, sdk.UpdateUserMessage(block))
			}
		}
	case firn.RoleAssistant:
		for _, p := range parts {
			if u, ok := answered(p); ok {
				all = append(all, u)
			}
		}
	case firn.RoleToolResult:
		var texts []string
		for _, p := range parts {
			texts = append(texts, p.Text)
		}
		all = append(all, ended(l.Message.Call, strings.Join(texts, "\n"), l.Message.Failed))
	}
	return all
}

// partsOf are the parts of a message, which may be just a text.
func partsOf(content json.RawMessage) []part {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []part{{Type: "text", Text: text}}
	}
	var parts []part
	_ = json.Unmarshal(content, &parts) // what is odd is left out
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

// answered tells a part of an answer.
func answered(p part) (sdk.SessionUpdate, bool) {
	switch {
	case p.Type == "text" && p.Text != "":
		return sdk.UpdateAgentMessageText(p.Text), true
	case p.Type == "thinking" && p.Thinking != "":
		return sdk.UpdateAgentThoughtText(p.Thinking), true
	case p.Type == "toolCall":
		return started(p.ID, p.Name, p.Arguments, sdk.ToolCallStatusPending), true
	}
	return sdk.SessionUpdate{}, false
}

// started tells that a tool is called.
func started(call, name string, arguments json.RawMessage, status sdk.ToolCallStatus) sdk.SessionUpdate {
	title := prose.OneLine(name+" "+short(arguments), 120)
	options := []sdk.ToolCallStartOpt{sdk.WithStartKind(kindOf(name)), sdk.WithStartStatus(status)}
	var input any
	if json.Unmarshal(arguments, &input) == nil {
		options = append(options, sdk.WithStartRawInput(input))
	}
	return sdk.StartToolCall(sdk.ToolCallId(call), title, options...)
}

// short is the first text among the arguments of a call.
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

// ended tells how a call ended.
func ended(call, text string, failed bool) sdk.SessionUpdate {
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

// kindOf is what kind of tool one is, by the names that ours have.
func kindOf(name string) sdk.ToolKind {
	switch name {
	case "read_file", "list_dir":
		return sdk.ToolKindRead
	case "write_file", "remember":
		return sdk.ToolKindEdit
	case "grep", "recall":
		return sdk.ToolKindSearch
	case "shell":
		return sdk.ToolKindExecute
	}
	return sdk.ToolKindOther
}
