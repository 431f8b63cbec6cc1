// Package api is the doors of a gateway: what it can be asked over HTTP, by whom,
// and in which words.
//
// [Handler] makes of a gateway a table of routes, each of which calls one method of
// [Gateway]; [Serve] opens a socket and a port for it. What is asked is checked here:
// who asks, what they may see, how large it is and how long it may take. What is done
// then is for package gateway, which knows nothing of HTTP. The description in
// docs/openapi.json is made of the same table.
package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/internal/door/token"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/internal/gateway/trace"
	"firn.dev/wire"
)

// Config says how a gateway is spoken to over HTTP. The zero value is a good
// one; then only the owner is let in.
type Config struct {
	// Tokens let clients in over TCP. Nil lets in nobody there.
	Tokens *token.Book
	// Hosts are names that the gateway may be called by, beside localhost and the
	// loopback addresses; Origins are those of foreign pages that may talk to it.
	Hosts, Origins []string
	// MaxBody bounds the body of a request, zero means 16 MB; BodyTimeout the
	// time it may take to come, zero means a minute.
	MaxBody     int64
	BodyTimeout time.Duration
	// WriteTimeout is how long a client may leave an answer, or an event, lying;
	// zero means half a minute. Patience is how long one who listens may take
	// nothing before it is told that there is a gap; zero means 5 seconds.
	WriteTimeout, Patience time.Duration
	// Requests bounds how many requests are answered at a time, zero means 256;
	// Streams how many clients may listen, and Turns how many may wait for a
	// model; zero means 1024.
	Requests, Streams, Turns int
	// AnswerMemory bounds the memory of large answers that are being made or sent
	// over TCP, and once more that of those through the socket; zero means 32 MB.
	AnswerMemory int64
	// Heartbeat is how often a quiet stream shows that it is alive; zero means
	// 15 seconds.
	Heartbeat time.Duration
	// Ready says why the gateway cannot do its work; nil asks the gateway itself,
	// if it knows.
	Ready func(context.Context) error
	// Metrics counts, and is told at /metrics; nil does neither.
	Metrics *metrics.Set
	// Tracer traces requests; nil traces nothing.
	Tracer *trace.Tracer
	// Log gets a line for each request, without anything that was said; nil
	// means nowhere.
	Log *slog.Logger
	// Version is told in the description of the API.
	Version string
	// Web answers with pages whatever is not the API's; nil says that there are
	// none, and lets no browser in.
	Web http.Handler
	// Peers are the other gateways that serve the same sessions; nil if there are
	// none.
	Peers Peers
	// OpenAI and MCP speak those protocols; nil says that they are not spoken.
	OpenAI, MCP Foreign
}

// HTTP is the gateway as a handler. It may be given to several servers.
type HTTP struct {
	gateway Gateway
	config  Config
	log     *slog.Logger
	mux     *http.ServeMux
	table   []*operation
	doc     []byte
	ready   readiness
	// replies are what was answered to requests that name themselves.
	replies replies
	// guesses are those who try to get in.
	guesses token.Guesses

	// others bounds what is answered at a time over TCP, own what is through the
	// socket and in this process: others cannot keep the owner from asking.
	others, own rooms
	// frames are events that several clients are sent.
	frames frames
	// doors bounds logins, signed the calls whose body is read before it is known
	// who asks.
	doors, signed gauge
	// fault is why the gateway cannot do its work although all it needs is there.
	fault atomic.Pointer[error]
	// closing is closed when the gateway is about to go.
	closing chan struct{}
	once    sync.Once
}

// Handler makes the handler of a gateway.
func Handler(g Gateway, c Config) *HTTP {
	c.MaxBody = cmp.Or(c.MaxBody, 16<<20)
	c.BodyTimeout = cmp.Or(c.BodyTimeout, time.Minute)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.Patience = cmp.Or(c.Patience, 5*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, 15*time.Second)
	h := &HTTP{gateway: g, config: c, log: c.Log, table: operations(), closing: make(chan struct{})}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	for _, r := range []*rooms{&h.others, &h.own} {
		r.answers.limit = cmp.Or(c.AnswerMemory, 32<<20)
		r.requests.limit, r.streams.limit, r.waiting.limit = int64(cmp.Or(c.Requests, 256)), int64(cmp.Or(c.Streams, 1024)), int64(cmp.Or(c.Turns, 1024))
	}
	// Logins are as many as connections without a token: who is slow there is
	// displaced with the connection.
	h.doors.limit, h.signed.limit = 1024, max(1, h.others.requests.limit/4)
	if m, ok := g.(measured); ok {
		c.Metrics.Watch(m.Load)
	}
	if p, ok := g.(prepared); ok && c.Ready == nil {
		h.config.Ready = p.Ready
	}
	h.guesses.Clock = time.Now
	if c.Tokens != nil {
		h.guesses.Clock = c.Tokens.Now
	}
	h.doc = describe(h.table, c.Version)
	h.mux = h.routes()
	return h
}

