package openaiapi

import (
	"encoding/json"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/wire"
)

// responseRequest holds the members of a response request that are used, or must be
// rejected.
type responseRequest struct {
	Model           string            `json:"model"`
	Input           json.RawMessage   `json:"input"`
	Instructions    string            `json:"instructions"`
	Previous        string            `json:"previous_response_id"`
	Conversation    json.RawMessage   `json:"conversation"`
	Stream          bool              `json:"stream"`
	Tools           []json.RawMessage `json:"tools"`
	ToolChoice      json.RawMessage   `json:"tool_choice"`
	MaxOutputTokens int64             `json:"max_output_tokens"`
	User            string            `json:"user"`
	Metadata        map[string]string `json:"metadata"`

	Background bool `json:"background"`
	Text       struct {
		Format struct {
			Type string `json:"type"`
		} `json:"format"`
	} `json:"text"`
	Prompt json.RawMessage `json:"prompt"`
}

// check rejects unsupported options.
func (q *responseRequest) check() error {
	switch {
	case q.Background:
		return unsupported("background", "background responses are not supported")
	case q.Text.Format.Type != "" && q.Text.Format.Type != "text":
		return unsupported("text.format", "only text output is supported, not %s", quoted(q.Text.Format.Type))
	case given(q.Prompt):
		return unsupported("prompt", "stored prompts are not supported")
	case q.MaxOutputTokens < 0:
		return badRequest("max_output_tokens", "the maximum number of tokens is negative")
	case q.Previous != "" && q.conversation() != "":
		return badRequest("previous_response_id", "give conversation or previous_response_id, not both")
	case !given(q.Input):
		return badRequest("input", "missing input")
	}
	return nil
}

// conversation returns the ID of the conversation to continue, given as a string or an
// object.
func (q *responseRequest) conversation() string {
	var id string
	if json.Unmarshal(q.Conversation, &id) == nil {
		return id
	}
	var object struct {
		ID string `json:"id"`
	}
	_ = rawjson.Unmarshal(q.Conversation, &object, true) // anything else names no conversation
	return object.ID
}

// responseTool is a function tool of this API.
type responseTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// terms returns the terms of the turn.
func (q *responseRequest) terms(who choice) (wire.TurnOptions, error) {
	t := wire.TurnOptions{Bare: who.model != "", MaxTokens: q.MaxOutputTokens}
	for _, raw := range q.Tools {
		var x responseTool
		if err := rawjson.Unmarshal(raw, &x, true); err != nil || x.Type != "function" {
			return t, unsupported("tools", "only function tools are supported, not %s", quoted(x.Type))
		}
		t.Tools = append(t.Tools, wire.ToolSpec{Name: x.Name, Description: x.Description, Schema: x.Parameters})
	}
	return t, chooseTools(&t, q.ToolChoice)
}

// item is an item of a conversation.
type item struct {
	ID     string `json:"id,omitempty"`
	Type   string `json:"type"`
	Status string `json:"status,omitempty"`
	// Role and Content belong to a message.
	Role    string          `json:"role,omitempty"`
	Content json.RawMessage `json:"content,omitempty"`
	// CallID, Name and Arguments belong to a call, Output to a result.
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments *string         `json:"arguments,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
	// Summary is the reasoning of a model.
	Summary json.RawMessage `json:"summary,omitempty"`
}

// input reads the client's input: a string, or items.
func input(raw json.RawMessage) (*transcript, error) {
	t := &transcript{}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		t.add(firn.Message{Role: firn.RoleUser, Parts: textPart(text)})
		return t, nil
	}
	var all []item
	if err := rawjson.Unmarshal(raw, &all, true); err != nil {
		return nil, badRequest("input", "the input is neither a string nor a list of items")
	}
	for i, it := range all {
		if err := t.item(it); err != nil {
			return nil, badRequest("input", "item %d: %v", i+1, err)
		}
	}
	t.nameResults()
	return t, nil
}

// item adds an item to the transcript.
func (t *transcript) item(it item) error {
	switch it.Type {
	case "", "message":
		return t.messageItem(it)
	case "function_call":
		args := ""
		if it.Arguments != nil {
			args = *it.Arguments
		}
		t.add(firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.ToolCall{ID: it.CallID, Name: it.Name, Arguments: arguments(args)}}})
	case "function_call_output":
		parts, err := contentParts(it.Output)
		if err != nil {
			return err
		}
		t.add(result(it.CallID, parts))
	case "reasoning": // only useful to the model that produced it, and already in the log
	case "item_reference":
		return errors.New("item references are not supported; use the response or the conversation")
	default:
		return fmt.Errorf("unsupported item type %s", quoted(it.Type))
	}
	return nil
}

func (t *transcript) messageItem(it item) error {
	parts, err := contentParts(it.Content)
	if err != nil {
		return err
	}
	switch it.Role {
	case "system", "developer":
		t.system = append(t.system, firn.JoinText(parts))
	case "user":
		t.add(firn.Message{Role: firn.RoleUser, Parts: parts})
	case "assistant":
		t.add(firn.Message{Role: firn.RoleAssistant, Parts: parts})
	default:
		return fmt.Errorf("unknown role %s", quoted(it.Role))
	}
	return nil
}
