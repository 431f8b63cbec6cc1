// Package trace records the operations of a gateway as spans and sends them to an OTLP
// collector (OpenTelemetry's protocol).
//
// A [Tracer] starts spans, and an exporter sends them in the background as JSON over HTTP.
// Callers never wait for it: spans that cannot be sent in time are dropped and counted. A
// nil tracer does nothing. [FromEnv] reads the OTEL_ variables with the collector's
// address.
//
// Spans contain only names and numbers, never messages, model output or tool output. Error
// texts are left out too, since they may repeat such content: a failed span has a one-word
// kind of failure.
package trace

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Tracer starts spans. Its methods are safe for concurrent use, and do nothing on nil.
type Tracer struct {
	exporter *exporter
	sampler  sampler
}

// Kind is the role of a span in a remote call.
type Kind int

// The kinds of spans, with their numbers in OTLP.
const (
	Internal Kind = 1
	Server   Kind = 2
	Client   Kind = 3
)

// Context identifies a span and its trace.
type Context struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool
	// State is the vendor state, which is passed on unread.
	State string
}

// IsZero reports whether the context identifies no span.
func (c Context) IsZero() bool { return c.Trace == [16]byte{} || c.Span == [8]byte{} }

// TraceID returns the trace ID as hexadecimal digits, or an empty string.
func (c Context) TraceID() string {
	if c.IsZero() {
		return ""
	}
	return hex.EncodeToString(c.Trace[:])
}

// contextMark is the context key of the current span.
type contextMark struct{}

// With returns a context whose spans are children of a span that was started elsewhere: in
// another process, or in a call that has returned.
func With(ctx context.Context, parent Context) context.Context {
	if parent.IsZero() {
		return ctx
	}
	return context.WithValue(ctx, contextMark{}, parent)
}

// FromContext returns the current span of a context.
func FromContext(ctx context.Context) Context {
	c, _ := ctx.Value(contextMark{}).(Context)
	return c
}

// Span is an operation with a duration. Its methods are safe for concurrent use, and do
// nothing on nil. It does not change after the first End.
type Span struct {
	tracer  *Tracer
	context Context

	mu   sync.Mutex
	data data
	done bool
}

// data is the exported data of a span.
type data struct {
	context    Context
	parent     [8]byte
	name       string
	kind       Kind
	start, end time.Time
	attributes []Attribute
	links      []Context
	failed     bool
}

// Start starts a span: a child of the current span of ctx, or the root of a new trace. The
// span is the current one of the returned context. It must be ended.
func (t *Tracer) Start(ctx context.Context, name string, kind Kind, attributes ...Attribute) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	parent := FromContext(ctx)
	s := &Span{tracer: t, context: parent}
	if parent.IsZero() {
		s.context = Context{}
		random(s.context.Trace[:])
	}
	random(s.context.Span[:])
	s.context.Sampled = t.sampler.samples(parent, s.context.Trace)
	if s.context.Sampled {
		s.data = data{context: s.context, parent: parent.Span, name: bounded(name), kind: kind, start: time.Now(), attributes: attributes}
	}
	return context.WithValue(ctx, contextMark{}, s.context), s
}

// random fills b with random bytes; the operating system's source does not fail.
func random(b []byte) {
	rand.Read(b)
	if binary.BigEndian.Uint64(b) == 0 {
		b[len(b)-1] = 1 // all zeros would mean no ID
	}
}

// Context returns the context of the span.
func (s *Span) Context() Context {
	if s == nil {
		return Context{}
	}
	return s.context
}

// Rename changes the name of the span.
func (s *Span) Rename(name string) {
	s.change(func(d *data) { d.name = bounded(name) })
}

// Set adds attributes to the span.
func (s *Span) Set(attributes ...Attribute) {
	s.change(func(d *data) { d.attributes = append(d.attributes, attributes...) })
}

// Link links the span to another one that is not its parent.
func (s *Span) Link(c Context) {
	if !c.IsZero() {
		s.change(func(d *data) { d.links = append(d.links, c) })
	}
}

// Fail marks the span as failed, with a one-word kind. Error texts are not accepted,
// because they may contain parts of a conversation.
func (s *Span) Fail(kind string) {
	s.change(func(d *data) {
		d.failed = true
		d.attributes = append(d.attributes, String(ErrorType, kind))
	})
}

// change modifies a span that is sampled and has not ended.
func (s *Span) change(f func(*data)) {
	if s == nil || !s.context.Sampled {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		f(&s.data)
	}
}

// End ends the span and queues it for export. It does not block.
func (s *Span) End() {
	s.change(func(d *data) {
		s.done = true
		d.end = time.Now()
		s.tracer.exporter.add(*d)
	})
}

// Counts returns the number of spans that were sent and dropped.
func (t *Tracer) Counts() (sent, dropped int64) {
	if t == nil {
		return 0, 0
	}
	return t.exporter.sent.Load(), t.exporter.dropped.Load()
}

// Close sends the remaining spans, within a time limit and until ctx ends, and stops the
// exporter. Spans that end later are dropped.
func (t *Tracer) Close(ctx context.Context) {
	if t != nil {
		t.exporter.close(ctx)
	}
}

// The W3C headers that propagate traces between processes.
const (
	parentHeader = "Traceparent"
	stateHeader  = "Tracestate"
)

// maxState is the maximum length of the vendor state.
const maxState = 512

// Extract returns the span that a request belongs to. It is zero if the headers are missing
// or invalid.
func Extract(h http.Header) Context {
	if len(h[parentHeader]) != 1 {
		return Context{}
	}
	fields := strings.Split(h[parentHeader][0], "-")
	if len(fields) < 4 || len(fields[0]) != 2 || fields[0] == "ff" || fields[0] == "00" && len(fields) != 4 {
		return Context{}
	}
	var c Context
	var version, flags [1]byte
	if !unhex(version[:], fields[0]) || !unhex(c.Trace[:], fields[1]) || !unhex(c.Span[:], fields[2]) || !unhex(flags[:], fields[3]) || c.IsZero() {
		return Context{}
	}
	c.Sampled = flags[0]&1 != 0
	if state := strings.Join(h[stateHeader], ","); len(state) <= maxState && printable(state) {
		c.State = state
	}
	return c
}

// unhex decodes lowercase hexadecimal digits that fill b.
func unhex(b []byte, text string) bool {
	if len(text) != 2*len(b) || text != strings.ToLower(text) {
		return false
	}
	_, err := hex.Decode(b, []byte(text))
	return err == nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