// Drain tells the handler that the gateway is about to go: it is not ready any
// more, nothing new is begun, and who listens is told. Turns that are waited for
// may finish.
func (h *HTTP) Drain() { h.once.Do(func() { close(h.closing) }) }

// SetFault makes the gateway not ready, for a reason; nil makes it ready again.
func (h *HTTP) SetFault(err error) {
	if err == nil {
		h.fault.Store(nil)
		return
	}
	h.fault.Store(&err)
}

func (h *HTTP) draining() bool {
	select {
	case <-h.closing:
		return true
	default:
		return false
	}
}

// ServeHTTP answers a request, and notes that it did.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	if one := connOf(r.Context()); one != nil && one.cut.Load() {
		panic(http.ErrAbortHandler) // it was answered 503: nothing may be done
	}
	c := &call{h: h, w: &recorder{ResponseWriter: w}, r: r, request: requestID(r)}
	done, end := h.config.Metrics.Begin(), c.span()
	defer func() {
		fell := recover()
		if fell != nil && fell != http.ErrAbortHandler {
			c.fallen(fell)
		}
		took := time.Since(begun)
		done(methodLabel(r.Method), c.route(), strconv.Itoa(c.w.code()), took, c.streaming)
		h.access(c, took)
		end()
		if fell == http.ErrAbortHandler {
			panic(fell) // on purpose: the server breaks the connection off
		}
	}()
	c.handle()
}

// access writes the line of a request.
func (h *HTTP) access(c *call, took time.Duration) {
	level := slog.LevelInfo
	if c.op != nil && c.op.scope == "" && !c.op.door && c.w.code() < 500 {
		level = slog.LevelDebug // somebody looks after our health, or at a page
	}
	about := []slog.Attr{
		slog.String("method", methodLabel(c.r.Method)), slog.String("route", c.route()), slog.Int("status", c.w.code()),
		slog.Int64("ms", took.Milliseconds()), slog.String("request", c.request), slog.String("who", c.who.name),
	}
	if id := trace.Of(c.r.Context()).TraceID(); id != "" {
		about = append(about, slog.String("trace", id))
	}
	h.log.LogAttrs(c.r.Context(), level, "request", about...)
}

// methodLabel is the method if it is a known one: anything could be sent.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// call is one request on its way.
type call struct {
	h       *HTTP
	w       *recorder
	r       *http.Request
	op      *operation
	who     identity
	request string
	// streaming says that the answer is a stream of events.
	streaming bool
	// bodyRead says that all of the body has come.
	bodyRead bool
	// reserved is the memory that the answer may take; nil if it is small.
	reserved *reservation
	// end is where the session ended when memory was reserved.
	end   firn.Pos
	query query
}

// handle lets a request in, or not, and hands it on.
func (c *call) handle() {
	head := c.w.Header()
	head.Set("X-Request-Id", c.request)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Referrer-Policy", "no-referrer")
	if reason, err := c.h.guard(c.r); err != nil {
		c.h.config.Metrics.Refused(reason)
		c.fail(err)
		return
	}
	if c.shared() {
		return
	}
	path := c.r.URL.EscapedPath()
	if !tidy(path) {
		c.fail(noRoute())
		return
	}
	if plain, ok := plainVerb(c.r.Method, path); ok {
		c.r = withPath(c.r, plain)
	}
	c.r = c.r.WithContext(context.WithValue(c.r.Context(), callMark{}, c))
	c.h.mux.ServeHTTP(c.w, c.r)
}

// callMark is where a context holds the call.
type callMark struct{}

// shared answers what a browser asks before it lets an allowed foreign page
// talk to us, and marks other answers to such a page. It reports whether that
// was all.
func (c *call) shared() bool {
	origin := c.r.Header.Get("Origin")
	if origin == "" || !c.h.ourOrigin(origin, "") {
		return false
	}
	head := c.w.Header()
	head.Set("Access-Control-Allow-Origin", origin)
	head.Add("Vary", "Origin")
	head.Set("Cross-Origin-Resource-Policy", "cross-origin")
	head.Set("Access-Control-Expose-Headers", "ETag, X-Request-Id")
	if c.r.Method != http.MethodOptions {
		return false
	}
	head.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	head.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match, Idempotency-Key, Last-Event-ID")
	head.Set("Access-Control-Max-Age", "600")
	c.w.WriteHeader(http.StatusNoContent)
	return true
}

// tidy reports whether a path is spelt in the one way that routes have.
func tidy(path string) bool {
	if !strings.HasPrefix(path, "/") || len(path) > 8<<10 {
		return false
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		if segment == "." || segment == ".." || segment == "" && path != "/" {
			return false
		}
	}
	return true
}

func noRoute() error {
	return &wire.Problem{Kind: wire.NotFound, Message: "there is no such address", Hint: "/openapi.json describes those there are"}
}

// route is the pattern that a request matched, for logs and numbers.
func (c *call) route() string {
	if c.op == nil {
		return "-"
	}
	return c.op.path
}

