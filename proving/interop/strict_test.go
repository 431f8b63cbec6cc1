package interop

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"firn.dev"
)

// refusal is a request error in the form of a provider.
type refusal struct {
	message string
	// param and code are members of OpenAI's errors.
	param, code string
}

func (r *refusal) Error() string { return r.message }

func refuse(format string, args ...any) *refusal {
	return &refusal{message: fmt.Sprintf(format, args...)}
}

func refuseParam(param, code, format string, args ...any) *refusal {
	return &refusal{message: fmt.Sprintf(format, args...), param: param, code: code}
}

// writeAnthropic responds like the Messages API: status 400 and an error object with a type
// and a request ID.
func (r *refusal) writeAnthropic(w http.ResponseWriter) {
	id := "req_" + string(firn.NewID())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", id)
	w.WriteHeader(http.StatusBadRequest)
	json.NewEncoder(w).Encode(map[string]any{
		"type": "error", "request_id": id,
		"error": map[string]any{"type": "invalid_request_error", "message": r.message},
	})
}

// writeOpenAI responds like both APIs of OpenAI.
func (r *refusal) writeOpenAI(w http.ResponseWriter) {
	nullable := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": r.message, "type": "invalid_request_error", "param": nullable(r.param), "code": nullable(r.code),
	}})
}

// The maximum lengths of call IDs.
const (
	maxCallID     = 64
	maxChatCallID = 40
)

