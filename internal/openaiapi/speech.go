package openaiapi

import (
	"encoding/json"
	"fmt"

	"firn"
	"firn/internal/sse"
	"firn/wire"
)

// speech is a response while it is given: it gathers the output, and tells
// events if the client wants them.
type speech struct {
	// v is who is told; nil if nobody is until the response is whole.
	v *visit
	r *response
	// n numbers the events.
	n int
	// open is the item that is being given: a message or what the model says to
	// itself; text is what it says so far.
	open  string
	given string
}

// The types of items that are given piece by piece.
const (
	messageItem   = "message"
	reasoningItem = "reasoning"
)

func newSpeech(v *visit, r *response) *speech { return &speech{v: v, r: r} }

// run runs the turn and tells its events.
func (s *speech) run(p *placed, terms wire.Terms) error {
	done, err := s.v.run(p, terms, s)
	if err != nil {
		return s.broken(err)
	}
	s.v.rememberResponse(p, done, s.r.ID)
	if !s.v.begun {
		s.begin()
	}
	s.end(done.answer)
	return nil
}

// broken ends a response that broke off.
func (s *speech) broken(err error) error {
	if !s.v.begun {
		return err
	}
	failure, _ := failureOf(err)
	s.close("incomplete")
	s.r.Status, s.r.Error = "failed", &responseError{Code: "server_error", Message: failure.Error.Message}
	s.tell("response.failed", event{Response: s.r})
	return nil
}

// event is an event of a response.
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

// tell tells an event.
func (s *speech) tell(kind string, e event) {
	if s.v == nil {
		return
	}
	e.Type, e.Sequence = kind, s.n
	s.n++
	data, err := wire.Spell(e)
	if err != nil { // there is nothing in it that has no spelling
		data = json.RawMessage("{}")
	}
	s.v.write(sse.Append(nil, sse.Event{Name: kind, Data: data}))
}

// begin begins the stream; later it shows that it is alive.
func (s *speech) begin() {
	switch {
	case s.v == nil:
	case s.v.begun:
		s.v.write([]byte(":\n\n"))
	default:
		s.v.beginStream()
		s.tell("response.created", event{Response: s.r})
		s.tell("response.in_progress", event{Response: s.r})
	}
}

// text tells a piece of the answer.
func (s *speech) text(piece string, round bool) { s.piece(messageItem, piece, round) }

// think tells what the model says to itself.
func (s *speech) think(piece string) { s.piece(reasoningItem, piece, false) }

// piece adds to an item, and begins it if another, or none, is open.
func (s *speech) piece(kind, piece string, anew bool) {
	if s.v != nil && !s.v.begun {
		s.begin()
	}
	if s.open != kind || anew {
		s.close("completed")
		s.start(kind)
	}
	s.given += piece
	at, zero := len(s.r.Output), 0
	e := event{ItemID: s.itemID(kind), OutputIndex: &at, Delta: &piece}
	if kind == messageItem {
		e.ContentIndex = &zero
		s.tell("response.output_text.delta", e)
		return
	}
	e.SummaryIndex = &zero
	s.tell("response.reasoning_summary_text.delta", e)
}

// itemID is the id of the item that is being given.
func (s *speech) itemID(kind string) string {
	prefix := map[string]string{messageItem: "msg_", reasoningItem: "rs_"}[kind]
	return prefix + s.r.ID[len(responsePrefix):] + fmt.Sprintf("_%d", len(s.r.Output))
}

// outputText is the part of a message that says something.
type outputText struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"`
}

func textOut(text string) outputText {
	return outputText{Type: "output_text", Text: text, Annotations: []string{}}
}

// summaryText is a part of what a model says to itself.
type summaryText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// itemOf makes an item of a text.
func (s *speech) itemOf(kind, status string, parts ...any) item {
	if parts == nil {
		parts = []any{}
	}
	content, err := wire.Spell(parts)
	if err != nil { // there is nothing in it that has no spelling
		content = json.RawMessage("[]")
	}
	it := item{ID: s.itemID(kind), Type: kind, Status: status}
	if kind == messageItem {
		it.Role, it.Content = "assistant", content
	} else {
		it.Summary = content
	}
	return it
}

// start begins an item.
func (s *speech) start(kind string) {
	s.open, s.given = kind, ""
	at, zero := len(s.r.Output), 0
	it := s.itemOf(kind, "in_progress")
	s.tell("response.output_item.added", event{OutputIndex: &at, Item: &it})
	if kind == messageItem {
		s.tell("response.content_part.added", event{ItemID: it.ID, OutputIndex: &at, ContentIndex: &zero, Part: textOut("")})
		return
	}
	s.tell("response.reasoning_summary_part.added", event{ItemID: it.ID, OutputIndex: &at, SummaryIndex: &zero, Part: summaryText{Type: "summary_text"}})
}

// close ends the item that is open.
func (s *speech) close(status string) {
	kind, text := s.open, s.given
	if kind == "" {
		return
	}
	s.open, s.given = "", ""
	at, zero := len(s.r.Output), 0
	e := event{ItemID: s.itemID(kind), OutputIndex: &at}
	done := e
	done.Text = &text
	var part any = textOut(text)
	if kind == messageItem {
		e.ContentIndex, done.ContentIndex, e.Part = &zero, &zero, part
		s.tell("response.output_text.done", done)
		s.tell("response.content_part.done", e)
	} else {
		part = summaryText{Type: "summary_text", Text: text}
		e.SummaryIndex, done.SummaryIndex, e.Part = &zero, &zero, part
		s.tell("response.reasoning_summary_text.done", done)
		s.tell("response.reasoning_summary_part.done", e)
	}
	it := s.itemOf(kind, status, part)
	s.r.Output = append(s.r.Output, it)
	s.tell("response.output_item.done", event{OutputIndex: &at, Item: &it})
}

// end ends the response: with the calls that are left to the client, and what
// it all used.
func (s *speech) end(a wire.Answer) {
	s.close("completed")
	for _, call := range a.Pending {
		s.call(call)
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
	s.r.Firn.Entry = a.Entry
	s.tell(kind, event{Response: s.r})
}

// call tells a call.
func (s *speech) call(c wire.Tool) {
	at, arguments, none := len(s.r.Output), string(c.Arguments), ""
	id := fmt.Sprintf("fc_%s_%d", s.r.ID[len(responsePrefix):], at)
	it := item{ID: id, Type: "function_call", Status: "in_progress", CallID: c.Call, Name: c.Name, Arguments: &none}
	s.tell("response.output_item.added", event{OutputIndex: &at, Item: &it})
	s.tell("response.function_call_arguments.delta", event{ItemID: id, OutputIndex: &at, Delta: &arguments})
	s.tell("response.function_call_arguments.done", event{ItemID: id, OutputIndex: &at, Arguments: &arguments, Name: c.Name})
	it.Status, it.Arguments = "completed", &arguments
	s.r.Output = append(s.r.Output, it)
	s.tell("response.output_item.done", event{OutputIndex: &at, Item: &it})
}
