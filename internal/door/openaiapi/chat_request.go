package openaiapi

import (
	"encoding/json"

	"firn.dev"
	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// chatRequest holds the members of a chat completion request that are used, or must be
// rejected. Sampling parameters such as temperature are left to the model.
type chatRequest struct {
	Model               string            `json:"model"`
	Messages            []chatMessage     `json:"messages"`
	Stream              bool              `json:"stream"`
	StreamOptions       streamOptions     `json:"stream_options"`
	Tools               []chatTool        `json:"tools"`
	ToolChoice          json.RawMessage   `json:"tool_choice"`
	MaxTokens           int64             `json:"max_tokens"`
	MaxCompletionTokens int64             `json:"max_completion_tokens"`
	User                string            `json:"user"`
	Metadata            map[string]string `json:"metadata"`

	Store          *bool           `json:"store"`
	N              *int            `json:"n"`
	Stop           json.RawMessage `json:"stop"`
	Logprobs       bool            `json:"logprobs"`
	ResponseFormat struct {
		Type       string       `json:"type"`
		JSONSchema schemaFormat `json:"json_schema"`
	} `json:"response_format"`
	Modalities []string        `json:"modalities"`
	Functions  json.RawMessage `json:"functions"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// chatMessage is a message of the request.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []chatCall      `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id"`
}

// chatCall is a function call.
type chatCall struct {
	// Index is used in streams only.
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// check rejects unsupported options rather than ignoring them.
func (q *chatRequest) check() error {
	switch {
	case q.N != nil && *q.N != 1:
		return conversation.Unsupported("n", "only one choice is supported, not %d", *q.N)
	case q.Logprobs:
		return conversation.Unsupported("logprobs", "log probabilities are not supported")
	case len(q.Modalities) > 0 && (len(q.Modalities) > 1 || q.Modalities[0] != "text"):
		return conversation.Unsupported("modalities", "only text output is supported")
	case given(q.Functions):
		return conversation.Unsupported("functions", "functions are deprecated; use tools")
	case q.MaxTokens < 0 || q.MaxCompletionTokens < 0:
		return conversation.BadRequest("max_completion_tokens", "the maximum number of tokens is negative")
	case len(q.Messages) == 0:
		return conversation.BadRequest("messages", "missing messages")
	}
	return nil
}

func given(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "[]"
}

// terms returns the terms of the turn.
func (q *chatRequest) terms(who conversation.Choice) (wire.TurnOptions, error) {
	t := wire.TurnOptions{Bare: who.Model != "", MaxTokens: max(q.MaxTokens, q.MaxCompletionTokens)}
	var err error
	if t.Stop, err = stopSequences(q.Stop); err != nil {
		return t, err
	}
	if t.Format, err = answerFormat(chatFormatParam, q.ResponseFormat.Type, q.ResponseFormat.JSONSchema); err != nil {
		return t, err
	}
	for _, x := range q.Tools {
		if x.Type != "function" {
			return t, conversation.Unsupported("tools", "only function tools are supported, not %s", conversation.Quoted(x.Type))
		}
		t.Tools = append(t.Tools, wire.ToolSpec{Name: x.Function.Name, Description: x.Function.Description, Schema: x.Function.Parameters})
	}
	if err := conversation.CheckTools(t.Tools); err != nil {
		return t, err
	}
	return t, chooseTools(&t, q.ToolChoice)
}

// chooseTools applies the client's tool_choice.
func chooseTools(t *wire.TurnOptions, choice json.RawMessage) error {
	var word string
	switch _ = json.Unmarshal(choice, &word); {
	case !given(choice), word == "auto":
		return nil
	case word == "none":
		t.Tools, t.NoTools = nil, true
		return nil
	}
	return conversation.Unsupported("tool_choice", "tool_choice must be auto or none")
}

// talk reads the conversation of the request.
func (q *chatRequest) talk() (*conversation.Transcript, error) {
	t := &conversation.Transcript{}
	for i, m := range q.Messages {
		parts, err := contentParts(m.Content)
		if err != nil {
			return nil, conversation.BadRequest("messages", "message %d: %v", i+1, err)
		}
		switch m.Role {
		case "system", "developer":
			t.System = append(t.System, firn.JoinText(parts))
		case "user":
			t.Add(firn.Message{Role: firn.RoleUser, Parts: parts})
		case "assistant":
			for _, c := range m.ToolCalls {
				parts = append(parts, firn.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: arguments(c.Function.Arguments)})
			}
			t.Add(firn.Message{Role: firn.RoleAssistant, Parts: parts})
		case "tool":
			t.Add(conversation.Result(m.ToolCallID, parts))
		default:
			return nil, conversation.BadRequest("messages", "message %d has the unknown role %s", i+1, conversation.Quoted(m.Role))
		}
	}
	t.NameResults()
	return t, nil
}

// arguments returns the arguments of a call as the log stores them: a JSON object.
func arguments(s string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &object) != nil || object == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(s)
}
