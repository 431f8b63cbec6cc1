package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/provider"
)

// responsesAnswer assembles a response from the events of its stream.
type responsesAnswer struct {
	info  *provider.Info
	items []*responseItem
	ids   callIDs
	// over is set when the response has ended, and stop is the reason. Until then the
	// response is incomplete.
	over  bool
	stop  firn.StopReason
	usage *firn.Usage
}

// responseEvent has the members of all known event types.
type responseEvent struct {
	Type      json.RawMessage `json:"type"`
	Index     json.RawMessage `json:"output_index"`
	ItemID    json.RawMessage `json:"item_id"`
	Delta     json.RawMessage `json:"delta"`
	Arguments json.RawMessage `json:"arguments"`
	Summary   json.RawMessage `json:"summary_index"`
	Content   json.RawMessage `json:"content_index"`
	Item      json.RawMessage `json:"item"`
	Response  json.RawMessage `json:"response"`
	Error     json.RawMessage `json:"error"`
}

// response is the complete response in the last event.
type response struct {
	Status     json.RawMessage   `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      json.RawMessage   `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason json.RawMessage `json:"reason"`
	} `json:"incomplete_details"`
}

// take handles an event. Redundant and unknown events are ignored; new ones are added to
// the API every year.
func (a *responsesAnswer) take(event sse.Event) ([]provider.Event, bool, error) {
	if string(bytes.TrimSpace(event.Data)) == "[DONE]" {
		return nil, true, nil
	}
	var e responseEvent
	if err := json.Unmarshal(event.Data, &e); err != nil {
		return nil, false, cutOff(a.info, fmt.Errorf("read an event of the answer: %w", err))
	}
	switch kind := cmp.Or(textOf(e.Type), event.Name); kind {
	case "response.output_item.added":
		return a.added(e), false, nil
	case "response.output_item.done":
		return a.done(e.Item, e.index()), false, nil
	case "response.output_text.delta", "response.refusal.delta":
		return a.addText(e), false, nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return a.addThinking(kind, e), false, nil
	case "response.function_call_arguments.delta":
		return a.addArguments(e, textOf(e.Delta)), false, nil
	case "response.function_call_arguments.done":
		return a.setArguments(e), false, nil
	case "response.completed", "response.incomplete", "response.failed", "response.done":
		events, err := a.end(e.Response, strings.TrimPrefix(kind, "response."))
		return events, true, err
	case "error":
		return nil, false, a.failed(cmp.Or(string(e.Error), string(event.Data)))
	}
	if isFault(e.Error) {
		return nil, false, a.failed(string(e.Error))
	}
	return nil, false, nil
}

