// Package trace tells where time goes: what a gateway does becomes spans, which
// are sent to a collector that speaks OTLP, OpenTelemetry's protocol.
//
// A [Tracer] begins spans and an exporter sends them in the background, in
// OTLP's JSON over HTTP. Nobody waits for it: spans that cannot be sent soon
// enough are dropped and counted. A nil tracer traces nothing and costs
// nothing. [FromEnv] reads the OTEL_ variables that say where to.
//
// Names and numbers only. What people, models and tools say never gets here,
// and no error's words do, since they may repeat it: a span that failed has a
// kind of failure, in a word.
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

// Tracer begins spans. Its methods may be called from many goroutines, and on
// nil, which traces nothing.
type Tracer struct {
	exporter *exporter
	sampler  sampler
}

// Kind says what a span is to those on the other side.
type Kind int

// The kinds of spans, by their numbers in OTLP.
const (
	Internal Kind = 1
	Server   Kind = 2
	Client   Kind = 3
)

// Context is where a span stands: in which trace, and as which span of it.
type Context struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool
	// State is what others hand through, and nobody here reads.
	State string
}

// IsZero reports whether it is no span's.
func (c Context) IsZero() bool { return c.Trace == [16]byte{} || c.Span == [8]byte{} }

// TraceID spells the trace as logs have it; empty if there is none.
func (c Context) TraceID() string {
	if c.IsZero() {
		return ""
	}
	return hex.EncodeToString(c.Trace[:])
}

// contextMark is where a context holds the span that it is in.
type contextMark struct{}

// With returns a context in which spans are children of a span that was begun
// elsewhere: in another process, or in a call that is over.
func With(ctx context.Context, parent Context) context.Context {
	if parent.IsZero() {
		return ctx
	}
	return context.WithValue(ctx, contextMark{}, parent)
}

// Of is the span that a context is in.
func Of(ctx context.Context) Context {
	c, _ := ctx.Value(contextMark{}).(Context)
	return c
}

// Span is something that takes time. Its methods may be called from many
// goroutines, and on nil. After the first End it does not change.
type Span struct {
	tracer  *Tracer
	context Context

	mu   sync.Mutex
	data data
	done bool
}

// data is a span as it is sent.
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

// Start begins a span: a child of the one that ctx is in, or the first of a new
// trace. What is done with the context that it returns is done in the span. The
// span must be ended.
func (t *Tracer) Start(ctx context.Context, name string, kind Kind, attributes ...Attribute) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	parent := Of(ctx)
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

// random fills b; the operating system's randomness does not fail.
func random(b []byte) {
	rand.Read(b)
	if binary.BigEndian.Uint64(b) == 0 {
		b[len(b)-1] = 1 // which means no id
	}
}

// Context is where the span stands.
func (s *Span) Context() Context {
	if s == nil {
		return Context{}
	}
	return s.context
}

// Rename names the span, once it is known what it is.
func (s *Span) Rename(name string) {
	s.change(func(d *data) { d.name = bounded(name) })
}

// Set adds what is known of the span.
func (s *Span) Set(attributes ...Attribute) {
	s.change(func(d *data) { d.attributes = append(d.attributes, attributes...) })
}

// Link says that the span has to do with another one that is not its parent.
func (s *Span) Link(c Context) {
	if !c.IsZero() {
		s.change(func(d *data) { d.links = append(d.links, c) })
	}
}

// Fail says that it failed, and how, in a word. An error's own words may repeat
// what somebody said, so there is no place for them.
func (s *Span) Fail(kind string) {
	s.change(func(d *data) {
		d.failed = true
		d.attributes = append(d.attributes, String(ErrorType, kind))
	})
}

// change changes a span that is kept and not over.
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

// End ends the span and hands it over to be sent. It does not wait.
func (s *Span) End() {
	s.change(func(d *data) {
		s.done = true
		d.end = time.Now()
		s.tracer.exporter.add(*d)
	})
}

// Counts tells how many spans were sent, and how many were dropped because they
// could not be.
func (t *Tracer) Counts() (sent, dropped int64) {
	if t == nil {
		return 0, 0
	}
	return t.exporter.sent.Load(), t.exporter.dropped.Load()
}

// Close sends what is left, for as long as ctx and a moment allow, and ends the
// sending. Spans that end later are dropped.
func (t *Tracer) Close(ctx context.Context) {
	if t != nil {
		t.exporter.close(ctx)
	}
}

// The names of the headers by which traces go on from one process to the next,
// as the W3C has them.
const (
	parentHeader = "Traceparent"
	stateHeader  = "Tracestate"
)

// maxState bounds what is handed through for others.
const maxState = 512

// Extract reads the span that a request comes from. It is no span's if the
// request does not say, or says it in a way that makes no sense.
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

// unhex reads small hexadecimal digits that fill b.
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
