package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/provider"
)

// answer accumulates a streamed answer.
type answer struct {
	info   provider.Info
	blocks []*content
	usage  usage
	// reason is the API's stop reason; explanation is the explanation of a refusal.
	reason, explanation string
	began, stopped      bool
}

// content is a content block under construction.
type content struct {
	index int
	kind  string
	// text is the text or thinking received so far.
	text strings.Builder
	// signature is the signature of thinking, or the data of redacted thinking.
	signature string
	id, name  string
	// input is the part of a call's arguments received so far.
	input []byte
	// raw is the start of a block of unknown type.
	raw json.RawMessage
}

func (a *answer) blockStart(data []byte) (provider.Event, error) {
	var event struct {
		Index int             `json:"index"`
		Block json.RawMessage `json:"content_block"`
	}
	if err := a.decode(data, &event); err != nil {
		return nil, err
	}
	if a.find(event.Index) != nil {
		return nil, a.malformedError("block %d starts twice", event.Index)
	}
	kind := kindOf(event.Block)
	if kind == "" {
		return nil, a.malformedError("block %d has no type", event.Index)
	}
	c := &content{index: event.Index, kind: kind}
	a.blocks = append(a.blocks, c)
	return a.startBlock(c, event.Block)
}

// kindOf returns the type of an event or block, or "" if it has none. The match is
// case-sensitive, as in stores; encoding/json would accept "Type" as well.
func kindOf(object []byte) string {
	r := rawjson.New(object)
	if !r.Object() {
		return ""
	}
	for r.Member() {
		if r.KeyText() == "type" {
			kind, _ := r.Text()
			return kind
		}
		r.Skip()
	}
	return ""
}

// startBlock handles the start of a block.
func (a *answer) startBlock(c *content, block json.RawMessage) (provider.Event, error) {
	var begin struct {
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	switch c.kind {
	case "text", "thinking", "redacted_thinking", "tool_use":
		if err := a.decode(block, &begin); err != nil {
			return nil, err
		}
	default:
		c.raw = block
		return nil, nil
	}
	switch c.kind {
	case "text":
		return c.addText(begin.Text), nil
	case "thinking":
		c.signature = begin.Signature
		return c.addThinking(begin.Thinking), nil
	case "redacted_thinking":
		c.signature = begin.Data
		return nil, nil
	}
	if begin.Name == "" {
		return nil, a.malformedError("a tool is called without a name")
	}
	// Some servers send the complete arguments at the start.
	c.id, c.name, c.raw = begin.ID, begin.Name, begin.Input
	return provider.CallDelta{ID: c.id, Name: c.name}, nil
}

func (a *answer) blockDelta(data []byte) (provider.Event, error) {
	var event struct {
		Index int `json:"index"`
		Delta struct {
			Type        string `json:"type"`
			Text        string `json:"text"`
			Thinking    string `json:"thinking"`
			Signature   string `json:"signature"`
			PartialJSON string `json:"partial_json"`
		} `json:"delta"`
	}
	if err := a.decode(data, &event); err != nil {
		return nil, err
	}
	c := a.find(event.Index)
	if c == nil {
		return nil, a.malformedError("block %d continues without a start", event.Index)
	}
	switch c.kind + "/" + event.Delta.Type {
	case "text/text_delta":
		return c.addText(event.Delta.Text), nil
	case "thinking/thinking_delta":
		return c.addThinking(event.Delta.Thinking), nil
	case "thinking/signature_delta":
		c.signature += event.Delta.Signature
		return nil, nil
	}
	if event.Delta.Type != "input_json_delta" || event.Delta.PartialJSON == "" {
		return nil, nil
	}
	c.input = append(c.input, event.Delta.PartialJSON...)
	if c.kind != "tool_use" {
		return nil, nil
	}
	return provider.CallDelta{ID: c.id, Arguments: event.Delta.PartialJSON}, nil
}

// blockStop ends a block. It emits the arguments of a call that had no deltas.
func (a *answer) blockStop(data []byte) (provider.Event, error) {
	var event struct {
		Index int `json:"index"`
	}
	if err := a.decode(data, &event); err != nil {
		return nil, err
	}
	c := a.find(event.Index)
	if c == nil {
		return nil, a.malformedError("block %d ends without a start", event.Index)
	}
	if c.kind != "tool_use" || len(c.input) > 0 {
		return nil, nil
	}
	c.input = []byte("{}")
	if rawjson.Valid(c.raw) == nil {
		c.input = c.raw
	}
	return provider.CallDelta{ID: c.id, Arguments: string(c.input)}, nil
}

func (a *answer) find(index int) *content {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if a.blocks[i].index == index {
			return a.blocks[i]
		}
	}
	return nil
}

func (c *content) addText(text string) provider.Event {
	if text == "" {
		return nil
	}
	c.text.WriteString(text)
	return provider.TextDelta{Text: text}
}

func (c *content) addThinking(text string) provider.Event {
	if text == "" {
		return nil
	}
	c.text.WriteString(text)
	return provider.ThinkingDelta{Text: text}
}

// part returns the part for a block, or nil if the block is empty.
func (c *content) part() firn.Part {
	switch c.kind {
	case "text":
		if c.text.Len() > 0 {
			return firn.Text{Text: c.text.String()}
		}
	case "thinking":
		if c.text.Len() > 0 || c.signature != "" {
			return firn.Thinking{Text: c.text.String(), Signature: c.signature}
		}
	case "redacted_thinking":
		if c.signature != "" {
			return firn.Thinking{Signature: c.signature, Redacted: true}
		}
	case "tool_use":
		return firn.ToolCall{ID: c.id, Name: c.name, Arguments: arguments(c.input)}
	default:
		return firn.OpaquePart{Type: c.kind, Raw: opaque(c.kind, c.raw, c.input)}
	}
	return nil
}

// arguments returns the arguments of a call as a valid JSON object. Anything else is kept
// as text in a member "invalid".
func arguments(input []byte) json.RawMessage {
	switch {
	case rawjson.IsBlank(input):
		return json.RawMessage("{}")
	case rawjson.Valid(input) == nil && shallow(input):
		return input
	}
	return append(rawjson.AppendString([]byte(`{"invalid":`), string(input)), '}')
}

// opaque returns a block of unknown type unchanged, except that streamed input replaces its
// input.
func opaque(kind string, raw json.RawMessage, input []byte) json.RawMessage {
	if rawjson.Valid(raw) != nil || !shallow(raw) {
		return append(rawjson.AppendString([]byte(`{"type":`), kind), '}')
	}
	if rawjson.Valid(input) != nil || !shallow(input) {
		return raw
	}
	out := []byte("{")
	r := rawjson.New(raw)
	for r.Object(); r.Member(); {
		name, value := r.KeyText(), r.Raw()
		if name == "input" {
			value = input
		}
		out = append(rawjson.AppendString(append(out, separator(len(out)-1, "")...), name), ':')
		out = append(out, value...)
	}
	return append(out, '}')
}

// shallow reports whether the nesting depth of JSON is small enough for a log line.
func shallow(raw []byte) bool {
	const lines = 20
	deeper := bytes.Join([][]byte{bytes.Repeat([]byte("["), lines), raw, bytes.Repeat([]byte("]"), lines)}, nil)
	r := rawjson.New(deeper)
	r.Skip()
	return r.End() == nil
}
