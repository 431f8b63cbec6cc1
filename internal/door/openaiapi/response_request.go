package openaiapi

import (
	"encoding/json"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/door/conversation"
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

	Store      *bool `json:"store"`
	Background bool  `json:"background"`
	Text       struct {
		Format struct {
			Type string `json:"type"`
			schemaFormat
		} `json:"format"`
	} `json:"text"`
	Prompt json.RawMessage `json:"prompt"`
}

// check rejects unsupported options.
func (q *responseRequest) check() error {
	switch {
	case q.Background:
		return conversation.Unsupported("background", "background responses are not supported")
	case given(q.Prompt):
		return conversation.Unsupported("prompt", "stored prompts are not supported")
	case q.MaxOutputTokens < 0:
		return conversation.BadRequest("max_output_tokens", "the maximum number of tokens is negative")
	case q.Previous != "" && q.conversation() != "":
		return conversation.BadRequest("previous_response_id", "give conversation or previous_response_id, not both")
	case !given(q.Input):
		return conversation.BadRequest("input", "missing input")
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
func (q *responseRequest) terms(who conversation.Choice) (wire.TurnOptions, error) {
	t := wire.TurnOptions{Bare: who.Model != "", MaxTokens: q.MaxOutputTokens}
	var err error
	if t.Format, err = answerFormat(responseFormatParam, q.Text.Format.Type, q.Text.Format.schemaFormat); err != nil {
		return t, err
	}
	for _, raw := range q.Tools {
		var x responseTool
		if err := rawjson.Unmarshal(raw, &x, true); err != nil || x.Type != "function" {
			return t, conversation.Unsupported("tools", "only function tools are supported, not %s", conversation.Quoted(x.Type))
		}
		t.Tools = append(t.Tools, wire.ToolSpec{Name: x.Name, Description: x.Description, Schema: x.Parameters})
	}
	if err := conversation.CheckTools(t.Tools); err != nil {
		return t, err
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
func input(raw json.RawMessage) (*conversation.Transcript, error) {
	t := &conversation.Transcript{}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		t.Add(firn.Message{Role: firn.RoleUser, Parts: conversation.TextPart(text)})
		return t, nil
	}
	var all []item
	if err := rawjson.Unmarshal(raw, &all, true); err != nil {
		return nil, conversation.BadRequest("input", "the input is neither a string nor a list of items")
	}
	for i, it := range all {
		if err := addItem(t, it); err != nil {
			return nil, conversation.BadRequest("input", "item %d: %v", i+1, err)
		}
	}
	t.NameResults()
	return t, nil
}

// addItem adds an item to the transcript.
func addItem(t *conversation.Transcript, it item) error {
	switch it.Type {
	case "", "message":
		return addMessage(t, it)
	case "function_call":
		args := ""
		if it.Arguments != nil {
			args = *it.Arguments
		}
		t.Add(firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.ToolCall{ID: it.CallID, Name: it.Name, Arguments: arguments(args)}}})
	case "function_call_output":
		parts, err := contentParts(it.Output)
		if err != nil {
			return err
		}
		t.Add(conversation.Result(it.CallID, parts))
	case "reasoning": // only useful to the model that produced it, and already in the log
	case "item_reference":
		return errors.New("item references are not supported; use the response or the conversation")
	default:
		return fmt.Errorf("unsupported item type %s", conversation.Quoted(it.Type))
	}
	return nil
}

func addMessage(t *conversation.Transcript, it item) error {
	parts, err := contentParts(it.Content)
	if err != nil {
		return err
	}
	switch it.Role {
	case "system", "developer":
		t.System = append(t.System, firn.JoinText(parts))
	case "user":
		t.Add(firn.Message{Role: firn.RoleUser, Parts: parts})
	case "assistant":
		t.Add(firn.Message{Role: firn.RoleAssistant, Parts: parts})
	default:
		return fmt.Errorf("unknown role %s", conversation.Quoted(it.Role))
	}
	return nil
}
