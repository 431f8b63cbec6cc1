// Package openaiapi speaks OpenAI's API, so that programs written for it talk
// to firn's agents and models, and what is said is kept in sessions.
//
// It is a client of the gateway, as the command line is: it asks with package
// client, as whoever called it, and knows nothing deeper. What it remembers
// between requests it can forget: what counts is in the log.
//
// Chat completions are stateless for the client, who sends the whole
// conversation each time. Here it goes on with the session that it began; see
// docs/decisions/0016. Responses and conversations are sessions from the start.
package openaiapi

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"firn/client"
	"firn/internal/rawjson"
	"firn/wire"
)

// Door lets clients of OpenAI's API in. It is safe for concurrent use.
type Door struct {
	clock  func() time.Time
	memory *memory
	holds  holds
}

// New makes a door. clock tells the time; nil means time.Now.
func New(clock func() time.Time) *Door {
	if clock == nil {
		clock = time.Now
	}
	return &Door{clock: clock, memory: newMemory(memorySize)}
}

// Handler answers one request of who, who talks to the gateway through gate.
func (d *Door) Handler(who string, gate http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local := client.InProcess(gate)
		defer local.Close()
		c, err := client.New(client.Options{Transport: local, UserAgent: "openai"})
		v := &visit{door: d, who: who, c: c, w: w, r: r}
		if err == nil {
			err = v.answer()
		}
		if err != nil {
			v.fail(err)
		}
	})
}

// visit is one request.
type visit struct {
	door *Door
	who  string
	c    *client.Client
	w    http.ResponseWriter
	r    *http.Request
	// begun says that the answer is on its way.
	begun bool
}

// answer hands the request to whoever answers it.
func (v *visit) answer() error {
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
	return &wire.Problem{Kind: wire.NotFound, Message: "there is no such address"}
}

// decode reads the body. Members that we do not know are not refused: OpenAI
// adds some every month, and most do not matter here. But each counts once and in its
// exact case.
func (v *visit) decode(into any) error {
	data, err := io.ReadAll(v.r.Body)
	if err == nil {
		err = rawjson.Unmarshal(data, into, true)
	}
	if err != nil {
		return bad("", "the body cannot be read: %v", err)
	}
	return nil
}

// reply answers with JSON.
func (v *visit) reply(status int, body any) error {
	data, err := wire.Spell(body)
	if err != nil {
		return fmt.Errorf("spell the answer: %w", err)
	}
	v.begun = true
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(status)
	v.w.Write(append(data, '\n')) // who is gone needs no answer
	return nil
}

// wrong is a request that cannot be met, and which member of it is why.
type wrong struct {
	*wire.Problem
	param, code string
}

// Unwrap returns the problem.
func (w *wrong) Unwrap() error { return w.Problem }

// bad says what is wrong with a member of the request.
func bad(param, format string, args ...any) error {
	return &wrong{&wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf(format, args...)}, param, "invalid_value"}
}

// unsupported says that a member asks for what nobody here can do.
func unsupported(param, format string, args ...any) error {
	return &wrong{&wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf(format, args...)}, param, "unsupported_parameter"}
}