var (
	legalID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	legalTool = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// isObject reports whether JSON is an object.
func isObject(raw []byte) bool {
	var object map[string]any
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// pictures maps the supported image types to the first bytes of their data.
var pictures = map[string]string{"image/png": "\x89PNG", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF"}

// isPicture reports whether base64 data is an image of a type.
func isPicture(kind, data string) bool {
	plain, err := base64.StdEncoding.DecodeString(data)
	return err == nil && pictures[kind] != "" && strings.HasPrefix(string(plain), pictures[kind])
}

// isPictureURL reports whether a URL is an image, by its address or its data.
func isPictureURL(url string) bool {
	if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		return true
	}
	kind, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	return ok && isPicture(kind, data)
}

// strictMessages checks a request as Anthropic's Messages API does.
func strictMessages(request map[string]json.RawMessage) *refusal {
	var messages []strictMessage
	if err := json.Unmarshal(request["messages"], &messages); err != nil {
		return refuse("messages: Input should be a valid list")
	}
	if len(messages) == 0 {
		return refuse("messages: at least one message is required")
	}
	if messages[0].Role != "user" {
		return refuse("messages: first message must use the \"user\" role")
	}
	c := anthropicCheck{ids: make(map[string]bool)}
	for i, m := range messages {
		if err := c.message(i, m); err != nil {
			return err
		}
	}
	if err := c.turns(); err != nil {
		return err
	}
	return strictTools(request["tools"], "tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")
}

// strictTools checks the names of the tools in a request.
func strictTools(raw json.RawMessage, message string) *refusal {
	var tools []struct {
		Name     *string `json:"name"`
		Function *struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if raw != nil && json.Unmarshal(raw, &tools) != nil {
		return refuse("tools: Input should be a valid list")
	}
	for i, tool := range tools {
		if tool.Name != nil && !legalTool.MatchString(*tool.Name) || tool.Function != nil && !legalTool.MatchString(tool.Function.Name) {
			return refuse(message, i)
		}
	}
	return nil
}

// strictMessage is a message of the Messages API.
type strictMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// strictBlock is a part of its content.
type strictBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	Thinking  *string         `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Source    *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
}

// anthropicCheck checks the messages of a request.
type anthropicCheck struct {
	ids map[string]bool
	// merged are the messages; consecutive ones of the same role are merged.
	merged []mergedTurn
}

// mergedTurn is the merged content of consecutive messages of one role.
type mergedTurn struct {
	role          string
	at            int
	calls         []string
	results       []string
	resultsBehind bool
	other         bool
}

func (c *anthropicCheck) message(i int, m strictMessage) *refusal {
	if m.Role == "system" && i > 0 { // Claude Code sends updates in this form; they are not part of a turn
		return nil
	}
	if m.Role != "user" && m.Role != "assistant" {
		return refuse("messages.%d.role: Input should be 'user' or 'assistant'", i)
	}
	all, err := strictBlocks(m.Content)
	if err != nil {
		return refuse("messages.%d.content: Input should be a valid list", i)
	}
	if len(all) == 0 {
		return refuse("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
	}
	if n := len(c.merged); n == 0 || c.merged[n-1].role != m.Role {
		c.merged = append(c.merged, mergedTurn{role: m.Role, at: i})
	}
	turn := &c.merged[len(c.merged)-1]
	for k, b := range all {
		if err := c.block(fmt.Sprintf("messages.%d.content.%d", i, k), m.Role, b); err != nil {
			return err
		}
		switch b.Type {
		case "tool_use":
			turn.calls = append(turn.calls, b.ID)
		case "tool_result":
			turn.results = append(turn.results, b.ToolUseID)
			turn.resultsBehind = turn.resultsBehind || turn.other
		default:
			turn.other = true
		}
	}
	return nil
}

// strictBlocks decodes content, which may be a string.
func strictBlocks(content json.RawMessage) ([]strictBlock, error) {
	var text string
	if json.Unmarshal(content, &text) == nil && len(content) > 0 && content[0] == '"' {
		if text == "" {
			return nil, nil
		}
		return []strictBlock{{Type: "text", Text: &text}}, nil
	}
	var all []strictBlock
	err := json.Unmarshal(content, &all)
	return all, err
}

// block checks a part of the content and its role.
func (c *anthropicCheck) block(at, role string, b strictBlock) *refusal {
	switch {
	case b.Type == "text" && (b.Text == nil || strings.TrimSpace(*b.Text) == ""):
		return refuse("messages: text content blocks must be non-empty (%s)", at)
	case b.Type == "text":
		return nil
	case b.Type == "image" || b.Type == "document":
		return c.source(at, b)
	case role == "assistant" && b.Type == "thinking":
		if b.Thinking == nil || b.Signature == "" {
			return refuse("%s.thinking.signature: Field required", at)
		}
		return nil
	case role == "assistant" && b.Type == "redacted_thinking":
		if b.Data == "" {
			return refuse("%s.redacted_thinking.data: Field required", at)
		}
		return nil
	case role == "assistant" && b.Type == "tool_use":
		return c.call(at, b)
	case role == "user" && b.Type == "tool_result":
		return c.result(at, b)
	}
	return refuse("%s: Input tag '%s' found using 'type' does not match any of the expected tags for the role %s", at, b.Type, role)
}

// source checks an image or a document.
func (c *anthropicCheck) source(at string, b strictBlock) *refusal {
	switch {
	case b.Source == nil:
		return refuse("%s.%s.source: Field required", at, b.Type)
	case b.Source.Type == "url" && b.Source.URL != "", b.Type == "document" && b.Source.Type == "text" && b.Source.Data != "":
		return nil
	case b.Source.Type != "base64":
		return refuse("%s.%s.source: Input tag '%s' found using 'type' does not match any of the expected tags", at, b.Type, b.Source.Type)
	case b.Source.Data == "":
		return refuse("%s.%s.source.base64.data: String should have at least 1 character", at, b.Type)
	case b.Type == "image" && pictures[b.Source.MediaType] == "":
		return refuse("%s.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", at)
	case b.Type == "image" && !isPicture(b.Source.MediaType, b.Source.Data):
		return refuse("%s.image.source.base64.data: Could not process image", at)
	case b.Type == "document" && b.Source.MediaType != "application/pdf":
		return refuse("%s.document.source.base64.media_type: Input should be 'application/pdf'", at)
	}
	return nil
}

// call checks a tool call.
func (c *anthropicCheck) call(at string, b strictBlock) *refusal {
	switch {
	case !legalID.MatchString(b.ID):
		return refuse("%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
	case len(b.ID) > maxCallID:
		return refuse("%s.tool_use.id: String should have at most %d characters", at, maxCallID)
	case c.ids[b.ID]:
		return refuse("messages: `tool_use` ids must be unique")
	case !legalTool.MatchString(b.Name):
		return refuse("%s.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'", at)
	case !isObject(b.Input):
		return refuse("%s.tool_use.input: Input should be a valid dictionary", at)
	}
	c.ids[b.ID] = true
	return nil
}

// result checks the result of a call.
func (c *anthropicCheck) result(at string, b strictBlock) *refusal {
	if !legalID.MatchString(b.ToolUseID) {
		return refuse("%s.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
	}
	if b.Content == nil {
		return nil
	}
	inner, err := strictBlocks(b.Content)
	if err != nil {
		return refuse("%s.tool_result.content: Input should be a valid list", at)
	}
	for i, part := range inner {
		if part.Type != "text" && part.Type != "image" && part.Type != "document" {
			return refuse("%s.tool_result.content.%d: Input tag '%s' found using 'type' does not match any of the expected tags", at, i, part.Type)
		}
		if err := c.block(fmt.Sprintf("%s.tool_result.content.%d", at, i), "user", part); err != nil {
			return err
		}
	}
	return nil
}

// turns checks that every call has one result, in the next turn and before all other
// content.
func (c *anthropicCheck) turns() *refusal {
	for i, turn := range c.merged {
		var before, after []string
		if i > 0 {
			before = c.merged[i-1].calls
		}
		if i+1 < len(c.merged) {
			after = c.merged[i+1].results
		}
		for _, id := range turn.calls {
			if !slices.Contains(after, id) || c.merged[i+1].resultsBehind {
				return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", turn.at, id)
			}
		}
		for k, id := range turn.results {
			if !slices.Contains(before, id) {
				return refuse("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", turn.at, k, id)
			}
			if slices.Contains(turn.results[:k], id) {
				return refuse("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", turn.at, k, id)
			}
		}
	}
	return nil
}
