// Package openaiapi implements OpenAI's API, so that programs written for it can use firn's
// agents and models. Their conversations are stored as sessions.
//
// Chat completions are stateless: the client sends the whole conversation each time, and
// package conversation finds its session. Responses and conversations are sessions from the
// start.
package openaiapi

import (
	"net/http"
	"time"

	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// Door serves clients of OpenAI's API. It is safe for concurrent use.
type Door struct{ keeper *conversation.Keeper }

// protocol is part of the keys and entries of the conversations.
const protocol = "openai"

// New returns a Door. clock returns the current time; nil means time.Now.
func New(clock func() time.Time) *Door { return &Door{conversation.New(protocol, clock)} }

// Handler returns a handler that serves the requests of user who, using gate to reach the
// gateway.
func (d *Door) Handler(who string, gate http.Handler) http.Handler {
	return d.keeper.Serve(who, gate, func(r *conversation.Request) error {
		return (&exchange{r}).answer()
	}, func(err error) (any, int) { return failureOf(err) })
}

// exchange is one request and its response.
type exchange struct{ *conversation.Request }

// answer routes the request to its handler.
func (v *exchange) answer() error {
	conversation, response := v.HTTP.PathValue("conversation"), v.HTTP.PathValue("response")
	switch v.HTTP.Pattern {
	case "/v1/chat/completions":
		return v.chat()
	case "/v1/responses":
		return v.respond()
	case "/v1/responses/{response}":
		return v.oneResponse(response)
	case "/v1/responses/{response}/input_items":
		return v.inputItems(response)
	case "/v1/responses/{response}/cancel":
		return v.cancelResponse(response)
	case "/v1/conversations":
		return v.newConversation()
	case "/v1/conversations/{conversation}":
		return v.oneConversation(conversation)
	case "/v1/conversations/{conversation}/items":
		return v.items(conversation)
	case "/v1/conversations/{conversation}/items/{item}":
		return v.oneItem(conversation, v.HTTP.PathValue("item"))
	}
	return &wire.Problem{Kind: wire.NotFound, Message: "unknown path"}
}
