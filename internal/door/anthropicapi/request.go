package anthropicapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// request holds the members of a request that are used, or must be rejected. Sampling
// parameters such as temperature are left to the model.
type request struct {
	Model     string          `json:"model"`
	MaxTokens int64           `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Stream     bool       `json:"stream"`
	Tools      []toolSpec `json:"tools"`
	ToolChoice struct {
		Type string `json:"type"`
	} `json:"tool_choice"`
	Thinking struct {
		Type   string `json:"type"`
		Budget int64  `json:"budget_tokens"`
	} `json:"thinking"`
	Metadata map[string]json.RawMessage `json:"metadata"`

	StopSequences []string        `json:"stop_sequences"`
	OutputFormat  json.RawMessage `json:"output_format"`
	OutputConfig  struct {
		Format json.RawMessage `json:"format"`
	} `json:"output_config"`
	MCPServers []json.RawMessage `json:"mcp_servers"`
	Container  json.RawMessage   `json:"container"`
}

// toolSpec is a tool of the client. Tools that Anthropic runs have another type.
type toolSpec struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

// check rejects unsupported options rather than ignoring them.
func (q *request) check() error {
	switch {
	case len(q.Messages) == 0:
		return conversation.BadRequest("messages", "messages: at least one message is required")
	case !slices.Contains([]string{"", "enabled", "disabled", "adaptive"}, q.Thinking.Type):
		return conversation.BadRequest("thinking", "thinking: unknown type %s", conversation.Quoted(q.Thinking.Type))
	case q.MaxTokens < 0:
		return conversation.BadRequest("max_tokens", "max_tokens: must not be negative")
	case len(q.StopSequences) > 0:
		return conversation.Unsupported("stop_sequences", "stop_sequences: stop sequences are not supported")
	case given(q.OutputFormat), given(q.OutputConfig.Format):
		return conversation.Unsupported("output_format", "output_format: only text output is supported")
	case len(q.MCPServers) > 0:
		return conversation.Unsupported("mcp_servers", "mcp_servers: MCP servers are set in firn's settings, not in a request")
	case given(q.Container):
		return conversation.Unsupported("container", "container: containers are not supported")
	}
	return nil
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// metadata returns the string members of the metadata. The user ID is cut to the part that
// stays the same when a client resumes a conversation: Claude Code adds its session.
func (q *request) metadata() map[string]string {
	all := make(map[string]string)
	for name, raw := range q.Metadata {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			all[name] = s
		}
	}
	if user, ok := all["user_id"]; ok {
		all["user_id"] = stableUser(user)
	}
	return all
}

// stableUser removes the session from a user ID in either of Claude Code's forms:
// user_…_session_…, or a JSON object with a member session_id.
func stableUser(id string) string {
	var members map[string]any
	if json.Unmarshal([]byte(id), &members) == nil && members != nil {
		delete(members, "session_id")
		if data, err := json.Marshal(members); err == nil { // sorted by name
			return string(data)
		}
	}
	if m := claudeUser().FindStringSubmatch(id); m != nil {
		return m[1]
	}
	return id
}

// claudeUser matches the user ID of Claude Code: that of the user and account, and that of
// the session.
var claudeUser = pattern.New(`^(user_[0-9a-f]+_account_[0-9a-f-]*)_session_[0-9a-f-]+$`)

// options returns the options of the turn.
func (q *request) options(who conversation.Choice) (wire.TurnOptions, error) {
	o := wire.TurnOptions{Bare: who.Model != "", MaxTokens: q.MaxTokens, Thinking: q.thinking()}
	for _, x := range q.Tools {
		if x.Type != "" && x.Type != "custom" {
			return o, conversation.Unsupported("tools", "tools: only the client's own tools are supported, not %s", conversation.Quoted(x.Type))
		}
		o.Tools = append(o.Tools, wire.ToolSpec{Name: x.Name, Description: x.Description, Schema: x.Schema})
	}
	if err := conversation.CheckTools(o.Tools); err != nil {
		return o, err
	}
	switch q.ToolChoice.Type {
	case "", "auto":
	case "none":
		o.Tools, o.NoTools = nil, true
	default:
		return o, conversation.Unsupported("tool_choice", "tool_choice: must be auto or none, not %s", conversation.Quoted(q.ToolChoice.Type))
	}
	return o, nil
}

// wantsThinking reports whether the client asked for the model's thinking.
func (q *request) wantsThinking() bool {
	return q.Thinking.Type == "enabled" || q.Thinking.Type == "adaptive"
}

// thinking returns the thinking level that fits the budget of the request; empty leaves it
// to the agent.
func (q *request) thinking() string {
	switch {
	case q.Thinking.Type == "disabled":
		return "off"
	case q.Thinking.Type != "enabled" || q.Thinking.Budget <= 0:
		return ""
	case q.Thinking.Budget < 4096:
		return "low"
	case q.Thinking.Budget < 16384:
		return "medium"
	}
	return "high"
}

// block is a content block.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// ID, Name and Input belong to a tool_use.
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	// ToolUseID, Content and IsError belong to a tool_result.
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	// Source is that of an image or document.
	Source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

// blocks reads content: a string, or blocks.
func blocks(raw json.RawMessage) ([]block, error) {
	if !given(raw) {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []block{{Type: "text", Text: text}}, nil
	}
	var all []block
	if err := rawjson.Unmarshal(raw, &all, true); err != nil {
		return nil, errors.New("the content is neither a string nor a list of blocks")
	}
	return all, nil
}

// transcript reads the conversation of the request.
func (q *request) transcript() (*conversation.Transcript, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	t := &conversation.Transcript{}
	if err := addSystem(t, q.System); err != nil {
		return nil, conversation.BadRequest("system", "system: %v", err)
	}
	for i, m := range q.Messages {
		var err error
		switch m.Role {
		case "user":
			err = addUser(t, m.Content)
		case "assistant":
			err = addAssistant(t, m.Content)
		case "system":
			err = addSystem(t, m.Content)
		default:
			err = fmt.Errorf("unknown role %s", conversation.Quoted(m.Role))
		}
		if err != nil {
			return nil, conversation.BadRequest("messages", "messages.%d: %v", i, err)
		}
	}
	t.NameResults()
	return t, nil
}

// addSystem adds system instructions.
func addSystem(t *conversation.Transcript, raw json.RawMessage) error {
	all, err := blocks(raw)
	for _, b := range all {
		if b.Type != "text" {
			return fmt.Errorf("only text is allowed, not %s", conversation.Quoted(b.Type))
		}
		t.System = append(t.System, b.Text)
	}
	return err
}

// addUser adds a message of the user. Tool results become messages of their own.
func addUser(t *conversation.Transcript, raw json.RawMessage) error {
	all, err := blocks(raw)
	if err != nil {
		return err
	}
	var parts []firn.Part
	for _, b := range all {
		if b.Type != "tool_result" {
			more, err := content(b)
			if err != nil {
				return err
			}
			parts = append(parts, more...)
			continue
		}
		inner, err := blocks(b.Content)
		if err != nil {
			return err
		}
		result := firn.ToolResult{CallID: b.ToolUseID, IsError: b.IsError}
		for _, x := range inner {
			more, err := content(x)
			if err != nil {
				return err
			}
			result.Content = append(result.Content, more...)
		}
		t.Add(firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{result}})
	}
	if len(parts) > 0 {
		t.Add(firn.Message{Role: firn.RoleUser, Parts: parts})
	}
	return nil
}

// addAssistant adds an answer. Its thinking is left out: it is only useful to the model that
// produced it, and is in the log.
func addAssistant(t *conversation.Transcript, raw json.RawMessage) error {
	all, err := blocks(raw)
	if err != nil {
		return err
	}
	m := firn.Message{Role: firn.RoleAssistant}
	for _, b := range all {
		switch b.Type {
		case "text":
			m.Parts = append(m.Parts, conversation.TextPart(b.Text)...)
		case "tool_use":
			if !isObject(b.Input) {
				b.Input = json.RawMessage("{}")
			}
			m.Parts = append(m.Parts, firn.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input})
		case "thinking", "redacted_thinking":
		default:
			return fmt.Errorf("unsupported block type %s", conversation.Quoted(b.Type))
		}
	}
	t.Add(m)
	return nil
}

func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// content reads a block of a user's message or of a tool result.
func content(b block) ([]firn.Part, error) {
	switch {
	case b.Type == "text":
		return conversation.TextPart(b.Text), nil
	case b.Type == "image" && b.Source.Type == "base64":
		return imagePart(b.Source.MediaType, b.Source.Data)
	case b.Type == "image":
		return nil, errors.New("images must be sent as base64; URLs and files are not fetched")
	case b.Type == "document" && b.Source.Type == "text":
		return conversation.TextPart(b.Source.Data), nil
	case b.Type == "document":
		return nil, errors.New("only documents of plain text are supported")
	}
	return nil, fmt.Errorf("unsupported block type %s", conversation.Quoted(b.Type))
}

// imagePart checks an image.
func imagePart(kind, data string) ([]firn.Part, error) {
	if !strings.HasPrefix(kind, "image/") {
		return nil, errors.New("the media type of an image must begin with image/")
	}
	if _, err := base64.StdEncoding.DecodeString(data); err != nil {
		return nil, errors.New("an image is not valid base64")
	}
	return []firn.Part{firn.Image{MimeType: kind, Data: data}}, nil
}
