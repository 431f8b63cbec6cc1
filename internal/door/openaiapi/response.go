package openaiapi

import (
	"encoding/json"
	"net/http"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/formats/dialect/native"
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
	if err := v.decode(&q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	if err := v.setDirectory(q.Metadata); err != nil {
		return err
	}
	t, err := input(q.Input)
	if err != nil {
		return err
	}
	who, err := v.choose(q.Model)
	if err != nil {
		return err
	}
	terms, err := q.terms(who)
	if err != nil {
		return err
	}
	p, err := v.placeResponse(&q, who, t)
	if err != nil {
		return err
	}
	terms.Instructions = q.Instructions
	r := q.response(p, who, v.door.clock().Unix())
	v.w.Header().Set("X-Firn-Session", string(p.at.session))
	defer p.release()
	if q.Stream {
		return newSpeech(v, r).run(p, terms)
	}
	s := newSpeech(nil, r)
	done, err := v.run(p, terms, s)
	if err != nil {
		return err
	}
	v.rememberResponse(p, done, r.ID)
	s.end(done.answer)
	return v.reply(http.StatusOK, r)
}

// response returns the response as far as it is known before the turn runs.
func (q *responseRequest) response(p *placed, who choice, now int64) *response {
	r := &response{
		ID: responseID(p.at.session, p.question), Object: "response", CreatedAt: now, Status: "in_progress", Model: who.displayName(),
		Output: []item{}, ParallelToolCalls: true, Store: true, Text: json.RawMessage(`{"format":{"type":"text"}}`),
		ToolChoice: q.ToolChoice, Tools: q.Tools, Truncation: "disabled", Metadata: q.Metadata, Firn: &location{Session: p.at.session},
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
func (v *exchange) placeResponse(q *responseRequest, who choice, t *transcript) (*placed, error) {
	if t.isEmpty() {
		return nil, badRequest("input", "empty input")
	}
	p := &placed{whole: digest{}.with(t.messages...)}
	var err error
	switch conversation := q.conversation(); {
	case q.Previous != "":
		p.at, err = v.afterResponse(q.Previous, who)
	case conversation != "":
		p.at, err = v.inConversation(conversation, who)
	case v.sessionName(q.Metadata) != "" || t.answered():
		q.Instructions = (&transcript{system: append([]string{q.Instructions}, t.system...)}).instructions()
		return v.place(v.sessionName(q.Metadata), q.User, who, t)
	default:
		p.opening = v.opening(q.User, who, t)
		p.at, err = v.createSession(who, p.opening)
	}
	if err != nil {
		return nil, err
	}
	begins := p.opening != ""
	fresh := t.messages
	if len(t.system) > 0 {
		fresh = append([]firn.Message{{Role: firn.RoleSystem, Parts: textPart(t.instructions())}}, fresh...)
	}
	return p, v.appendNew(p, who, q.Instructions, fresh, begins)
}

// afterResponse returns the position after a response.
func (v *exchange) afterResponse(id string, who choice) (position, error) {
	session, question, err := parseResponse(id, "previous_response_id")
	if err != nil {
		return position{}, err
	}
	// Looked up even if the position is cached, to check the caller's access.
	s, err := v.c.Session(v.r.Context(), string(session))
	if err == nil {
		err = checkAgent(s, who)
	}
	if err != nil {
		return position{}, notFoundError(err, "response", id, "previous_response_id")
	}
	at, ok := v.door.memory.get(id)
	if !ok {
		found, err := v.answerTo(session, question)
		if err != nil {
			return position{}, err
		}
		if found.answer == "" {
			return position{}, noSuch("response", id, "previous_response_id")
		}
		at = position{session: session, entry: found.answer}
	}
	return at, v.checkModel(&at, who)
}

// notFoundError converts a not-found error to one that names the object and the parameter.
// Other errors are returned unchanged.
func notFoundError(err error, what, id, param string) error {
	if wire.KindOf(err) == wire.NotFound {
		return noSuch(what, id, param)
	}
	return err
}

// answered is the answer to a question, as stored in the log.
type answered struct {
	branch
	question, answer firn.EntryID
	asked            firn.Entry
}

// answerTo finds the answer to a question in the log. The result has no answer if there was
// none.
func (v *exchange) answerTo(id firn.ID, question firn.EntryID) (*answered, error) {
	a := &answered{branch: newBranch(), question: question}
	for e, err := range v.c.Entries(v.r.Context(), id, client.EntryQuery{View: wire.ViewDisk, Back: true}) {
		if err != nil {
			return nil, err
		}
		entry, err := native.New().Decode(e.Line)
		if err != nil {
			continue // a gap
		}
		if entry.ID == question {
			a.asked = entry
			a.answer = a.branch.answer(question, func(firn.Message) bool { return true })
			return a, nil
		}
		a.add(entry)
	}
	return a, nil
}

// rememberResponse records where a response continues.
func (v *exchange) rememberResponse(p *placed, t *turn, id string) {
	v.remember(p, t)
	if t.answer.Entry != "" {
		at := p.at
		at.entry = t.answer.Entry
		v.door.memory.put(id, at)
	}
}
