package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"firn"
	"firn/internal/sse"
	"firn/provider"
)

// responsesAnswer gathers a response from the events of its stream.
type responsesAnswer struct {
	info  *provider.Info
	items []*responseItem
	ids   callIDs
	// over says that the response came to an end, stop why; until then it is
	// not whole.
	over  bool
	stop  firn.StopReason
	usage *firn.Usage
}

// responseEvent is one event, with the members that any of those we know has.
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

// response is a response as a whole, as the last event tells it.
type response struct {
	Status     json.RawMessage   `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      json.RawMessage   `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason json.RawMessage `json:"reason"`
	} `json:"incomplete_details"`
}

// take takes an event. Those that tell nothing new are passed over, and so are
// those we do not know: there are more of them every year.
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
		return a.say(e), false, nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return a.think(kind, e), false, nil
	case "response.function_call_arguments.delta":
		return a.argue(e, textOf(e.Delta)), false, nil
	case "response.function_call_arguments.done":
		return a.argued(e), false, nil
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

// takeWhole takes a response that was not streamed.
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

// index is the place of the item that an event is about, -1 if it tells none.
func (e responseEvent) index() int {
	n, _ := readIndex(e.Index)
	return n
}

// failed is the failure that the server tells of.
func (a *responsesAnswer) failed(raw string) error {
	return complaint(a.info, json.RawMessage(raw), len(a.items) > 0)
}

func (a *responsesAnswer) added(e responseEvent) []provider.Event {
	head := readItem(e.Item)
	item := a.begin(head.kind(), e.index(), textOf(head.ID))
	if item.kind != "function_call" {
		return nil
	}
	item.call(head, &a.ids)
	return item.addArguments(textOf(head.Arguments))
}

func (a *responsesAnswer) begin(kind string, index int, id string) *responseItem {
	item := &responseItem{kind: kind, index: index, id: id}
	a.items = append(a.items, item)
	return item
}

// open is the item of a kind that an event is about, a new one if the server
// did not tell of it before.
func (a *responsesAnswer) open(kind string, index int, id string) *responseItem {
	if item := a.find(kind, index, id); item != nil {
		return item
	}
	return a.begin(kind, index, id)
}

// find looks for an item that is not done: by its id, by its place, and if
// neither is told the last one. Some servers change ids on the way.
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

func (a *responsesAnswer) say(e responseEvent) []provider.Event {
	item := a.open("message", e.index(), textOf(e.ItemID))
	return item.addText(textOf(e.Delta))
}

func (a *responsesAnswer) think(kind string, e responseEvent) []provider.Event {
	item := a.open("reasoning", e.index(), textOf(e.ItemID))
	piece := kind + string(e.Summary) + "/" + string(e.Content)
	return item.addThought(piece, textOf(e.Delta))
}

func (a *responsesAnswer) argue(e responseEvent, piece string) []provider.Event {
	item := a.open("function_call", e.index(), textOf(e.ItemID))
	return item.addArguments(piece)
}

// argued takes arguments that are whole.
func (a *responsesAnswer) argued(e responseEvent) []provider.Event {
	item := a.open("function_call", e.index(), textOf(e.ItemID))
	return item.setArguments(textOf(e.Arguments))
}

// done takes an item that is whole.
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
		return item.setText(head.said())
	case "reasoning":
		return item.setThought(head.thought())
	case "function_call":
		item.call(head, &a.ids)
		return item.setArguments(textOf(head.Arguments))
	}
	return nil
}

// end takes the response as a whole, and with it the items that did not come
// by themselves.
func (a *responsesAnswer) end(raw json.RawMessage, status string) ([]provider.Event, error) {
	var r response
	if err := json.Unmarshal(raw, &r); present(raw) && err != nil {
		return nil, cutOff(a.info, fmt.Errorf("read the end of the answer: %w", err))
	}
	if told := textOf(r.Status); told != "" {
		status = told
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

// faultOf is an error if it is one.
func faultOf(raw json.RawMessage) string {
	if isFault(raw) {
		return string(raw)
	}
	return ""
}

// has reports whether an item of the whole response, at its place, was done
// before.
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

// message is the answer, if the response came to an end.
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
