// Package api is the HTTP API of a gateway.
//
// [Handler] serves a table of routes, each of which calls one method of [Services]. [Serve]
// listens on a socket and a TCP port. This package authenticates and authorizes requests
// and limits their size and duration. The work itself is done by package gateway, which
// knows nothing of HTTP. docs/openapi.json is generated from the same table.
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

// Config configures the HTTP API. The zero value is usable and admits only the owner.
type Config struct {
	// Tokens authenticates clients over TCP. If nil, none are accepted.
	Tokens *token.Book
	// Hosts are accepted host names besides localhost and the loopback addresses. Origins
	// are the accepted origins of other sites' pages.
	Hosts, Origins []string
	// MaxBody limits the size of a request body; zero means 16 MB. BodyTimeout limits the
	// time to receive it; zero means one minute.
	MaxBody     int64
	BodyTimeout time.Duration
	// WriteTimeout limits the time for a client to accept a response or an event; zero
	// means 30 seconds. Patience is how long a listening client may stall before it
	// receives a gap event; zero means 5 seconds.
	WriteTimeout, Patience time.Duration
	// Requests limits the number of concurrent requests; zero means 256. Streams limits the
	// listening clients, and Turns the clients waiting for a model; zero means 1024.
	Requests, Streams, Turns int
	// AnswerMemory limits the memory in bytes of large responses over TCP, and separately
	// of those over the socket; zero means 32 MB.
	AnswerMemory int64
	// Heartbeat is the interval of keep-alive comments on a quiet stream; zero means 15
	// seconds.
	Heartbeat time.Duration
	// Ready returns an error if the gateway is not able to work. If nil, the gateway's own
	// check is used, if it has one.
	Ready func(context.Context) error
	// Metrics collects the metrics served at /metrics. If nil, there are none.
	Metrics *metrics.Set
	// Tracer traces requests; nil disables tracing.
	Tracer *trace.Tracer
	// Log receives one line per request, without any message content; nil disables it.
	Log *slog.Logger
	// Settings returns the settings that people change; nil if there are none.
	Settings func() []wire.Setting
	// SyncFiles keeps the files of syncs of other machines; nil if this gateway keeps none.
	SyncFiles SyncFiles
	// Version appears in the description of the API.
	Version string
	// Web serves the pages for all paths outside the API. If nil, there are no pages and
	// browsers cannot log in.
	Web http.Handler
	// Peers are the other gateways that serve the same sessions; nil if there are none.
	Peers Peers
	// OpenAI, Anthropic, AGUI and MCP handle those protocols; nil disables them.
	OpenAI, Anthropic, AGUI, MCP Foreign
}

// HTTP is the HTTP handler of a gateway. It may be shared by several servers.
type HTTP struct {
	services Services
	config   Config
	log      *slog.Logger
	mux      *http.ServeMux
	table    []*operation
	doc      func() []byte
	ready    readiness
	// replies caches the responses to requests with an idempotency key.
	replies replies
	clock   func() time.Time
	// guesses counts failed logins.
	guesses token.Guesses

	// others limits the concurrent requests over TCP, own those over the socket and from
	// this process: other clients cannot block the owner.
	others, own requestLimits
	// frames caches the events sent to several clients.
	frames frames
	// logins limits concurrent logins; signed limits the requests whose body is read before
	// authentication.
	logins, signed gauge
	// fault is an additional reason for not being ready; see [HTTP.SetFault].
	fault atomic.Pointer[error]
	// closing is closed when the gateway begins to shut down.
	closing chan struct{}
	once    sync.Once
}

// Handler creates the handler of a gateway.
func Handler(g *gateway.Gateway, c Config) *HTTP { return HandlerOf(ServicesOf(g), c) }