// takeWhole handles a response that was not streamed.
func (a *responsesAnswer) takeWhole(body []byte) ([]provider.Event, error) {
	var head struct {
		Status json.RawMessage `json:"status"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, cutOff(a.info, fmt.Errorf("read the answer: %w", err))
	}
	if isFault(head.Error) {
		return nil, a.failed(string(head.Error))
	}
	return a.end(body, textOf(head.Status))
}

// index returns the index of the event's item, or -1 if it has none.
func (e responseEvent) index() int {
	n, _ := readIndex(e.Index)
	return n
}

// failed returns the error that the server reported.
func (a *responsesAnswer) failed(raw string) error {
	return streamError(a.info, json.RawMessage(raw), len(a.items) > 0)
}

func (a *responsesAnswer) added(e responseEvent) []provider.Event {
	head := readItem(e.Item)
	item := a.addItem(head.kind(), e.index(), textOf(head.ID))
	if item.kind != "function_call" {
		return nil
	}
	item.call(head, &a.ids)
	return item.addArguments(textOf(head.Arguments))
}

func (a *responsesAnswer) addItem(kind string, index int, id string) *responseItem {
	item := &responseItem{kind: kind, index: index, id: id}
	a.items = append(a.items, item)
	return item
}

// open returns the item of an event, and adds it if the server did not announce it.
func (a *responsesAnswer) open(kind string, index int, id string) *responseItem {
	if item := a.find(kind, index, id); item != nil {
		return item
	}
	return a.addItem(kind, index, id)
}

// find returns an unfinished item by ID, then by index, and if the event has neither, the
// last one. Some servers change IDs within a stream.
func (a *responsesAnswer) find(kind string, index int, id string) *responseItem {
	var byPlace *responseItem
	for i := len(a.items) - 1; i >= 0; i-- {
		item := a.items[i]
		if item.raw != nil || item.kind != kind {
			continue
		}
		if id != "" && item.id == id {
			return item
		}
		if byPlace == nil && (index >= 0 && item.index == index || index < 0 && id == "") {
			byPlace = item
		}
	}
	return byPlace
}

func (a *responsesAnswer) addText(e responseEvent) []provider.Event {
	item := a.open("message", e.index(), textOf(e.ItemID))
	return item.addText(textOf(e.Delta))
}

func (a *responsesAnswer) addThinking(kind string, e responseEvent) []provider.Event {
	item := a.open("reasoning", e.index(), textOf(e.ItemID))
	piece := kind + string(e.Summary) + "/" + string(e.Content)
	return item.addThought(piece, textOf(e.Delta))
}

func (a *responsesAnswer) addArguments(e responseEvent, piece string) []provider.Event {
	item := a.open("function_call", e.index(), textOf(e.ItemID))
	return item.addArguments(piece)
}

// setArguments handles complete arguments.
func (a *responsesAnswer) setArguments(e responseEvent) []provider.Event {
	item := a.open("function_call", e.index(), textOf(e.ItemID))
	return item.setArguments(textOf(e.Arguments))
}

// done handles a complete item.
func (a *responsesAnswer) done(raw json.RawMessage, index int) []provider.Event {
	head := readItem(raw)
	if head.kind() == "" {
		return nil
	}
	item := a.open(head.kind(), index, textOf(head.ID))
	item.raw = bytes.Clone(raw)
	item.id = textOf(head.ID)
	switch item.kind {
	case "message":
		return item.setText(head.messageText())
	case "reasoning":
		return item.setThought(head.reasoningText())
	case "function_call":
		item.call(head, &a.ids)
		return item.setArguments(textOf(head.Arguments))
	}
	return nil
}

// end handles the complete response, including items that were not streamed.
func (a *responsesAnswer) end(raw json.RawMessage, status string) ([]provider.Event, error) {
	var r response
	if err := json.Unmarshal(raw, &r); present(raw) && err != nil {
		return nil, cutOff(a.info, fmt.Errorf("read the end of the answer: %w", err))
	}
	if output := textOf(r.Status); output != "" {
		status = output
	}
	var events []provider.Event
	for i, item := range r.Output {
		if !a.has(item, i) {
			events = append(events, a.done(item, i)...)
		}
	}
	a.usage = readResponsesUsage(r.Usage, a.info.Price)
	var err error
	switch status {
	case "completed", "done":
		a.stop = firn.StopEnd
	case "incomplete":
		a.stop = firn.StopLength
		if strings.Contains(textOf(r.Incomplete.Reason), "content_filter") {
			a.stop = firn.StopEnd
			if len(a.parts()) == 0 {
				err = filtered(a.info)
			}
		}
	default:
		err = a.failed(cmp.Or(faultOf(r.Error), fmt.Sprintf(`{"message":"the response ended as %s"}`, scalar(r.Status))))
	}
	a.over = err == nil
	return events, err
}

// faultOf returns the JSON of an error, or "" if there is none.
func faultOf(raw json.RawMessage) string {
	if isFault(raw) {
		return string(raw)
	}
	return ""
}

// has reports whether the item at this index of the complete response is already done.
func (a *responsesAnswer) has(raw json.RawMessage, at int) bool {
	head := readItem(raw)
	id := textOf(head.ID)
	for i, item := range a.items {
		if item.raw != nil && item.kind == head.kind() && (id != "" && item.id == id || item.index == at || i == at) {
			return true
		}
	}
	return false
}

// message returns the answer if the response has ended.
func (a *responsesAnswer) message() (m firn.Message, settled bool, err error) {
	if !a.over {
		return m, false, cutOff(a.info, errUnfinished)
	}
	m = firn.Message{
		Role: firn.RoleAssistant, API: a.info.API, Provider: a.info.Provider, Model: a.info.Name,
		Parts: a.parts(), Usage: a.usage, StopReason: a.stop,
	}
	for _, part := range m.Parts {
		call, ok := part.(firn.ToolCall)
		if ok && call.Name == "" {
			return m, false, cutOff(a.info, errNameless)
		}
		if ok && a.stop == firn.StopEnd {
			m.StopReason = firn.StopToolUse
		}
	}
	return m, true, nil
}

func (a *responsesAnswer) parts() []firn.Part {
	var parts []firn.Part
	for _, item := range a.items {
		if part := item.part(); part != nil {
			parts = append(parts, part)
		}
	}
	return parts
}
