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

// gauge counts those inside, up to a limit.
type gauge struct {
	limit int64
	n     atomic.Int64
}

// enter counts one in, unless there are too many.
func (g *gauge) enter() bool {
	if g.n.Add(1) > g.limit {
		g.n.Add(-1)
		return false
	}
	return true
}

func (g *gauge) leave() { g.n.Add(-1) }

// rooms bounds how much is done at a time, by what it takes: a moment, a
// connection that listens, or a model.
type rooms struct {
	requests, streams, waiting gauge
	answers                    budget
}

// roomsOf returns where the requests of a context are counted.
func (h *HTTP) roomsOf(ctx context.Context) *rooms {
	if isOwner(ctx) {
		return &h.own
	}
	return &h.others
}

func busy() error {
	return &wire.Problem{Kind: wire.Busy, Message: "the gateway has too much to do at the moment", Hint: "ask again in a second"}
}

// decode reads the body of a request, which is JSON of exactly the members
// that v has, each once and in its exact case. Without a body v stays as it is, if that is allowed.
func (c *call) decode(v any, optional bool) error {
	body, err := c.body("application/json", optional)
	if body == nil || err != nil {
		return err
	}
	data, err := io.ReadAll(body)
	if err == nil {
		c.arrived()
		err = rawjson.Unmarshal(data, v, false)
	}
	if err != nil {
		return c.unreadable(err)
	}
	return nil
}

// body returns the body of a request, bounded in size and time; nil if there
// is none and that is allowed. A type other than what is wanted is refused: a
// foreign page can send text and forms without asking, but not JSON.
func (c *call) body(want string, optional bool) (io.Reader, error) {
	r := c.r
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		if optional {
			return nil, nil
		}
		return nil, gateway.Invalid("the request needs a body")
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != want {
		return nil, &withStatus{&wire.Problem{Kind: wire.Invalid, Message: "the body has the wrong type", Hint: "send Content-Type: " + want}, http.StatusUnsupportedMediaType}
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &withStatus{&wire.Problem{Kind: wire.Invalid, Message: "the body is packed, and nobody here unpacks it"}, http.StatusUnsupportedMediaType}
	}
	most := c.h.config.MaxBody
	if c.op.door {
		most = min(most, loginBody)
	}
	if r.ContentLength > most {
		c.w.Header().Set("Connection", "close")
		return nil, tooLarge(most)
	}
	return http.MaxBytesReader(c.w.ResponseWriter, c.steady(c.h.config.BodyTimeout), most), nil
}

// loginBody bounds the body of a login: it is read before it is known who asks.
const loginBody = 64 << 10

// steady returns the body of the request, which must come within a time and, after
// a start, at a rate: one that trickles in is given up early.
func (c *call) steady(within time.Duration) io.ReadCloser {
	now := time.Now()
	return &steady{ReadCloser: c.r.Body, control: http.NewResponseController(c.w), began: now, end: now.Add(within)}
}

// A body may take slowStart, and beyond that must come at slowRate bytes a second.
const (
	slowStart = 10 * time.Second
	slowRate  = 1 << 10
)

// steady is a body with a deadline that moves with what has come.
type steady struct {
	io.ReadCloser
	control    *http.ResponseController
	began, end time.Time
	came       int64
}

// Read implements [io.Reader].
func (s *steady) Read(b []byte) (int, error) {
	due := s.began.Add(slowStart + time.Duration(s.came)*time.Second/slowRate)
	if due.After(s.end) {
		due = s.end
	}
	_ = s.control.SetReadDeadline(due) // where there is no connection none can be slow
	n, err := s.ReadCloser.Read(b)
	s.came += int64(n)
	return n, err
}

// forgoBody is called before a request is answered with a problem. If its body
// has not been read, the connection is closed after the answer: otherwise the
// server would first wait for a body that may never come.
func (c *call) forgoBody() {
	if c.r.Body == nil || c.r.Body == http.NoBody || c.r.ContentLength == 0 || c.bodyRead {
		return
	}
	c.w.Header().Set("Connection", "close")
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(unreadTime))
}

// unreadTime is how long the rest of a body that is not wanted may take to come.
const unreadTime = 250 * time.Millisecond

// arrived lifts the limit in time: who sent all may wait for the answer as long
// as it takes.
func (c *call) arrived() {
	c.bodyRead = true
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
}

func tooLarge(most int64) error {
	return fmt.Errorf("the body of the request has more than %d bytes: %w", most, firn.ErrTooLarge)
}

// unreadable says what is wrong with a body.
func (c *call) unreadable(err error) error {
	var large *http.MaxBytesError
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var member *rawjson.MemberError
	switch {
	case errors.As(err, &member):
		return gateway.Invalid("the body is refused: %s", member.Error())
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.w.Header().Set("Connection", "close")
		return &withStatus{&wire.Problem{Kind: wire.Invalid, Message: "the body of the request did not come in time"}, http.StatusRequestTimeout}
	case errors.As(err, &syntax):
		return gateway.Invalid("the body is no JSON: at byte %d: %s", syntax.Offset, syntax.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return gateway.Invalid("the body ends in the middle")
	case errors.As(err, &kind):
		return gateway.Invalid("the member %q of the body cannot be a %s", kind.Field, kind.Value)
	}
	return gateway.Invalid("the body cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// query is the parameters of a request. The first that makes no sense is
// remembered.
type query struct {
	values url.Values
	err    error
}

// parseQuery takes the parameters of a request. Those that the operation does
// not know are refused, rather than silently not obeyed.
func parseQuery(r *http.Request, op *operation) (query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query{}, gateway.Invalid("the parameters of the request cannot be read")
	}
	for name, all := range values {
		if !op.knows(name) {
			return query{}, gateway.Invalid("there is no parameter %q here", name)
		}
		if len(all) > 1 {
			return query{}, gateway.Invalid("the parameter %q is there %d times", name, len(all))
		}
	}
	return query{values: values}, nil
}

// text is a parameter as it is.
func (q *query) text(name string) string { return q.values.Get(name) }

// flag is a parameter that is true or false.
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

// number is a parameter that is a number up to a limit; zero if it is not there.
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

// pos is a parameter that is a position.
func (q *query) pos(name string) firn.Pos { return firn.Pos(q.number(name, 1<<63)) }

// moment is a parameter that is a time or a day.
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
		q.err = gateway.Invalid("the parameter %s is %q: want %s", name, value, want)
	}
}
