package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/provider"
)

// chatAnswer assembles a completion from its chunks.
type chatAnswer struct {
	info     *provider.Info
	segments []*segment
	calls    callSet
	// finish is the server's finish reason; empty until received.
	finish string
	usage  *firn.Usage
	// counted is set if the usage was requested.
	counted bool
}

// segment is a part under construction, in order of arrival.
type segment struct {
	// call is set for a call. Field is set for thinking: the name of the member it was
	// received in.
	call  *chatCall
	field string
	text  []byte
}

// chatChunk is one chunk, or a complete completion.
type chatChunk struct {
	Choices []chatChoice    `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Groq    json.RawMessage `json:"x_groq"`
	Error   json.RawMessage `json:"error"`
	Object  json.RawMessage `json:"object"`
}

type chatChoice struct {
	Index   count           `json:"index"`
	Delta   chatDelta       `json:"delta"`
	Message chatDelta       `json:"message"`
	Finish  json.RawMessage `json:"finish_reason"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

// chatDelta is the delta of a chunk, or the message of a complete completion.
type chatDelta struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningText    json.RawMessage `json:"reasoning_text"`
	Refusal          json.RawMessage `json:"refusal"`
	ToolCalls        []callDelta     `json:"tool_calls"`
	FunctionCall     *functionDelta  `json:"function_call"`
}

// take handles a chunk.
func (a *chatAnswer) take(event sse.Event) ([]provider.Event, bool, error) {
	if string(bytes.TrimSpace(event.Data)) == "[DONE]" {
		return nil, true, nil
	}
	var chunk chatChunk
	if err := json.Unmarshal(event.Data, &chunk); err != nil {
		return nil, false, cutOff(a.info, fmt.Errorf("read a chunk of the answer: %w", err))
	}
	if err := a.refused(event, chunk); err != nil {
		return nil, false, err
	}
	return a.add(chunk, func(c chatChoice) chatDelta { return c.Delta }), false, nil
}

// takeWhole handles a completion that was not streamed. Valid JSON is complete, so a finish
// reason is not required.
func (a *chatAnswer) takeWhole(body []byte) ([]provider.Event, error) {
	var chunk chatChunk
	if err := json.Unmarshal(body, &chunk); err != nil {
		return nil, cutOff(a.info, fmt.Errorf("read the answer: %w", err))
	}
	if err := a.refused(sse.Event{Data: body}, chunk); err != nil {
		return nil, err
	}
	events := a.add(chunk, func(c chatChoice) chatDelta { return c.Message })
	if a.finish == "" && len(chunk.Choices) > 0 {
		a.finish = "stop"
	}
	return events, nil
}

// refused returns the error in a chunk, or nil if there is none.
func (a *chatAnswer) refused(event sse.Event, chunk chatChunk) error {
	raw := chunk.Error
	for i := range chunk.Choices {
		if !isFault(raw) {
			raw = chunk.Choices[i].Error
		}
	}
	if !isFault(raw) && (event.Name == "error" || textOf(chunk.Object) == "error") {
		raw = event.Data
	}
	if !isFault(raw) {
		return nil
	}
	return streamError(a.info, raw, len(a.segments) > 0)
}

// add handles the content of a chunk. deltaOf selects the delta or message of a choice,
// because some servers repeat the complete message in each chunk of a stream.
func (a *chatAnswer) add(chunk chatChunk, deltaOf func(chatChoice) chatDelta) []provider.Event {
	var events []provider.Event
	a.count(chunk.Usage)
	if present(chunk.Groq) {
		var groq struct{ Usage json.RawMessage }
		if json.Unmarshal(chunk.Groq, &groq) == nil {
			a.count(groq.Usage)
		}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // never requested
		}
		a.count(choice.Usage)
		events = a.delta(events, deltaOf(choice))
		if finish := textOf(choice.Finish); finish != "" {
			a.finish = finish
		}
	}
	return events
}

// count keeps the latest usage, because some servers report it repeatedly.
func (a *chatAnswer) count(raw json.RawMessage) {
	if u := readChatUsage(raw, a.info.Price); u != nil {
		a.usage = u
	}
}

func (a *chatAnswer) delta(events []provider.Event, d chatDelta) []provider.Event {
	// Servers that send thinking in two members send the same text in both.
	for i, raw := range []json.RawMessage{d.ReasoningContent, d.Reasoning, d.ReasoningText} {
		if s := textOf(raw); s != "" {
			events = a.addThinking(events, thoughtFields()[i], s)
			break
		}
	}
	events = a.content(events, d.Content)
	events = a.addText(events, textOf(d.Refusal))
	for i, call := range d.ToolCalls {
		events = a.call(events, call, i)
	}
	if d.FunctionCall != nil {
		events = a.call(events, callDelta{Function: *d.FunctionCall}, 0)
	}
	return events
}

