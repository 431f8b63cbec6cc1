package trace_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/internal/gateway/trace"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// tracer returns a tracer configured by the given variables.
func tracer(t *testing.T, report func(string), pairs ...string) *trace.Tracer {
	t.Helper()
	s, ok, err := trace.FromEnv(env(pairs...))
	if err != nil || !ok {
		t.Fatalf("nothing is traced: %v", err)
	}
	s.Report = report
	tr := trace.New(s)
	t.Cleanup(func() { tr.Close(context.Background()) })
	return tr
}

// TestSpans sends a tree of spans and gets it as it was.
func TestSpans(t *testing.T) {
	c := collect(t)
	tr := tracer(t, nil, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL+"/", "OTEL_SERVICE_NAME", "kitchen", "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=a%20test,service.name=no,bad",
		"OTEL_EXPORTER_OTLP_HEADERS", "x-key=se%3Dcret", "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	head := http.Header{}
	head.Set("traceparent", "00-0123456789abcdef0123456789abcdef-0011223344556677-01")
	head.Set("tracestate", "vendor=1")
	ctx := trace.With(t.Context(), trace.Extract(head))
	ctx, outer := tr.Start(ctx, "outer", trace.Server, trace.Int("n", 7))
	inner, child := tr.Start(ctx, "inner", trace.Internal)
	child.Set(trace.Strings("all", "x", "y"), trace.String("long", strings.Repeat("é", 100)))
	child.Fail("sudden")
	_, other := tr.Start(t.Context(), "other", trace.Client)
	other.Link(child.Context())
	other.Rename("elsewhere")
	child.End()
	child.End()
	child.Set(trace.String("late", "x"))
	outer.End()
	other.End()
	if trace.FromContext(inner) != child.Context() || child.Context().TraceID() != "0123456789abcdef0123456789abcdef" {
		t.Errorf("the context is in %v", trace.FromContext(inner))
	}
	tr.Close(t.Context())

	if got := fmt.Sprint(c.resource["service.name"], " ", c.resource["deployment.environment.name"], " ", c.header.Get("X-Key")); got != "kitchen a test se=cret" {
		t.Errorf("the resource is %s", got)
	}
	o, i, e := c.named(t, "outer"), c.named(t, "inner"), c.named(t, "elsewhere")
	if o.TraceID != "0123456789abcdef0123456789abcdef" || o.ParentSpanID != "0011223344556677" || o.TraceState != "vendor=1" || o.Kind != 2 || o.Status.Code != 0 {
		t.Errorf("the outer one is %+v", o)
	}
	if i.TraceID != o.TraceID || i.ParentSpanID != o.SpanID || i.Kind != 1 || i.Status.Code != 2 {
		t.Errorf("the inner one is %+v", i)
	}
	if e.TraceID == o.TraceID || e.ParentSpanID != "" || e.Kind != 3 || len(e.Links) != 1 || e.Links[0].SpanID != i.SpanID {
		t.Errorf("the other one is %+v", e)
	}
	if got := values(o.Attributes); got["n"] != "7" {
		t.Errorf("the outer one has %v", got)
	}
	got := values(i.Attributes)
	if got["all"] != "x,y" || got["error.type"] != "sudden" || got["late"] != nil || got["long"] != strings.Repeat("é", 64) {
		t.Errorf("the inner one has %v", got)
	}
	if i.StartTimeUnixNano < o.StartTimeUnixNano || i.EndTimeUnixNano > o.EndTimeUnixNano || len(o.EndTimeUnixNano) != 19 {
		t.Errorf("the inner one took from %s to %s, the outer one from %s to %s", i.StartTimeUnixNano, i.EndTimeUnixNano, o.StartTimeUnixNano, o.EndTimeUnixNano)
	}
	if sent, dropped := tr.Counts(); sent != 3 || dropped != 0 {
		t.Errorf("%d were sent, %d dropped", sent, dropped)
	}
}

// TestNilTracer checks that a nil tracer does nothing and costs nothing.
func TestNilTracer(t *testing.T) {
	var tr *trace.Tracer
	ctx, s := tr.Start(t.Context(), "x", trace.Internal)
	s.Set(trace.Int("n", 1))
	s.Fail("x")
	s.Link(trace.Context{})
	s.Rename("y")
	s.End()
	if ctx != t.Context() || !s.Context().IsZero() || s.Context().TraceID() != "" {
		t.Error("it traces")
	}
	m := scripted.New(provider.Info{})
	if tr.Model(m) != provider.Model(m) {
		t.Error("the model is another")
	}
	tr.Close(ctx)
	if sent, dropped := tr.Counts(); sent+dropped != 0 {
		t.Error("it counts")
	}
}

// TestExtract checks that only valid parents are accepted.
func TestExtract(t *testing.T) {
	const id, span = "0123456789abcdef0123456789abcdef", "0011223344556677"
	for text, want := range map[string]bool{
		"00-" + id + "-" + span + "-01":                               true,
		"00-" + id + "-" + span + "-00":                               true,
		"cc-" + id + "-" + span + "-01-more":                          true,
		"00-" + id + "-" + span + "-01-more":                          false,
		"ff-" + id + "-" + span + "-01":                               false,
		"00-" + strings.ToUpper(id) + "-" + span + "-01":              false,
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":          false,
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":            false,
		"00-" + id + "-" + span:                                       false,
		"00-" + id[1:] + "-" + span + "-01":                           false,
		"00-" + id + "-" + span + "-0x":                               false,
		"":                                                            false,
		"00-" + id + "-" + span + "-01,00-" + id + "-" + span + "-01": false,
	} {
		h := http.Header{"Traceparent": {text}, "Tracestate": {"a=1", "b=2"}}
		c := trace.Extract(h)
		if c.IsZero() == want {
			t.Errorf("%q is %v", text, c)
		}
		if want && (c.Sampled == strings.HasSuffix(text, "-00") || c.State != "a=1,b=2") {
			t.Errorf("%q is %v", text, c)
		}
	}
	if !trace.Extract(http.Header{"Traceparent": {"00-" + id + "-" + span + "-01", "00-" + id + "-" + span + "-01"}}).IsZero() {
		t.Error("two parents are one too many")
	}
	long := http.Header{"Traceparent": {"00-" + id + "-" + span + "-01"}, "Tracestate": {strings.Repeat("a", 600)}}
	if trace.Extract(long).State != "" {
		t.Error("a state of any size is passed on")
	}
}

// TestFromEnv checks valid variables and the errors for invalid ones.
func TestFromEnv(t *testing.T) {
	const at, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for name, c := range map[string]struct {
		env  []string
		want string // where to; empty is not at all
		err  error
	}{
		"nothing":              {},
		"an address":           {env: []string{at, "http://c:4318"}, want: "http://c:4318/v1/traces"},
		"with a path":          {env: []string{at, "https://c/otlp/"}, want: "https://c/otlp/v1/traces"},
		"one for traces":       {env: []string{at, "http://a", traces, "http://b/x"}, want: "http://b/x"},
		"by name":              {env: []string{"OTEL_TRACES_EXPORTER", "otlp"}, want: "http://localhost:4318/v1/traces"},
		"switched off":         {env: []string{at, "http://c", "OTEL_SDK_DISABLED", "TRUE"}},
		"to nowhere":           {env: []string{at, "http://c", "OTEL_TRACES_EXPORTER", "none"}},
		"to somewhere else":    {env: []string{at, "http://c", "OTEL_TRACES_EXPORTER", "zipkin"}, err: firn.ErrUnsupported},
		"by gRPC":              {env: []string{at, "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, err: firn.ErrUnsupported},
		"no address":           {env: []string{at, "c:4318"}, err: firn.ErrInvalid},
		"unknown sampler":      {env: []string{at, "http://c", "OTEL_TRACES_SAMPLER", "jaeger_remote"}, err: firn.ErrUnsupported},
		"a ratio that is none": {env: []string{at, "http://c", "OTEL_TRACES_SAMPLER", "traceidratio", "OTEL_TRACES_SAMPLER_ARG", "2"}, err: firn.ErrInvalid},
	} {
		s, ok, err := trace.FromEnv(env(c.env...))
		if !errors.Is(err, c.err) || ok != (c.want != "") || ok && s.URL != c.want {
			t.Errorf("%s: %v %s, %v", name, ok, s.URL, err)
		}
	}
	_, _, err := trace.FromEnv(env(at, "user:hunter2@c"))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}

func TestSampling(t *testing.T) {
	kept, left := trace.Context{Trace: [16]byte{15: 1}, Span: [8]byte{1}, Sampled: true}, trace.Context{Trace: [16]byte{15: 1}, Span: [8]byte{1}}
	for name, c := range map[string]struct {
		argument string
		parent   trace.Context
		want     int // of 400
	}{
		"":                         {"", trace.Context{}, 400},
		"always_on":                {"", left, 400},
		"always_off":               {"", kept, 0},
		"parentbased_always_off":   {"", kept, 400},
		"parentbased_always_on":    {"", left, 0},
		"traceidratio":             {"0", trace.Context{}, 0},
		"parentbased_traceidratio": {"0.5", trace.Context{}, 200},
	} {
		c2 := collect(t)
		tr := tracer(t, nil, "OTEL_EXPORTER_OTLP_ENDPOINT", c2.URL, "OTEL_TRACES_SAMPLER", name, "OTEL_TRACES_SAMPLER_ARG", c.argument)
		for range 400 {
			ctx, s := tr.Start(trace.With(t.Context(), c.parent), "x", trace.Internal)
			_, child := tr.Start(ctx, "y", trace.Internal)
			if child.Context().Sampled != s.Context().Sampled {
				t.Errorf("%q parts a trace", name)
			}
			s.End()
		}
		tr.Close(t.Context())
		if got := len(c2.spans); got < c.want-100 || got > c.want+100 || c.want%400 == 0 && got != c.want {
			t.Errorf("%q keeps %d of 400", name, got)
		}
	}
}

// TestDeadCollector checks that callers never wait, lost spans are counted, and the outage
// and its end are reported once.
func TestDeadCollector(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it accepts connections and never responds
	reported := &words{}
	tr := tracer(t, reported.add, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	for range 5000 { // more than may wait
		_, s := tr.Start(t.Context(), "x", trace.Internal)
		s.End()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tr.Close(ctx) // immediately
	tr.Close(ctx)
	if sent, dropped := tr.Counts(); sent != 0 || dropped != 5000 {
		t.Errorf("%d were sent, %d dropped", sent, dropped)
	}
	if all := reported.all(); len(all) != 1 || !strings.HasPrefix(all[0], "cannot send spans; dropping them: ") {
		t.Errorf("the output is %q", all)
	}
	_, late := tr.Start(t.Context(), "late", trace.Internal)
	late.End()
	if _, dropped := tr.Counts(); dropped != 5001 {
		t.Errorf("%d were dropped", dropped)
	}
}

// TestRefusal checks that spans rejected by the collector are dropped, and that spans are
// sent again after a temporary failure.
func TestRefusal(t *testing.T) {
	c := collect(t)
	c.answers = []int{http.StatusBadRequest}
	reported := &words{}
	tr := tracer(t, reported.add, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	_, s := tr.Start(t.Context(), "x", trace.Internal)
	s.End()
	tr.Close(t.Context())
	if sent, dropped := tr.Counts(); sent != 0 || dropped != 1 || len(reported.all()) != 1 || !strings.HasSuffix(reported.all()[0], "status 400") {
		t.Errorf("%d were sent, %d dropped, reported %q", sent, dropped, reported.all())
	}
}

// TestSpansAreSentAgain checks that spans are sent again after a temporary failure.
func TestSpansAreSentAgain(t *testing.T) {
	c := collect(t)
	c.answers, c.took = []int{http.StatusServiceUnavailable}, make(chan struct{}, 10)
	reported := &words{}
	tr := tracer(t, reported.add, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	for range 512 { // which are sent immediately
		_, s := tr.Start(t.Context(), "x", trace.Internal)
		s.End()
	}
	<-c.took
	<-c.took
	tr.Close(t.Context())
	if sent, dropped := tr.Counts(); sent != 512 || dropped != 0 || len(reported.all()) != 0 || len(c.spans) != 512 {
		t.Errorf("%d were sent, %d dropped, reported %q", sent, dropped, reported.all())
	}
}

// words collects the reported messages.
type words struct {
	mu    sync.Mutex
	lines []string
}

func (w *words) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, text)
}

func (w *words) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lines)
}

// counting is a model that counts tokens exactly.
type counting struct{ *scripted.Model }

func (counting) CountTokens(context.Context, provider.Request) (int64, error) { return 42, nil }

// TestModel checks that each model request has a span, with the attributes of the conventions
// and without message text.
func TestModel(t *testing.T) {
	c := collect(t)
	tr := tracer(t, nil, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	info := provider.Info{Provider: "mistral", Name: "large"}
	good := scripted.Reply("ZEBRA")
	good.Usage = &firn.Usage{Input: 10, CacheRead: 5, CacheWrite: 2, Output: 3}
	bad := scripted.Fail(&provider.Error{Kind: provider.Auth, Message: "the key ZEBRA is wrong"})
	m := tr.Model(counting{scripted.New(info, good, bad, scripted.Reply("ZEBRA and more"))})
	if n, err := m.(provider.Counter).CountTokens(t.Context(), provider.Request{}); n != 42 || err != nil {
		t.Errorf("it counts %d, %v", n, err)
	}
	ctx, parent := tr.Start(t.Context(), "turn", trace.Internal)
	run := func(seq iter.Seq2[provider.Event, error], most int) {
		for range seq {
			if most--; most == 0 {
				break
			}
		}
	}
	run(m.Stream(ctx, provider.Request{Session: "s-1", MaxTokens: 99, Purpose: provider.ForSummary}), -1)
	run(m.Stream(ctx, provider.Request{Session: "s-2"}), -1)
	run(m.Stream(ctx, provider.Request{Session: "s-3"}), 1)
	parent.End()
	tr.Close(t.Context())
	turn := c.named(t, "turn")
	var got []map[string]any
	for _, s := range c.spans {
		if s.Name == "chat large" {
			got = append(got, values(s.Attributes))
			if s.ParentSpanID != turn.SpanID || s.Kind != 3 {
				t.Errorf("it is %+v", s)
			}
		}
		if strings.Contains(fmt.Sprint(s), "ZEBRA") || strings.Contains(fmt.Sprint(values(s.Attributes)), "ZEBRA") {
			t.Errorf("a span contains message text: %+v", s)
		}
	}
	if len(got) != 3 {
		t.Fatalf("there are %d", len(got))
	}
	want := map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "mistral_ai", "gen_ai.request.model": "large", "gen_ai.response.model": "large",
		"gen_ai.conversation.id": "s-1", "gen_ai.request.max_tokens": "99", "firn.purpose": "summary", "gen_ai.response.finish_reasons": "stop",
		"gen_ai.usage.input_tokens": "17", "gen_ai.usage.output_tokens": "3", "gen_ai.usage.cache_read.input_tokens": "5", "gen_ai.usage.cache_creation.input_tokens": "2",
	}
	for name, value := range want {
		if got[0][name] != value {
			t.Errorf("%s is %v, want %v", name, got[0][name], value)
		}
	}
	if len(got[0]) != len(want) {
		t.Errorf("it has %v", got[0])
	}
	if got[1]["error.type"] != "auth" || got[2]["error.type"] != "cancelled" {
		t.Errorf("the others have %v and %v", got[1], got[2])
	}
}
