// Package conversation stores the conversations of clients that speak another protocol as
// sessions. Most of these protocols are stateless: the client sends the whole conversation
// with each request. A [Keeper] finds the session that holds the earlier messages, appends
// the new ones and runs the turn; see docs/decisions/0016.
//
// It is a client of the gateway, with the caller's identity. Its in-memory state is only a
// cache; the log is authoritative. The doors decode and encode their protocols.
package conversation

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"firn.dev/client"
	"firn.dev/internal/base/rawjson"
	"firn.dev/wire"
)

// Keeper stores the conversations of one protocol. It is safe for concurrent use.
type Keeper struct {
	// protocol is part of the keys and entries that are stored for it.
	protocol string
	clock    func() time.Time
	memory   *memory
	holds    sessionLocks
}

// New returns a Keeper for a protocol, such as "openai". clock returns the current time; nil
// means time.Now.
func New(protocol string, clock func() time.Time) *Keeper {
	if clock == nil {
		clock = time.Now
	}
	return &Keeper{protocol: protocol, clock: clock, memory: newMemory(memorySize)}
}

// Serve returns a handler for the requests of user who. It calls answer with each, using
// gate to reach the gateway. If answer fails and nothing was sent, encode returns the body
// and status of the error.
func (k *Keeper) Serve(who string, gate http.Handler, answer func(*Request) error, encode func(error) (any, int)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local := client.InProcess(gate)
		defer local.Close()
		c, err := client.New(client.Options{Transport: local, UserAgent: k.protocol})
		v := &Request{Keeper: k, Who: who, Client: c, HTTP: r, w: w}
		if err == nil {
			err = answer(v)
		}
		if err == nil || v.Started || r.Context().Err() != nil {
			return
		}
		body, status := encode(err)
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		if status == http.StatusConflict { // the SDKs would repeat the request, which starts another turn
			w.Header().Set("X-Should-Retry", "false")
		}
		_ = v.Reply(status, body) // cannot happen: it always marshals
	})
}

// Request is one request of a client, and its response.
type Request struct {
	Keeper *Keeper
	Who    string
	Client *client.Client
	HTTP   *http.Request
	w      http.ResponseWriter
	// Started is true once the response has started.
	Started bool
	// dir is the working directory of the request; empty if it names none.
	dir string
}

// Now returns the current time.
func (v *Request) Now() time.Time { return v.Keeper.clock() }

// Header returns the header of the response.
func (v *Request) Header() http.Header { return v.w.Header() }

// Decode reads the body. Unknown members are accepted, since protocols keep adding new ones
// and most are irrelevant here. Duplicate members are rejected, and names are
// case-sensitive.
func (v *Request) Decode(into any) error {
	data, err := io.ReadAll(v.HTTP.Body)
	if err == nil {
		err = rawjson.Unmarshal(data, into, true)
	}
	if err != nil {
		return BadRequest("", "cannot read the request body: %v", err)
	}
	return nil
}

// Reply answers with JSON.
func (v *Request) Reply(status int, body any) error {
	data, err := wire.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	v.Started = true
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(status)
	v.w.Write(append(data, '\n')) // the client may be gone
	return nil
}

// BeginStream starts an event stream response.
func (v *Request) BeginStream() {
	v.Started = true
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.WriteHeader(http.StatusOK)
}

// Write writes a part of a stream. Write errors are ignored: the request context is
// canceled when the client disconnects.
func (v *Request) Write(b []byte) {
	if _, err := v.w.Write(b); err == nil {
		_ = http.NewResponseController(v.w).Flush()
	}
}

// SessionName returns the session that the client names in its header or metadata.
func (v *Request) SessionName(metadata map[string]string) string {
	for _, name := range []string{v.HTTP.Header.Get(SessionHeader), metadata["firn_session"], metadata["session"]} {
		if name = strings.TrimSpace(name); name != "" {
			return name
		}
	}
	return ""
}

// SessionHeader is the header that names a session, in requests and responses.
const SessionHeader = "X-Firn-Session"

// RequestError is an error caused by a member of the request.
type RequestError struct {
	*wire.Problem
	// Param is the member; Code classifies the error in the words of OpenAI's API.
	Param, Code string
}

// Unwrap returns the problem.
func (e *RequestError) Unwrap() error { return e.Problem }

// BadRequest returns an error for an invalid member of the request.
func BadRequest(param, format string, args ...any) error {
	return &RequestError{&wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf(format, args...)}, param, "invalid_value"}
}

// Unsupported returns an error for a member that requests an unsupported feature.
func Unsupported(param, format string, args ...any) error {
	return &RequestError{&wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf(format, args...)}, param, "unsupported_parameter"}
}