// content handles a text, or a list of pieces as sent by Mistral.
func (a *chatAnswer) content(events []provider.Event, raw json.RawMessage) []provider.Event {
	if !present(raw) || raw[0] != '[' {
		return a.addText(events, textOf(raw))
	}
	var pieces []struct {
		Text     json.RawMessage `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &pieces) != nil {
		return events
	}
	for _, piece := range pieces {
		events = a.addText(events, textOf(piece.Text))
		events = a.addThinking(events, "thinking", joined(piece.Thinking))
	}
	return events
}

// joined returns a text, or the joined texts of a list of pieces.
func joined(raw json.RawMessage) string {
	var pieces []struct {
		Text json.RawMessage `json:"text"`
	}
	if json.Unmarshal(raw, &pieces) != nil {
		return textOf(raw)
	}
	var b strings.Builder
	for _, piece := range pieces {
		b.WriteString(textOf(piece.Text))
	}
	return b.String()
}

func (a *chatAnswer) addText(events []provider.Event, s string) []provider.Event {
	if s == "" {
		return events
	}
	last := a.last()
	if last == nil || last.call != nil || last.field != "" {
		last = a.addSegment(segment{})
	}
	last.text = append(last.text, s...)
	return append(events, provider.TextDelta{Text: s})
}

func (a *chatAnswer) addThinking(events []provider.Event, field, s string) []provider.Event {
	if s == "" {
		return events
	}
	last := a.last()
	if last == nil || last.call != nil || last.field == "" {
		last = a.addSegment(segment{field: field})
	}
	last.text = append(last.text, s...)
	return append(events, provider.ThinkingDelta{Text: s})
}

func (a *chatAnswer) call(events []provider.Event, d callDelta, nth int) []provider.Event {
	call, fresh := a.calls.take(d, nth)
	if fresh {
		a.addSegment(segment{call: call})
	}
	if delta, ok := call.nextDelta(); ok {
		events = append(events, delta)
	}
	return events
}

func (a *chatAnswer) last() *segment {
	if len(a.segments) == 0 {
		return nil
	}
	return a.segments[len(a.segments)-1]
}

func (a *chatAnswer) addSegment(s segment) *segment {
	a.segments = append(a.segments, &s)
	return &s
}

// message returns the answer if a finish reason was received.
func (a *chatAnswer) message() (m firn.Message, settled bool, err error) {
	stop, err := a.stop()
	if err != nil {
		return m, false, err
	}
	m = firn.Message{
		Role: firn.RoleAssistant, API: a.info.API, Provider: a.info.Provider, Model: a.info.Name,
		Usage: a.usage, StopReason: stop,
	}
	short := stop == firn.StopLength || isFilter(a.finish)
	for i, s := range a.segments {
		switch {
		case s.call == nil && s.field == "":
			m.Parts = append(m.Parts, firn.Text{Text: string(s.text)})
		case s.call == nil:
			m.Parts = append(m.Parts, firn.Thinking{Text: string(s.text), Signature: s.field})
		case short && i == len(a.segments)-1 && !isObject(s.call.args):
			// Truncated within the call: it cannot be run.
		case s.call.name == "":
			return m, false, cutOff(a.info, errNameless)
		default:
			m.Parts = append(m.Parts, s.call.part())
			if stop == firn.StopEnd {
				m.StopReason = firn.StopToolUse // many servers send "stop" anyway
			}
		}
	}
	return m, a.usage != nil || !a.counted, nil
}

// stop converts the finish reason.
func (a *chatAnswer) stop() (firn.StopReason, error) {
	switch a.finish {
	case "":
		return "", cutOff(a.info, errUnfinished)
	case "length", "max_tokens", "model_length":
		return firn.StopLength, nil
	case "error", "abort", "insufficient_system_resource":
		return "", cutOff(a.info, fmt.Errorf("the server stopped with an error: finish_reason %s", a.finish))
	}
	if isFilter(a.finish) && len(a.segments) == 0 {
		return "", filtered(a.info)
	}
	return firn.StopEnd, nil
}

// isFilter reports whether a content filter ended the answer. Google's servers append
// details after a colon.
func isFilter(finish string) bool { return strings.HasPrefix(finish, "content_filter") }
