// Package openaiapi implements OpenAI's API, so that programs written for it can use firn's
// agents and models. Their conversations are stored as sessions.
//
// It is a client of the gateway, like the command line: it uses package client with the
// caller's identity. Its in-memory state is only a cache; the log is authoritative.
//
// Chat completions are stateless: the client sends the whole conversation each time. It
// continues the session that it started; see docs/decisions/0016. Responses and
// conversations are sessions from the start.
package openaiapi

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"firn.dev/client"
	"firn.dev/internal/base/rawjson"
	"firn.dev/wire"
)

// Door serves clients of OpenAI's API. It is safe for concurrent use.
type Door struct {
	clock  func() time.Time
	memory *memory
	holds  sessionLocks
}

// New returns a Door. clock returns the current time; nil means time.Now.
func New(clock func() time.Time) *Door {
	if clock == nil {
		clock = time.Now
	}
	return &Door{clock: clock, memory: newMemory(memorySize)}
}

// Handler returns a handler that serves the requests of user who, using gate to reach the
// gateway.
func (d *Door) Handler(who string, gate http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local := client.InProcess(gate)
		defer local.Close()
		c, err := client.New(client.Options{Transport: local, UserAgent: "openai"})
		v := &exchange{door: d, who: who, c: c, w: w, r: r}
		if err == nil {
			err = v.answer()
		}
		if err != nil {
			v.fail(err)
		}
	})
}

// exchange is one request and its response.
type exchange struct {
	door *Door
	who  string
	c    *client.Client
	w    http.ResponseWriter
	r    *http.Request
	// started is true once the response has started.
	started bool
	// cwd is the working directory of the request; empty if it names none.
	cwd string
}

// answer routes the request to its handler.
func (v *exchange) answer() error {
	conversation, response := v.r.PathValue("conversation"), v.r.PathValue("response")
	switch v.r.Pattern {
	case "/v1/chat/completions":
		return v.chat()
	case "/v1/responses":
		return v.respond()
	case "/v1/responses/{response}":
		return v.oneResponse(response)
	case "/v1/conversations":
		return v.newConversation()
	case "/v1/conversations/{conversation}":
		return v.oneConversation(conversation)
	case "/v1/conversations/{conversation}/items":
		return v.items(conversation)
	}
	return &wire.Problem{Kind: wire.NotFound, Message: "unknown path"}
}

// decode reads the body. Unknown members are accepted, since OpenAI keeps adding new ones
// and most are irrelevant here. Duplicate members are rejected, and names are
// case-sensitive.
func (v *exchange) decode(into any) error {
	data, err := io.ReadAll(v.r.Body)
	if err == nil {
		err = rawjson.Unmarshal(data, into, true)
	}
	if err != nil {
		return badRequest("", "cannot read the request body: %v", err)
	}
	return nil
}

// reply answers with JSON.
func (v *exchange) reply(status int, body any) error {
	data, err := wire.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	v.started = true
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(status)
	v.w.Write(append(data, '\n')) // the client may be gone
	return nil
}

// requestError is an error caused by a member of the request.
type requestError struct {
	*wire.Problem
	param, code string
}

// Unwrap returns the problem.
func (w *requestError) Unwrap() error { return w.Problem }

// badRequest returns an error for an invalid member of the request.
func badRequest(param, format string, args ...any) error {
	return &requestError{&wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf(format, args...)}, param, "invalid_value"}
}

// unsupported returns an error for a member that requests an unsupported feature.
func unsupported(param, format string, args ...any) error {
	return &requestError{&wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf(format, args...)}, param, "unsupported_parameter"}
}