// HandlerOf creates the handler of a gateway with the given services.
func HandlerOf(s Services, c Config) *HTTP {
	c.MaxBody = cmp.Or(c.MaxBody, 16<<20)
	c.BodyTimeout = cmp.Or(c.BodyTimeout, time.Minute)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.Patience = cmp.Or(c.Patience, 5*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, 15*time.Second)
	h := &HTTP{services: s, config: c, log: c.Log, table: operations(), closing: make(chan struct{})}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	for _, r := range []*requestLimits{&h.others, &h.own} {
		r.answers.limit = cmp.Or(c.AnswerMemory, 32<<20)
		r.requests.limit, r.streams.limit, r.waiting.limit = int64(cmp.Or(c.Requests, 256)), int64(cmp.Or(c.Streams, 1024)), int64(cmp.Or(c.Turns, 1024))
	}
	// As many logins as connections without a token: slow ones are displaced with their
	// connection.
	h.logins.limit, h.signed.limit = 1024, max(1, h.others.requests.limit/4)
	if s.Load != nil {
		c.Metrics.Watch(s.Load)
	}
	if c.Ready == nil {
		h.config.Ready = s.Ready
	}
	h.clock = time.Now
	if c.Tokens != nil {
		h.clock = c.Tokens.Now
	}
	h.guesses.Clock = h.clock
	h.doc = sync.OnceValue(func() []byte { return describe(h.table, c.Version) })
	h.mux = h.routes()
	return h
}

// Drain starts the shutdown of the handler: it is no longer ready, rejects new work, and
// notifies listening clients. Running turns may finish.
func (h *HTTP) Drain() { h.once.Do(func() { close(h.closing) }) }

// SetFault marks the gateway as not ready because of err. Nil removes the mark.
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

// ServeHTTP handles and logs a request.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	if one := connOf(r.Context()); one != nil && one.cut.Load() {
		panic(http.ErrAbortHandler) // already answered with 503: the request must have no effect
	}
	c := &call{h: h, w: &recorder{ResponseWriter: w}, r: r, request: requestID(r)}
	done, end := h.config.Metrics.StartRequest(), c.span()
	defer func() {
		fell := recover()
		if fell != nil && fell != http.ErrAbortHandler {
			c.failPanicked(fell)
		}
		took := time.Since(begun)
		done(methodLabel(r.Method), c.route(), strconv.Itoa(c.w.code()), took, c.streaming)
		h.access(c, took)
		end()
		if fell == http.ErrAbortHandler {
			panic(fell) // deliberate: the server closes the connection
		}
	}()
	c.handle()
}

// access logs a request.
func (h *HTTP) access(c *call, took time.Duration) {
	level := slog.LevelInfo
	if c.op != nil && c.op.scope == "" && !c.op.login && c.w.code() < 500 {
		level = slog.LevelDebug // health checks and pages
	}
	about := []slog.Attr{
		slog.String("method", methodLabel(c.r.Method)), slog.String("route", c.route()), slog.Int("status", c.w.code()),
		slog.Int64("ms", took.Milliseconds()), slog.String("request", c.request), slog.String("who", c.who.name),
	}
	if id := trace.FromContext(c.r.Context()).TraceID(); id != "" {
		about = append(about, slog.String("trace", id))
	}
	h.log.LogAttrs(c.r.Context(), level, "request", about...)
}

// methodLabel returns the method, or "other" if it is unknown, since clients can send any
// text.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// call is one request in progress.
type call struct {
	h       *HTTP
	w       *recorder
	r       *http.Request
	op      *operation
	who     identity
	request string
	// streaming is set if the response is a stream of events.
	streaming bool
	// bodyRead is set when the complete body has been received.
	bodyRead bool
	// reserved is the memory reserved for the response; nil if it is small.
	reserved *reservation
	// end is the end of the session when memory was reserved.
	end   firn.Pos
	query query
}

// handle checks a request and dispatches it.
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
	if c.handleCORS() {
		return
	}
	path := c.r.URL.EscapedPath()
	if !isCanonicalPath(path) {
		c.fail(noRoute())
		return
	}
	if plain, ok := plainVerb(c.r.Method, path); ok {
		c.r = withPath(c.r, plain)
	}
	c.r = c.r.WithContext(context.WithValue(c.r.Context(), callMark{}, c))
	c.h.mux.ServeHTTP(c.w, c.r)
}

// callMark is the context key of the call.
type callMark struct{}