// reply answers with JSON.
func (c *call) reply(status int, v any) error {
	if !c.who.knowsPlaces() {
		v = withoutPlacesOf(v)
	}
	if page, ok := v.(wire.Page[wire.Entry]); ok && status == http.StatusOK && c.w.copy == nil && sizeOfLines(page.Items) >= streamFrom {
		return c.streamEntries(page)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // lines of a transcript travel as they are
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("spell the answer: %w", err)
	}
	head := c.w.Header()
	head.Set("Content-Type", "application/json")
	out, packed := c.pack(&b)
	if packed {
		head.Set("Content-Encoding", "gzip")
	}
	head.Set("Content-Length", strconv.Itoa(out.Len()))
	c.reserved.shrink(int64(out.Cap()))
	c.deadline()
	c.w.WriteHeader(status)
	sender{c}.Write(out.Bytes()) // who is gone needs no answer
	return nil
}

// deadline gives the client some time to take what is written next.
func (c *call) deadline() {
	// Where there is no connection there is nobody slow.
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(c.h.config.WriteTimeout))
}

// fail answers with a problem.
func (c *call) fail(err error) {
	if err == nil || c.w.status != 0 {
		return
	}
	if c.r.Context().Err() != nil && errors.Is(err, context.Cause(c.r.Context())) && !c.h.draining() {
		c.w.status = statusGone // nobody is there to read it
		return
	}
	p := *c.tell(err)
	p.Request = c.request
	status := p.Status()
	var s *withStatus
	if errors.As(err, &s) {
		status = s.status
	}
	switch status {
	case http.StatusUnauthorized:
		c.w.Header().Set("WWW-Authenticate", `Bearer realm="firn"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if c.w.Header().Get("Retry-After") == "" {
			c.w.Header().Set("Retry-After", "1")
		}
	}
	c.h.config.Metrics.Error(string(p.Kind))
	if reason := refusal(err, status); reason != "" {
		c.h.config.Metrics.Refused(reason)
	}
	c.forgoBody()
	if err := c.reply(status, c.failure(p)); err != nil {
		c.h.log.Error("a problem could not be told", "request", c.request)
	}
}

// refusal is why a request that was let in got no further, in a word; empty if
// it was not refused. Those who were not let in are counted where that is found.
func refusal(err error, status int) string {
	var bounds *outOfBounds
	switch {
	case errors.As(err, &bounds):
		return "bound"
	case status == http.StatusRequestEntityTooLarge:
		return "size"
	case status == http.StatusRequestTimeout:
		return refusedSlow
	case status == http.StatusTooManyRequests:
		return "busy"
	}
	return ""
}

// statusGone is noted, not sent, for clients that went away.
const statusGone = 499

// tell makes the problem that a client is told of an error. What went wrong
// inside is for the log, unless the owner asks, and where files are is for those
// who may do everything.
func (c *call) tell(err error) *wire.Problem {
	p := gateway.ProblemOf(err)
	switch p.Kind {
	case wire.Internal, wire.Corrupt, wire.NotSaved, wire.Unknown, wire.Unavailable:
		c.h.log.LogAttrs(c.r.Context(), slog.LevelError, "request failed",
			slog.String("route", c.route()), slog.String("request", c.request), slog.String("kind", string(p.Kind)), slog.String("error", err.Error()))
		if p.Kind == wire.Internal && !c.who.owner {
			return &wire.Problem{Kind: wire.Internal, Message: "something went wrong inside the gateway", Hint: "its log tells more of this request"}
		}
	}
	if errors.Is(err, context.Canceled) && c.h.draining() {
		return &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "ask again when it is back"}
	}
	asked := c.who.scope == "" && isOwner(c.r.Context()) // who asks at an open door is not looked at otherwise
	if !c.who.knowsPlaces() && !asked {
		p = withoutPlaces(p, err)
	}
	return p
}

// fallen answers for a handler that panicked. What it panicked with may hold
// what somebody said, so only its type is noted, and where.
func (c *call) fallen(fell any) {
	what := fmt.Sprintf("%T", fell)
	if err, ok := fell.(runtime.Error); ok {
		what = err.Error()
	}
	c.h.log.LogAttrs(c.r.Context(), slog.LevelError, "request panicked",
		slog.String("route", c.route()), slog.String("request", c.request), slog.String("panic", what), slog.String("stack", string(debug.Stack())))
	if c.w.status != 0 {
		return // too late to say anything
	}
	c.fail(&wire.Problem{Kind: wire.Internal, Message: "something went wrong inside the gateway", Hint: "its log tells more of this request"})
}

// withStatus is a problem whose status is not that of its kind.
type withStatus struct {
	*wire.Problem
	status int
}

// Unwrap returns the problem.
func (s *withStatus) Unwrap() error { return s.Problem }

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	// copy, if not nil, gets what is written, as far as it may be remembered.
	copy *bytes.Buffer
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.copy != nil && r.copy.Len() <= largestReply {
		r.copy.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets an [http.ResponseController] through.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// requestID names a request: as the client does, if that can be a name.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id != "" && len(id) <= 64 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") == "" {
		return id
	}
	return strings.ToLower(rand.Text()[:12])
}
