// Package anthropicapi implements Anthropic's Messages API, so that programs written for it
// can use firn's agents and models. Their conversations are stored as sessions.
//
// The API is stateless: the client sends the whole conversation each time, and package
// conversation finds its session.
package anthropicapi

import (
	"net/http"
	"time"

	"firn.dev"
	"firn.dev/internal/door/conversation"
	"firn.dev/internal/door/foreign"
	"firn.dev/wire"
)

// Door serves clients of Anthropic's API. It is safe for concurrent use.
type Door struct {
	keeper *conversation.Keeper
	count  func(*firn.Message) int64
}

// New returns a Door. clock returns the current time; nil means time.Now. count estimates
// the number of tokens of a message.
func New(clock func() time.Time, count func(*firn.Message) int64) *Door {
	return &Door{conversation.New("anthropic", clock), count}
}

// Handler returns a handler that serves the requests of user who, using gate to reach the
// gateway.
func (d *Door) Handler(who string, gate http.Handler) http.Handler {
	return d.keeper.Serve(who, gate, func(r *conversation.Request) error {
		v := &exchange{r, d.count}
		switch r.HTTP.Pattern {
		case "/v1/messages":
			return v.messages()
		case "/v1/messages/count_tokens":
			return v.countTokens()
		}
		return &wire.Problem{Kind: wire.NotFound, Message: "unknown path"}
	}, func(err error) (any, int) { return failureOf(err) })
}

// exchange is one request and its response.
type exchange struct {
	*conversation.Request
	count func(*firn.Message) int64
}

// failureOf converts an error to Anthropic's format and returns its HTTP status.
func failureOf(err error) (foreign.AnthropicFailure, int) {
	p, status := conversation.ProblemOf(err)
	return foreign.ToAnthropic(*p), status
}

// read reads the request and its conversation.
func (v *exchange) read() (q request, t *conversation.Transcript, err error) {
	if err = v.Decode(&q); err == nil {
		t, err = q.transcript()
	}
	return q, t, err
}

// messages answers a conversation.
func (v *exchange) messages() error {
	q, t, err := v.read()
	if err != nil {
		return err
	}
	metadata := q.metadata()
	if err := v.SetDirectory(metadata); err != nil {
		return err
	}
	who, err := v.Choose(q.Model)
	if err != nil {
		return err
	}
	options, err := q.options(who)
	if err != nil {
		return err
	}
	options.Instructions = t.Instructions()
	p, err := v.Place(v.SessionName(metadata), metadata["user_id"], who, t)
	if err != nil {
		return err
	}
	defer p.Release()
	v.Header().Set(conversation.SessionHeader, string(p.At.Session))
	a := newAnswer(v.Request, q.Stream, q.wantsThinking(), message{
		ID: "msg_" + string(p.At.Session) + "_" + string(p.Question), Model: who.DisplayName(), Firn: location{Session: p.At.Session},
	})
	return a.run(p, options)
}

// tokenCount is the answer to a request to count tokens.
type tokenCount struct {
	InputTokens int64 `json:"input_tokens"`
}

// countTokens estimates the number of input tokens of a request.
func (v *exchange) countTokens() error {
	q, t, err := v.read()
	if err != nil {
		return err
	}
	if _, err := v.Choose(q.Model); err != nil {
		return err
	}
	text := func(s string) *firn.Message {
		return &firn.Message{Role: firn.RoleUser, Parts: conversation.TextPart(s)}
	}
	n := v.count(text(t.Instructions()))
	for _, m := range t.Messages {
		n += v.count(&m)
	}
	for _, x := range q.Tools {
		n += v.count(text(x.Name + x.Description + string(x.Schema)))
	}
	return v.Reply(http.StatusOK, tokenCount{n})
}