// handleCORS adds the CORS headers for allowed origins and answers preflight requests. It
// reports whether the request was a preflight.
func (c *call) handleCORS() bool {
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

// isCanonicalPath reports whether a path has the canonical form that routes match.
func isCanonicalPath(path string) bool {
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
	return &wire.Problem{Kind: wire.NotFound, Message: "unknown path", Hint: "see /openapi.json for all paths"}
}

// route returns the pattern that a request matched, for logs and metrics.
func (c *call) route() string {
	if c.op == nil {
		return "-"
	}
	return c.op.path
}

// reply responds with JSON.
func (c *call) reply(status int, v any) error {
	if !c.who.seesPaths() {
		v = answerWithoutPaths(v)
	}
	if page, ok := v.(wire.Page[wire.Entry]); ok && status == http.StatusOK && c.w.copy == nil && sizeOfLines(page.Items) >= streamFrom {
		return c.streamEntries(page)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // transcript lines are sent unchanged
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encode response: %w", err)
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
	sender{c}.Write(out.Bytes()) // errors mean the client disconnected
	return nil
}

// deadline sets the deadline for the next write.
func (c *call) deadline() {
	// Requests from this process have no connection and no deadline.
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(c.h.config.WriteTimeout))
}

// fail responds with an error.
func (c *call) fail(err error) {
	if err == nil || c.w.status != 0 {
		return
	}
	if c.r.Context().Err() != nil && errors.Is(err, context.Cause(c.r.Context())) && !c.h.draining() {
		c.w.status = statusGone // the client has disconnected
		return
	}
	p := *c.problemFor(err)
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
	c.closeUnreadBody()
	if err := c.reply(status, c.failure(p)); err != nil {
		c.h.log.Error("sending an error response failed", "request", c.request)
	}
}

// refusal returns the metrics label of a request that was authenticated and then refused,
// or "" if it was not refused. Failed authentication is counted elsewhere.
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

// statusGone is recorded, never sent, for clients that disconnected.
const statusGone = 499

// problemFor converts an error to the problem sent to the client. Internal errors are
// logged and revealed only to the owner. File paths are revealed only to administrators.
func (c *call) problemFor(err error) *wire.Problem {
	p := gateway.ProblemOf(err)
	switch p.Kind {
	case wire.Internal, wire.Corrupt, wire.NotSaved, wire.Unknown, wire.Unavailable:
		c.h.log.LogAttrs(c.r.Context(), slog.LevelError, "request failed",
			slog.String("route", c.route()), slog.String("request", c.request), slog.String("kind", string(p.Kind)), slog.String("error", err.Error()))
		if p.Kind == wire.Internal && !c.who.owner {
			return &wire.Problem{Kind: wire.Internal, Message: "internal error in the gateway", Hint: "see the log of the gateway for this request"}
		}
	}
	if errors.Is(err, context.Canceled) && c.h.draining() {
		return &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "try again when it is back"}
	}
	asked := c.who.scope == "" && isOwner(c.r.Context()) // requests to open routes are not authenticated otherwise
	if !c.who.seesPaths() && !asked {
		p = problemWithoutPaths(p, err)
	}
	return p
}

// failPanicked responds for a handler that panicked. The panic value may contain message
// content, so only its type and the stack are logged.
func (c *call) failPanicked(fell any) {
	what := fmt.Sprintf("%T", fell)
	if err, ok := fell.(runtime.Error); ok {
		what = err.Error()
	}
	c.h.log.LogAttrs(c.r.Context(), slog.LevelError, "request panicked",
		slog.String("route", c.route()), slog.String("request", c.request), slog.String("panic", what), slog.String("stack", string(debug.Stack())))
	if c.w.status != 0 {
		return // the header was already sent
	}
	c.fail(&wire.Problem{Kind: wire.Internal, Message: "internal error in the gateway", Hint: "see the log of the gateway for this request"})
}

// withStatus is a problem with a status other than that of its kind.
type withStatus struct {
	*wire.Problem
	status int
}

// Unwrap returns the problem.
func (s *withStatus) Unwrap() error { return s.Problem }

// recorder records the status of a response.
type recorder struct {
	http.ResponseWriter
	status int
	// copy receives the response body, up to largestReply, if it is not nil.
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

// Unwrap supports [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// requestID returns the client's X-Request-Id if it is valid, or a new ID.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id != "" && len(id) <= 64 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") == "" {
		return id
	}
	return strings.ToLower(rand.Text()[:12])
}
