package openaiapi

import (
	"encoding/json"
	"net/http"

	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// response is a response object of this API.
type response struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	CreatedAt         int64             `json:"created_at"`
	Status            string            `json:"status"`
	Error             *responseError    `json:"error"`
	Incomplete        *incomplete       `json:"incomplete_details"`
	Instructions      *string           `json:"instructions"`
	MaxOutputTokens   *int64            `json:"max_output_tokens"`
	Model             string            `json:"model"`
	Output            []item            `json:"output"`
	ParallelToolCalls bool              `json:"parallel_tool_calls"`
	Previous          *string           `json:"previous_response_id"`
	Conversation      *named            `json:"conversation"`
	Store             bool              `json:"store"`
	Temperature       *float64          `json:"temperature"`
	TopP              *float64          `json:"top_p"`
	Text              json.RawMessage   `json:"text"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	Tools             []json.RawMessage `json:"tools"`
	Truncation        string            `json:"truncation"`
	Usage             *responseUsage    `json:"usage"`
	Metadata          map[string]string `json:"metadata"`
	Firn              *location         `json:"firn,omitempty"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type named struct {
	ID string `json:"id"`
}

type responseUsage struct {
	InputTokens  int64 `json:"input_tokens"`
	InputDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens  int64 `json:"output_tokens"`
	OutputDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int64 `json:"total_tokens"`
}

// respond handles a request to create a response.
func (v *exchange) respond() error {
	var q responseRequest
	if err := v.Decode(&q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	if err := v.SetDirectory(q.Metadata); err != nil {
		return err
	}
	t, err := input(q.Input)
	if err != nil {
		return err
	}
	who, err := v.Choose(q.Model)
	if err != nil {
		return err
	}
	terms, err := q.terms(who)
	if err != nil {
		return err
	}
	p, err := v.placeResponse(&q, who, t, &terms)
	if err != nil {
		return err
	}
	terms.Instructions = q.Instructions
	r := q.response(p, who, v.Now().Unix())
	v.nameSession(p)
	defer p.Release()
	if q.Stream {
		return formatError(newSpeech(v, r).run(p, terms), responseFormatParam, terms)
	}
	s := newSpeech(nil, r)
	done, err := v.Run(p, terms, s)
	if err != nil {
		return formatError(err, responseFormatParam, terms)
	}
	v.RememberAs(r.ID, p, done)
	s.end(done.Answer)
	return v.Reply(http.StatusOK, r)
}

// response returns the response as far as it is known before the turn runs.
func (q *responseRequest) response(p *conversation.Placed, who conversation.Choice, now int64) *response {
	r := &response{
		ID: responseID(p.At.Session, p.Question), Object: "response", CreatedAt: now, Status: "in_progress", Model: who.DisplayName(),
		Output: []item{}, ParallelToolCalls: true, Store: p.Stored(), Text: q.textFormat(),
		ToolChoice: q.ToolChoice, Tools: q.Tools, Truncation: "disabled", Metadata: q.Metadata, Firn: locationOf(p, ""),
	}
	if !given(r.ToolChoice) {
		r.ToolChoice = json.RawMessage(`"auto"`)
	}
	if r.Tools == nil {
		r.Tools = []json.RawMessage{}
	}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	if q.Instructions != "" {
		r.Instructions = &q.Instructions
	}
	if q.MaxOutputTokens > 0 {
		r.MaxOutputTokens = &q.MaxOutputTokens
	}
	if q.Previous != "" {
		r.Previous = &q.Previous
	}
	if c := q.conversation(); c != "" {
		r.Conversation = &named{c}
	}
	return r
}

// placeResponse appends the client's input where it continues: after a response, at the end
// of a conversation, or, as in a chat, where the earlier messages are stored. System
// messages become part of the conversation, unless the client sends the whole conversation
// each time.
func (v *exchange) placeResponse(q *responseRequest, who conversation.Choice, t *conversation.Transcript, terms *wire.TurnOptions) (*conversation.Placed, error) {
	if unstored(q.Store) {
		return v.placeUnstored(q, who, t, terms)
	}
	if t.IsEmpty() {
		return nil, conversation.BadRequest("input", "empty input")
	}
	var at conversation.Position
	var err error
	switch id, name := q.conversation(), v.SessionName(q.Metadata); {
	case q.Previous != "":
		at, err = v.afterResponse(q.Previous, who)
	case id != "":
		at, err = v.inConversation(id, who)
	case name != "" || t.Answered():
		t.System = append([]string{q.Instructions}, t.System...)
		q.Instructions = t.Instructions()
		return v.Place(name, q.User, who, t)
	default:
		return v.PlaceNew(q.User, who, t, q.Instructions)
	}
	if err != nil {
		return nil, err
	}
	return v.PlaceAt(at, who, t, q.Instructions)
}

// afterResponse returns the position after a response, where the model can answer.
func (v *exchange) afterResponse(id string, who conversation.Choice) (conversation.Position, error) {
	at, err := v.endOfResponse(id, who)
	if err != nil {
		return at, err
	}
	return at, v.CheckModel(&at, who)
}

// endOfResponse returns the position after a response.
func (v *exchange) endOfResponse(id string, who conversation.Choice) (conversation.Position, error) {
	session, question, err := parseResponse(id, "previous_response_id")
	if err != nil {
		return conversation.Position{}, err
	}
	// Looked up even if the position is cached, to check the caller's access.
	s, err := v.Client.Session(v.HTTP.Context(), string(session))
	if err == nil {
		err = conversation.CheckAgent(s, who)
	}
	if err != nil {
		return conversation.Position{}, notFoundError(err, "response", id, "previous_response_id")
	}
	at, ok := v.Recall(id)
	if !ok {
		found, err := v.AnswerTo(session, question)
		if err != nil {
			return conversation.Position{}, err
		}
		if found.Answer == "" {
			return conversation.Position{}, noSuch("response", id, "previous_response_id")
		}
		at = conversation.Position{Session: session, Entry: found.Answer}
	}
	return at, nil
}

// notFoundError converts a not-found error to one that names the object and the parameter.
// Other errors are returned unchanged.
func notFoundError(err error, what, id, param string) error {
	if wire.KindOf(err) == wire.NotFound {
		return noSuch(what, id, param)
	}
	return err
}
