package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"firn"
	"firn/internal/rawjson"
	"firn/provider"
)

// answer is what has come of an answer so far.
type answer struct {
	info   provider.Info
	blocks []*content
	usage  usage
	// reason is why the model stopped, in the words of the API; explanation is
	// why it would not answer.
	reason, explanation string
	began, stopped      bool
}

// content is a block of the answer on its way.
type content struct {
	index int
	kind  string
	// text is what came of a text or of thinking.
	text strings.Builder
	// signature is that of thinking, or all of redacted thinking.
	signature string
	id, name  string
	// input is what came of the arguments of a call.
	input []byte
	// raw is how a block began that is of no known kind.
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
		return nil, a.fault("block %d begins twice", event.Index)
	}
	kind := kindOf(event.Block)
	if kind == "" {
		return nil, a.fault("block %d does not say what it is", event.Index)
	}
	c := &content{index: event.Index, kind: kind}
	a.blocks = append(a.blocks, c)
	return a.open(c, event.Block)
}

// kindOf is the type of an event or of a block, nothing if it has none. It is
// read to the letter, as stores read it: encoding/json would take "Type" for it
// as well.
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

// open takes what a block begins with.
func (a *answer) open(c *content, block json.RawMessage) (provider.Event, error) {
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
		return c.say(begin.Text), nil
	case "thinking":
		c.signature = begin.Signature
		return c.think(begin.Thinking), nil
	case "redacted_thinking":
		c.signature = begin.Data
		return nil, nil
	}
	if begin.Name == "" {
		return nil, a.fault("a tool is called without a name")
	}
	// Some servers send the arguments whole, at the beginning.
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
		return nil, a.fault("block %d goes on and never began", event.Index)
	}
	switch c.kind + "/" + event.Delta.Type {
	case "text/text_delta":
		return c.say(event.Delta.Text), nil
	case "thinking/thinking_delta":
		return c.think(event.Delta.Thinking), nil
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

// blockStop tells the arguments of a call that came without deltas.
func (a *answer) blockStop(data []byte) (provider.Event, error) {
	var event struct {
		Index int `json:"index"`
	}
	if err := a.decode(data, &event); err != nil {
		return nil, err
	}
	c := a.find(event.Index)
	if c == nil {
		return nil, a.fault("block %d ends and never began", event.Index)
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

func (c *content) say(text string) provider.Event {
	if text == "" {
		return nil
	}
	c.text.WriteString(text)
	return provider.TextDelta{Text: text}
}

func (c *content) think(text string) provider.Event {
	if text == "" {
		return nil
	}
	c.text.WriteString(text)
	return provider.ThinkingDelta{Text: text}
}

// part is what a block came to; nil if there is nothing in it.
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

// arguments returns the arguments of a call as an object that can be stored.
// What is not one is kept as text in a member "invalid".
func arguments(input []byte) json.RawMessage {
	switch {
	case rawjson.IsBlank(input):
		return json.RawMessage("{}")
	case rawjson.Valid(input) == nil && shallow(input):
		return input
	}
	return append(rawjson.AppendString([]byte(`{"invalid":`), string(input)), '}')
}

// opaque returns a block of an unknown kind as it came, with the input that
// came behind it in its place.
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

// shallow reports whether JSON is nested so little that it can stand inside of
// the line of a log.
func shallow(raw []byte) bool {
	const lines = 20
	deeper := bytes.Join([][]byte{bytes.Repeat([]byte("["), lines), raw, bytes.Repeat([]byte("]"), lines)}, nil)
	r := rawjson.New(deeper)
	r.Skip()
	return r.End() == nil
}
