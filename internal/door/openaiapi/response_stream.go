package openaiapi

import (
	"encoding/json"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// responseStream is a response in progress. It collects the output, and sends events if the
// client requested a stream.
type responseStream struct {
	// v receives the events; nil if the client waits for the complete response.
	v *exchange
	r *response
	// n is the sequence number of the next event.
	n int
	// open is the type of the item in progress, a message or reasoning; openID is its ID,
	// given its text so far.
	open   string
	openID string
	given  string
	// entry is the ID of the answer in progress in the log; empty if it is not known.
	entry firn.EntryID
}

// The types of items that are streamed in parts.
const (
	messageItem   = "message"
	reasoningItem = "reasoning"
)

func newSpeech(v *exchange, r *response) *responseStream { return &responseStream{v: v, r: r} }

// run runs the turn and sends its events.
func (s *responseStream) run(p *conversation.Placed, terms wire.TurnOptions) error {
	done, err := s.v.Run(p, terms, s)
	if err != nil {
		return s.broken(err)
	}
	s.v.RememberAs(s.r.ID, p, done)
	if !s.v.Started {
		s.KeepAlive()
	}
	s.end(done.Answer)
	return nil
}

// broken ends a response after an error.
func (s *responseStream) broken(err error) error {
	if !s.v.Started {
		return err
	}
	failure, _ := failureOf(err)
	s.close("incomplete")
	s.r.Status, s.r.Error = "failed", &responseError{Code: "server_error", Message: failure.Error.Message}
	s.sendEvent("response.failed", event{Response: s.r})
	return nil
}

// event is an event of a response stream.
type event struct {
	Type         string    `json:"type"`
	Sequence     int       `json:"sequence_number"`
	Response     *response `json:"response,omitempty"`
	ItemID       string    `json:"item_id,omitempty"`
	OutputIndex  *int      `json:"output_index,omitempty"`
	ContentIndex *int      `json:"content_index,omitempty"`
	SummaryIndex *int      `json:"summary_index,omitempty"`
	Item         *item     `json:"item,omitempty"`
	Part         any       `json:"part,omitempty"`
	Delta        *string   `json:"delta,omitempty"`
	Text         *string   `json:"text,omitempty"`
	Arguments    *string   `json:"arguments,omitempty"`
	Name         string    `json:"name,omitempty"`
	Logprobs     []string  `json:"logprobs,omitempty"`
}

// sendEvent sends an event.
func (s *responseStream) sendEvent(kind string, e event) {
	if s.v == nil {
		return
	}
	e.Type, e.Sequence = kind, s.n
	s.n++
	data, err := wire.Marshal(e)
	if err != nil { // cannot happen: all values marshal
		data = json.RawMessage("{}")
	}
	s.v.Write(sse.Append(nil, sse.Event{Name: kind, Data: data}))
}

// KeepAlive starts the stream, and later sends a sign of life.
func (s *responseStream) KeepAlive() {
	switch {
	case s.v == nil:
	case s.v.Started:
		s.v.Write([]byte(":\n\n"))
	default:
		s.v.BeginStream()
		s.sendEvent("response.created", event{Response: s.r})
		s.sendEvent("response.in_progress", event{Response: s.r})
	}
}

// Entry sets the ID that the answer has in the log. The IDs of its items contain it, as in
// lists of items.
func (s *responseStream) Entry(id firn.EntryID) { s.entry = id }

// Text adds a part of the answer.
func (s *responseStream) Text(piece string, round bool) { s.piece(messageItem, piece, round) }

// Think adds a part of the reasoning.
func (s *responseStream) Think(piece string) { s.piece(reasoningItem, piece, false) }

// piece adds text to the open item. It starts a new item if none, or one of another type,
// is open.
func (s *responseStream) piece(kind, piece string, anew bool) {
	if s.v != nil && !s.v.Started {
		s.KeepAlive()
	}
	if s.open != kind || anew {
		s.close("completed")
		s.start(kind)
	}
	s.given += piece
	at, zero := len(s.r.Output), 0
	e := event{ItemID: s.openID, OutputIndex: &at, Delta: &piece}
	if kind == messageItem {
		e.ContentIndex = &zero
		s.sendEvent("response.output_text.delta", e)
		return
	}
	e.SummaryIndex = &zero
	s.sendEvent("response.reasoning_summary_text.delta", e)
}

// newID returns the ID of a new item. An answer whose text is interrupted by reasoning has
// several messages, of which only the first has the ID that lists of items show.
func (s *responseStream) newID(kind string) string {
	prefix := map[string]string{messageItem: "msg_", reasoningItem: "rs_"}[kind]
	if s.entry == "" {
		return prefix + s.r.ID[len(responsePrefix):] + fmt.Sprintf("_%d", len(s.r.Output))
	}
	id := prefix + string(s.entry)
	if slices.ContainsFunc(s.r.Output, func(it item) bool { return it.ID == id }) {
		id += fmt.Sprintf("_%d", len(s.r.Output))
	}
	return id
}

// outputText is a text part of a message.
type outputText struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"`
}

