package openaiapi

import (
	"encoding/json"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// The members that ask for an answer in JSON.
const (
	chatFormatParam     = "response_format"
	responseFormatParam = "text.format"
)

// schemaFormat is a JSON schema for the answer.
type schemaFormat struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// schemaName matches the names of schemas that the API accepts.
var schemaName = pattern.New(`^[a-zA-Z0-9_-]{1,64}$`)

// answerFormat returns the form of the answer, nil for text.
func answerFormat(param, kind string, f schemaFormat) (*wire.AnswerFormat, error) {
	switch kind {
	case "", "text":
		return nil, nil
	case "json_object":
		return &wire.AnswerFormat{}, nil
	case "json_schema":
	default:
		return nil, conversation.Unsupported(param, "the output format must be text, json_object or json_schema, not %s", conversation.Quoted(kind))
	}
	if !schemaName().MatchString(f.Name) {
		return nil, conversation.BadRequest(param, "a JSON schema needs a name of at most 64 letters, digits, _ and -, not %s", conversation.Quoted(f.Name))
	}
	var object map[string]json.RawMessage
	if err := rawjson.Unmarshal(f.Schema, &object, true); err != nil || object == nil {
		return nil, conversation.BadRequest(param, "the JSON schema %s is not an object", conversation.Quoted(f.Name))
	}
	return &wire.AnswerFormat{Name: f.Name, Description: f.Description, Schema: f.Schema, Strict: f.Strict}, nil
}

// textFormat returns the member text of a response.
func (q *responseRequest) textFormat() json.RawMessage {
	if q.Text.Format.Type == "" {
		return json.RawMessage(`{"format":{"type":"text"}}`)
	}
	data, err := wire.Marshal(q.Text)
	if err != nil { // the schema was checked, so this is the zero value of a stored response
		return json.RawMessage(`{"format":{"type":"text"}}`)
	}
	return data
}

// formatError names the member if the model cannot answer in JSON.
func formatError(err error, param string, terms wire.TurnOptions) error {
	if err == nil || terms.Format == nil || wire.KindOf(err) != wire.Unsupported {
		return err
	}
	problem, _ := conversation.ProblemOf(err)
	return conversation.Unsupported(param, "%s", strings.TrimSuffix(problem.Message, ": "+firn.ErrUnsupported.Error()))
}

// maxStop is the maximum number of stop sequences, as in OpenAI's API.
const maxStop = 4

// stopSequences reads stop sequences: a string, or a list of them.
func stopSequences(raw json.RawMessage) ([]string, error) {
	if !given(raw) {
		return nil, nil
	}
	var one string
	list := []string{}
	if json.Unmarshal(raw, &one) == nil {
		list = append(list, one)
	} else if json.Unmarshal(raw, &list) != nil {
		return nil, conversation.BadRequest("stop", "stop is neither a string nor a list of strings")
	}
	if len(list) > maxStop {
		return nil, conversation.BadRequest("stop", "at most %d stop sequences are allowed", maxStop)
	}
	for _, s := range list {
		if s == "" {
			return nil, conversation.BadRequest("stop", "a stop sequence is empty")
		}
	}
	return list, nil
}
