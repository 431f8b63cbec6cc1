package agui

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// request holds the members of a run that are used, or must be rejected. The state is not
// used: agents have none besides their session.
type request struct {
	Thread   string    `json:"threadId"`
	Run      string    `json:"runId"`
	Messages []message `json:"messages"`
	Tools    []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"tools"`
	Context []struct {
		Description string `json:"description"`
		Value       string `json:"value"`
	} `json:"context"`
	Resume []json.RawMessage `json:"resume"`
}

// message is a message of any role.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	// Calls belong to an answer, Call and Error to the result of a call.
	Calls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"toolCalls"`
	Call  string `json:"toolCallId"`
	Error string `json:"error"`
}

// check rejects a request that cannot be answered.
func (q *request) check() error {
	switch {
	case strings.TrimSpace(q.Thread) == "":
		return conversation.BadRequest("threadId", "threadId is required")
	case q.Run == "":
		return conversation.BadRequest("runId", "runId is required")
	case len(q.Messages) == 0:
		return conversation.BadRequest("messages", "messages: at least one message is required")
	case len(q.Resume) > 0:
		return conversation.Unsupported("resume", "resume: runs are not interrupted; approve calls in firn")
	}
	return nil
}

// options returns the options of the turn. Tools of the client replace those of the agent.
func (q *request) options(who conversation.Choice) (wire.TurnOptions, error) {
	o := wire.TurnOptions{Bare: who.Model != ""}
	for _, x := range q.Tools {
		o.Tools = append(o.Tools, wire.ToolSpec{Name: x.Name, Description: x.Description, Schema: x.Parameters})
	}
	return o, conversation.CheckTools(o.Tools)
}

// transcript reads the conversation of the request. The client's context becomes part of the
// instructions.
func (q *request) transcript() (*conversation.Transcript, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	t := &conversation.Transcript{}
	for i, m := range q.Messages {
		if err := m.addTo(t); err != nil {
			return nil, conversation.BadRequest("messages", "messages.%d: %v", i, err)
		}
	}
	for _, c := range q.Context {
		t.System = append(t.System, strings.TrimSpace(c.Description+": "+c.Value))
	}
	t.NameResults()
	return t, nil
}

// addTo adds the message to a transcript. Reasoning and activities are not sent to a model.
func (m message) addTo(t *conversation.Transcript) error {
	switch m.Role {
	case "user":
		parts, err := parts(m.Content)
		if err == nil {
			t.Add(firn.Message{Role: firn.RoleUser, Parts: parts})
		}
		return err
	case "assistant":
		return m.addAnswer(t)
	case "tool":
		content, err := parts(m.Content)
		if m.Error != "" {
			content = append(content, conversation.TextPart(m.Error)...)
		}
		result := firn.ToolResult{CallID: m.Call, IsError: m.Error != "", Content: content}
		t.Add(firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{result}})
		return err
	case "system", "developer":
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			return errors.New("the content is not a string")
		}
		t.System = append(t.System, text)
	case "reasoning", "activity":
	default:
		return fmt.Errorf("unknown role %s", conversation.Quoted(m.Role))
	}
	return nil
}

// addAnswer adds an answer with its calls.
func (m message) addAnswer(t *conversation.Transcript) error {
	answer := firn.Message{Role: firn.RoleAssistant}
	if len(m.Content) > 0 {
		content, err := parts(m.Content)
		if err != nil {
			return err
		}
		answer.Parts = content
	}
	for _, c := range m.Calls {
		arguments := json.RawMessage(c.Function.Arguments)
		var object map[string]json.RawMessage
		if json.Unmarshal(arguments, &object) != nil || object == nil {
			arguments = json.RawMessage("{}")
		}
		answer.Parts = append(answer.Parts, firn.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: arguments})
	}
	t.Add(answer)
	return nil
}

// part is a part of a message or of a result.
type part struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type     string `json:"type"`
		Value    string `json:"value"`
		MimeType string `json:"mimeType"`
	} `json:"source"`
}

// parts reads content: a string, or a list of texts and images.
func parts(raw json.RawMessage) ([]firn.Part, error) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return conversation.TextPart(text), nil
	}
	var all []part
	if err := rawjson.Unmarshal(raw, &all, true); err != nil {
		return nil, errors.New("the content is neither a string nor a list of parts")
	}
	var out []firn.Part
	for _, p := range all {
		switch {
		case p.Type == "text":
			out = append(out, conversation.TextPart(p.Text)...)
		case p.Type == "image" && p.Source.Type == "data" && strings.HasPrefix(p.Source.MimeType, "image/"):
			if _, err := base64.StdEncoding.DecodeString(p.Source.Value); err != nil {
				return nil, errors.New("an image is not valid base64")
			}
			out = append(out, firn.Image{MimeType: p.Source.MimeType, Data: p.Source.Value})
		case p.Type == "image":
			return nil, errors.New("images must be sent as data; URLs and files are not fetched")
		default:
			return nil, fmt.Errorf("unsupported part %s", conversation.Quoted(p.Type))
		}
	}
	return out, nil
}