func textOut(text string) outputText {
	return outputText{Type: "output_text", Text: text, Annotations: []string{}}
}

// summaryText is a text part of the reasoning.
type summaryText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// itemOf returns an item with the given parts.
func (s *responseStream) itemOf(kind, status string, parts ...any) item {
	if parts == nil {
		parts = []any{}
	}
	content, err := wire.Marshal(parts)
	if err != nil { // cannot happen: all values marshal
		content = json.RawMessage("[]")
	}
	it := item{ID: s.openID, Type: kind, Status: status}
	if kind == messageItem {
		it.Role, it.Content = "assistant", content
	} else {
		it.Summary = content
	}
	return it
}

// start starts an item.
func (s *responseStream) start(kind string) {
	s.open, s.openID, s.given = kind, s.newID(kind), ""
	at, zero := len(s.r.Output), 0
	it := s.itemOf(kind, "in_progress")
	s.sendEvent("response.output_item.added", event{OutputIndex: &at, Item: &it})
	if kind == messageItem {
		s.sendEvent("response.content_part.added", event{ItemID: it.ID, OutputIndex: &at, ContentIndex: &zero, Part: textOut("")})
		return
	}
	s.sendEvent("response.reasoning_summary_part.added", event{ItemID: it.ID, OutputIndex: &at, SummaryIndex: &zero, Part: summaryText{Type: "summary_text"}})
}

// close ends the open item.
func (s *responseStream) close(status string) {
	kind, text := s.open, s.given
	if kind == "" {
		return
	}
	s.open, s.given = "", ""
	at, zero := len(s.r.Output), 0
	e := event{ItemID: s.openID, OutputIndex: &at}
	done := e
	done.Text = &text
	var part any = textOut(text)
	if kind == messageItem {
		e.ContentIndex, done.ContentIndex, e.Part = &zero, &zero, part
		s.sendEvent("response.output_text.done", done)
		s.sendEvent("response.content_part.done", e)
	} else {
		part = summaryText{Type: "summary_text", Text: text}
		e.SummaryIndex, done.SummaryIndex, e.Part = &zero, &zero, part
		s.sendEvent("response.reasoning_summary_text.done", done)
		s.sendEvent("response.reasoning_summary_part.done", e)
	}
	it := s.itemOf(kind, status, part)
	s.r.Output = append(s.r.Output, it)
	s.sendEvent("response.output_item.done", event{OutputIndex: &at, Item: &it})
}

// end ends the response with the tool calls left to the client and the token usage.
func (s *responseStream) end(a wire.Answer) {
	s.close("completed")
	for _, call := range a.Pending {
		s.call(a.Entry, call)
	}
	kind := "response.completed"
	s.r.Status = "completed"
	if a.Stop == string(firn.StopLength) {
		kind = "response.incomplete"
		s.r.Status, s.r.Incomplete = "incomplete", &incomplete{Reason: "max_output_tokens"}
	}
	u := responseUsage{InputTokens: a.Usage.Input + a.Usage.CacheRead + a.Usage.CacheWrite, OutputTokens: a.Usage.Output}
	u.InputDetails.CachedTokens = a.Usage.CacheRead
	u.TotalTokens = u.InputTokens + u.OutputTokens
	s.r.Usage = &u
	if s.r.Firn != nil {
		s.r.Firn.Entry = a.Entry
	}
	s.sendEvent(kind, event{Response: s.r})
}

// call sends a tool call of an answer.
func (s *responseStream) call(entry firn.EntryID, c wire.Tool) {
	at, arguments, none := len(s.r.Output), string(c.Arguments), ""
	id := callItemID(entry, c.Call)
	it := item{ID: id, Type: "function_call", Status: "in_progress", CallID: c.Call, Name: c.Name, Arguments: &none}
	s.sendEvent("response.output_item.added", event{OutputIndex: &at, Item: &it})
	s.sendEvent("response.function_call_arguments.delta", event{ItemID: id, OutputIndex: &at, Delta: &arguments})
	s.sendEvent("response.function_call_arguments.done", event{ItemID: id, OutputIndex: &at, Arguments: &arguments, Name: c.Name})
	it.Status, it.Arguments = "completed", &arguments
	s.r.Output = append(s.r.Output, it)
	s.sendEvent("response.output_item.done", event{OutputIndex: &at, Item: &it})
}
