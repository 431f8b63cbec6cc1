package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// This file rejects requests as the API does, according to its documentation and error
// messages. It shares no code with the package under test.

// wireRequest is a request as the API reads it: unknown members are rejected with "Extra
// inputs are not permitted".
type wireRequest struct {
	Model        string           `json:"model"`
	Tools        []wireTool       `json:"tools"`
	System       []wireBlock      `json:"system"`
	Messages     []wireMessage    `json:"messages"`
	MaxTokens    *int64           `json:"max_tokens"`
	Thinking     *wireThinking    `json:"thinking"`
	OutputConfig *json.RawMessage `json:"output_config"`
	Stream       *bool            `json:"stream"`
}

type wireTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *wireMark       `json:"cache_control"`
}

type wireMark struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

type wireThinking struct {
	Type         string           `json:"type"`
	BudgetTokens *int64           `json:"budget_tokens"`
	Display      string           `json:"display"`
	BlockBinding *json.RawMessage `json:"block_binding"`
}

type wireMessage struct {
	Role    string      `json:"role"`
	Content []wireBlock `json:"content"`
}

type wireBlock struct {
	Type         string          `json:"type"`
	Text         *string         `json:"text"`
	Thinking     *string         `json:"thinking"`
	Signature    *string         `json:"signature"`
	Data         *string         `json:"data"`
	Source       *wireSource     `json:"source"`
	ID           *string         `json:"id"`
	Name         *string         `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    *string         `json:"tool_use_id"`
	Content      []wireBlock     `json:"content"`
	IsError      *bool           `json:"is_error"`
	CacheControl *wireMark       `json:"cache_control"`
}

type wireSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

func parseRequest(body []byte) (wireRequest, error) {
	var req wireRequest
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return req, err
	}
	if _, err := d.Token(); err != io.EOF {
		return req, errors.New("there is text after the request")
	}
	return req, nil
}

// validate returns the reason why the API would reject a request for an answer, or nil.
func validate(body []byte, model generation) error {
	req, err := parseRequest(body)
	if err != nil {
		return err
	}
	if req.Model == "" || req.MaxTokens == nil || *req.MaxTokens < 1 || req.Stream == nil || !*req.Stream {
		return errors.New("model, max_tokens, stream: field required")
	}
	v := &validator{req: req, model: model, ids: map[string]bool{}}
	return errors.Join(v.thinking(), v.head(), v.messages(), v.marks())
}

type validator struct {
	req   wireRequest
	model generation
	ids   map[string]bool
	seen  []*wireMark
}

func (v *validator) thinking() error {
	t := v.req.Thinking
	if t == nil {
		return nil
	}
	switch t.Type {
	case "enabled":
		if v.model.xhigh {
			return errors.New(`"thinking.type.enabled" is not supported for this model`)
		}
		if t.BudgetTokens == nil || *t.BudgetTokens < 1024 {
			return errors.New("thinking.enabled.budget_tokens: should be greater than or equal to 1024")
		}
		if *t.BudgetTokens >= *v.req.MaxTokens {
			return errors.New("`max_tokens` must be greater than `thinking.budget_tokens`")
		}
	case "adaptive":
		if !v.model.adaptive {
			return errors.New("adaptive thinking is not supported on this model")
		}
		if t.BudgetTokens != nil {
			return errors.New("budget_tokens: Extra inputs are not permitted")
		}
		if t.BlockBinding != nil && !v.model.bound {
			return errors.New("block_binding: Extra inputs are not permitted")
		}
	default:
		return fmt.Errorf("thinking.type %q", t.Type)
	}
	return nil
}

var legalToolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (v *validator) head() error {
	names := map[string]bool{}
	for _, tool := range v.req.Tools {
		var schema struct {
			Type string `json:"type"`
		}
		if !legalToolName.MatchString(tool.Name) || names[tool.Name] {
			return fmt.Errorf("tools.name %q", tool.Name)
		}
		if json.Unmarshal(tool.InputSchema, &schema) != nil || schema.Type != "object" {
			return fmt.Errorf("tools.input_schema.type: Field required (%s)", tool.InputSchema)
		}
		names[tool.Name] = true
		v.mark(tool.CacheControl)
	}
	for _, block := range v.req.System {
		if block.Type != "text" || block.Text == nil || strings.TrimSpace(*block.Text) == "" {
			return errors.New("system: text content blocks must be non-empty")
		}
		v.mark(block.CacheControl)
	}
	return nil
}

func (v *validator) messages() error {
	if len(v.req.Messages) == 0 {
		return errors.New("messages: at least one message is required")
	}
	for i, m := range v.req.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("messages.%d: roles must alternate, found %s", i, m.Role)
		}
		if len(m.Content) == 0 {
			return fmt.Errorf("messages.%d: content must not be empty", i)
		}
		var err error
		if m.Role == "assistant" {
			err = v.assistant(i, m)
		} else {
			err = v.user(i, m)
		}
		if err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if v.req.Messages[len(v.req.Messages)-1].Role == "assistant" {
		return errors.New("this model does not support assistant message prefill")
	}
	return v.loop()
}

func (v *validator) assistant(i int, m wireMessage) error {
	for j, b := range m.Content {
		if err := v.block(b, true, j == len(m.Content)-1); err != nil {
			return fmt.Errorf("content.%d: %w", j, err)
		}
	}
	calls := calls(m)
	if len(calls) == 0 {
		return nil
	}
	if i+1 >= len(v.req.Messages) {
		return fmt.Errorf("`tool_use` ids were found without `tool_result` blocks immediately after: %v", calls)
	}
	answered := results(v.req.Messages[i+1])
	for _, id := range calls {
		if !slices.Contains(answered, id) {
			return fmt.Errorf("`tool_use` ids were found without `tool_result` blocks immediately after: %s", id)
		}
	}
	return nil
}

func (v *validator) user(i int, m wireMessage) error {
	spoken := false
	var asked []string
	if i > 0 {
		asked = calls(v.req.Messages[i-1])
	}
	for j, b := range m.Content {
		if err := v.block(b, false, false); err != nil {
			return fmt.Errorf("content.%d: %w", j, err)
		}
		if b.Type != "tool_result" {
			spoken = true
			continue
		}
		if spoken {
			return fmt.Errorf("content.%d: tool_result blocks must come first", j)
		}
		at := slices.Index(asked, *b.ToolUseID)
		if at < 0 {
			return fmt.Errorf("content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", j, *b.ToolUseID)
		}
		asked = slices.Delete(asked, at, at+1)
	}
	return nil
}

func calls(m wireMessage) (ids []string) {
	for _, b := range m.Content {
		if b.Type == "tool_use" && b.ID != nil {
			ids = append(ids, *b.ID)
		}
	}
	return ids
}

func results(m wireMessage) (ids []string) {
	for _, b := range m.Content {
		if b.Type == "tool_result" && b.ToolUseID != nil {
			ids = append(ids, *b.ToolUseID)
		}
	}
	return ids
}

// block checks one block of a message.
func (v *validator) block(b wireBlock, assistant, last bool) error {
	v.mark(b.CacheControl)
	if err := v.members(b); err != nil {
		return err
	}
	switch b.Type {
	case "text":
		if b.Text == nil || strings.TrimSpace(*b.Text) == "" {
			return errors.New("text content blocks must be non-empty")
		}
	case "thinking", "redacted_thinking":
		return v.thought(b, assistant, last)
	case "tool_use":
		if !assistant {
			return errors.New("a `tool_use` of the user")
		}
		return v.call(b)
	case "image", "tool_result":
		if assistant {
			return fmt.Errorf("a %s of the assistant", b.Type)
		}
		if b.Type == "image" {
			return b.Source.check()
		}
		for _, inner := range b.Content {
			if inner.CacheControl != nil || inner.Type != "text" && inner.Type != "image" {
				return fmt.Errorf("a tool_result with a %s in it", inner.Type)
			}
			if err := v.block(inner, false, false); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("input tag %q found does not match any of the expected tags", b.Type)
	}
	return nil
}

// members checks that a block has the members of its type and no others.
func (v *validator) members(b wireBlock) error {
	has := map[string]bool{
		"text": b.Text != nil, "thinking": b.Thinking != nil, "signature": b.Signature != nil, "data": b.Data != nil, "source": b.Source != nil,
		"id": b.ID != nil, "name": b.Name != nil, "input": b.Input != nil, "tool_use_id": b.ToolUseID != nil, "content": b.Content != nil, "is_error": b.IsError != nil,
	}
	must := map[string][]string{
		"text": {"text"}, "image": {"source"}, "thinking": {"thinking", "signature"}, "redacted_thinking": {"data"},
		"tool_use": {"id", "name", "input"}, "tool_result": {"tool_use_id", "content"},
	}[b.Type]
	for name, there := range has {
		switch wanted := slices.Contains(must, name); {
		case wanted && !there:
			return fmt.Errorf("%s.%s: Field required", b.Type, name)
		case !wanted && there && !(b.Type == "tool_result" && name == "is_error"):
			return fmt.Errorf("%s.%s: Extra inputs are not permitted", b.Type, name)
		}
	}
	return nil
}

func (v *validator) thought(b wireBlock, assistant, last bool) error {
	switch {
	case !assistant:
		return errors.New("thinking of the user")
	case b.CacheControl != nil:
		return errors.New("cache_control cannot be set on thinking blocks")
	case last:
		return errors.New("the final block in an assistant message cannot be `thinking`")
	case b.Type == "thinking" && *b.Signature == "" || b.Type == "redacted_thinking" && *b.Data == "":
		return errors.New("invalid `signature` in `thinking` block")
	}
	return nil
}

func (v *validator) call(b wireBlock) error {
	var input map[string]json.RawMessage
	if !legalToolName.MatchString(*b.ID) || v.ids[*b.ID] {
		return fmt.Errorf("`tool_use` ids must be unique and match the pattern: %q", *b.ID)
	}
	v.ids[*b.ID] = true
	if !legalToolName.MatchString(*b.Name) {
		return fmt.Errorf("tool_use.name %q", *b.Name)
	}
	if json.Unmarshal(b.Input, &input) != nil || input == nil {
		return fmt.Errorf("tool_use.input: Input should be a valid dictionary, found %.80s", b.Input)
	}
	return nil
}

func (s *wireSource) check() error {
	if s.Type != "base64" || !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, s.MediaType) {
		return fmt.Errorf("image.source %s %s", s.Type, s.MediaType)
	}
	if raw, err := base64.StdEncoding.DecodeString(s.Data); err != nil || len(raw) == 0 {
		return errors.New("could not process image")
	}
	return nil
}

// loop checks the last turn of the assistant, which begins after the last message of the
// user. With a thinking budget it must begin with thinking; without one it must contain
// none.
func (v *validator) loop() error {
	messages := v.req.Messages
	first := len(messages) - 1
	for first > 1 && len(results(messages[first])) > 0 {
		first -= 2
	}
	if first++; first >= len(messages) {
		return nil
	}
	begin := messages[first].Content[0].Type
	if t := v.req.Thinking; t != nil && t.Type == "enabled" && begin != "thinking" && begin != "redacted_thinking" {
		return fmt.Errorf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`", first, begin)
	}
	for i := first; i < len(messages) && v.req.Thinking == nil; i++ {
		for j, b := range messages[i].Content {
			if strings.HasSuffix(b.Type, "thinking") {
				return fmt.Errorf("messages.%d.content.%d: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`", i, j)
			}
		}
	}
	return nil
}

func (v *validator) mark(m *wireMark) {
	if m != nil {
		v.seen = append(v.seen, m)
	}
}

func (v *validator) marks() error {
	if n := len(v.seen); n > 4 {
		return fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", n)
	}
	for _, m := range v.seen {
		if m.Type != "ephemeral" || m.TTL != "" && m.TTL != "5m" && m.TTL != "1h" || m.TTL != v.seen[0].TTL {
			return fmt.Errorf("cache_control %+v", *m)
		}
	}
	return nil
}
