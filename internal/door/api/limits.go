package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

// gauge counts concurrent users up to a limit.
type gauge struct {
	limit int64
	n     atomic.Int64
}

// enter increments the count. It reports false if the limit is reached.
func (g *gauge) enter() bool {
	if g.n.Add(1) > g.limit {
		g.n.Add(-1)
		return false
	}
	return true
}

func (g *gauge) leave() { g.n.Add(-1) }

// requestLimits limits concurrent requests by kind: short requests, streams and requests
// that wait for a model.
type requestLimits struct {
	requests, streams, waiting gauge
	answers                    budget
}

// limitsOf returns the limits that apply to the requests of a context.
func (h *HTTP) limitsOf(ctx context.Context) *requestLimits {
	if isOwner(ctx) {
		return &h.own
	}
	return &h.others
}

func busy() error {
	return &wire.Problem{Kind: wire.Busy, Message: "too many requests at the moment", Hint: "try again in a second"}
}

// decode reads the body of a request as JSON. Its members must match those of v exactly,
// including case, without duplicates. v is unchanged if there is no body and optional is
// set.
func (c *call) decode(v any, optional bool) error {
	body, err := c.body("application/json", optional)
	if body == nil || err != nil {
		return err
	}
	data, err := io.ReadAll(body)
	if err == nil {
		c.bodyArrived()
		err = rawjson.Unmarshal(data, v, false)
	}
	if err != nil {
		return c.bodyError(err)
	}
	return nil
}

// body returns the body of a request, limited in size and time. It returns nil if there is
// none and optional is set. Other content types are rejected: another site's page can send
// text and forms without a preflight, but not JSON.
func (c *call) body(want string, optional bool) (io.Reader, error) {
	r := c.r
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		if optional {
			return nil, nil
		}
		return nil, gateway.Invalid("missing request body")
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != want {
		return nil, &withStatus{&wire.Problem{Kind: wire.Invalid, Message: "unsupported content type", Hint: "send Content-Type: " + want}, http.StatusUnsupportedMediaType}
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &withStatus{&wire.Problem{Kind: wire.Invalid, Message: "compressed request bodies are not supported"}, http.StatusUnsupportedMediaType}
	}
	most := c.h.config.MaxBody
	if c.op.login {
		most = min(most, loginBody)
	}
	if r.ContentLength > most {
		c.w.Header().Set("Connection", "close")
		return nil, tooLarge(most)
	}
	return http.MaxBytesReader(c.w.ResponseWriter, c.pacedBody(c.h.config.BodyTimeout), most), nil
}

// loginBody limits the body of a login, which is read before authentication.
const loginBody = 64 << 10

// pacedBody returns the body of the request. It must arrive within a time and, after a
// grace period, at a minimum rate.
func (c *call) pacedBody(within time.Duration) io.ReadCloser {
	now := time.Now()
	return &pacedBody{ReadCloser: c.r.Body, control: http.NewResponseController(c.w), began: now, end: now.Add(within)}
}

// A body may take slowStart, and after that must arrive at slowRate bytes per second.
const (
	slowStart = 10 * time.Second
	slowRate  = 1 << 10
)

// pacedBody is a body whose read deadline advances with the bytes received.
type pacedBody struct {
	io.ReadCloser
	control    *http.ResponseController
	began, end time.Time
	received   int64
}

// Read implements [io.Reader].
func (s *pacedBody) Read(b []byte) (int, error) {
	due := s.began.Add(slowStart + time.Duration(s.received)*time.Second/slowRate)
	if due.After(s.end) {
		due = s.end
	}
	_ = s.control.SetReadDeadline(due) // requests without a connection have no deadline
	n, err := s.ReadCloser.Read(b)
	s.received += int64(n)
	return n, err
}

// closeUnreadBody is called before an error response. If the body has not been read, the
// connection is closed after the response: otherwise the server would first wait for a body
// that may never arrive.
func (c *call) closeUnreadBody() {
	if c.r.Body == nil || c.r.Body == http.NoBody || c.r.ContentLength == 0 || c.bodyRead {
		return
	}
	c.w.Header().Set("Connection", "close")
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(unreadTime))
}

// unreadTime limits the wait for the rest of an unwanted body.
const unreadTime = 250 * time.Millisecond

// bodyArrived removes the read deadline: after sending its body, a client may wait for the
// response without a limit.
func (c *call) bodyArrived() {
	c.bodyRead = true
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
}

func tooLarge(most int64) error {
	return fmt.Errorf("request body exceeds %d bytes: %w", most, firn.ErrTooLarge)
}

// bodyError converts a body read or decode error to the error sent to the client.
func (c *call) bodyError(err error) error {
	var large *http.MaxBytesError
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var member *rawjson.MemberError
	switch {
	case errors.As(err, &member):
		return gateway.Invalid("request body rejected: %s", member.Error())
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.w.Header().Set("Connection", "close")
		return &withStatus{&wire.Problem{Kind: wire.Invalid, Message: "timeout reading the request body"}, http.StatusRequestTimeout}
	case errors.As(err, &syntax):
		return gateway.Invalid("the request body is not valid JSON: at byte %d: %s", syntax.Offset, syntax.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return gateway.Invalid("the request body is truncated")
	case errors.As(err, &kind):
		return gateway.Invalid("the member %q of the request body cannot be a %s", kind.Field, kind.Value)
	}
	return gateway.Invalid("cannot read the request body: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// query holds the parameters of a request. The first invalid one is recorded in err.
type query struct {
	values url.Values
	err    error
}

// parseQuery parses the parameters of a request. It rejects unknown and repeated ones.
func parseQuery(r *http.Request, op *operation) (query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query{}, gateway.Invalid("cannot parse the query parameters")
	}
	for name, all := range values {
		if !op.knows(name) {
			return query{}, gateway.Invalid("unknown parameter %q", name)
		}
		if len(all) > 1 {
			return query{}, gateway.Invalid("the parameter %q is given %d times", name, len(all))
		}
	}
	return query{values: values}, nil
}

// text returns a parameter as a string.
func (q *query) text(name string) string { return q.values.Get(name) }

// flag returns a boolean parameter.
func (q *query) flag(name string) bool {
	s := q.values.Get(name)
	switch s {
	case "":
		return q.values.Has(name) // ?archived
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	q.bad(name, s, "true or false")
	return false
}

// number returns a numeric parameter up to limit. It returns zero if the parameter is
// missing.
func (q *query) number(name string, limit uint64) uint64 {
	s := q.values.Get(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > limit {
		q.bad(name, s, fmt.Sprintf("a number up to %d", limit))
	}
	return n
}

// pos returns a parameter that is a position.
func (q *query) pos(name string) firn.Pos { return firn.Pos(q.number(name, 1<<63)) }

// moment returns a parameter that is a time or a date.
func (q *query) moment(name string) time.Time {
	s := q.values.Get(name)
	if s == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	q.bad(name, s, "a time such as 2026-03-01T12:00:00Z, or a day")
	return time.Time{}
}

func (q *query) bad(name, value, want string) {
	if q.err == nil {
		q.err = gateway.Invalid("the parameter %s is %q, expected %s", name, value, want)
	}
}
