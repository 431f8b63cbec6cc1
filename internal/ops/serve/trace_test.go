package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"firn.dev/wire"
)

// collector receives spans in OTLP JSON and records everything it is sent.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	raw   bytes.Buffer
	spans []spanned
	who   string
}

// spanned is a received span.
type spanned struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Status                              struct{ Code int }
	Attributes                          []pair
	facts                               map[string]string
}

type pair struct {
	Key   string
	Value struct {
		StringValue, IntValue string
		ArrayValue            struct {
			Values []struct{ StringValue string }
		}
	}
}

func (p pair) text() string {
	if len(p.Value.ArrayValue.Values) > 0 {
		return p.Value.ArrayValue.Values[0].StringValue
	}
	return p.Value.StringValue + p.Value.IntValue
}

func collecting(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var got struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []pair }
				ScopeSpans []struct{ Spans []spanned }
			}
		}
		if err != nil || json.Unmarshal(body, &got) != nil || r.URL.Path != "/v1/traces" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(body)
		for _, rs := range got.ResourceSpans {
			c.who = rs.Resource.Attributes[0].text()
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					s.facts = make(map[string]string)
					for _, a := range s.Attributes {
						s.facts[a.Key] = a.text()
					}
					c.spans = append(c.spans, s)
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// all returns the spans with a name, in the order they ended.
func (c *collector) all(name string) []spanned {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.spans), func(s spanned) bool { return s.Name != name })
}

// one returns the only span with a name and a parent. An empty parent matches any.
func (c *collector) one(t *testing.T, name, parent string) spanned {
	t.Helper()
	found := slices.DeleteFunc(c.all(name), func(s spanned) bool { return parent != "" && s.ParentSpanID != parent })
	if len(found) != 1 {
		t.Fatalf("there are %d spans %q below %q among %+v", len(found), name, parent, c.spans)
	}
	return found[0]
}

// marker is a word that occurs only in messages.
const marker = "zyzzyva"

// TestTraces traces a turn with a tool, a compaction and a failure: the spans have the
// right parents and durations, and contain no message content.
func TestTraces(t *testing.T) {
	collect := collecting(t)
	s := speak(t, func(w http.ResponseWriter, asked []message) {
		switch last := asked[len(asked)-1]; {
		case strings.Contains(last.text(), "fail "+marker):
			fails(w, http.StatusUnauthorized, "no "+marker+" for you")
		case last.Role == "user" && strings.Contains(last.text(), "count "+marker):
			calls(w, "call_1", "calc", `{"expression":"1+1","why":"`+marker+`"}`)
		case last.Role == "user" && strings.Contains(last.text(), "invent "+marker):
			calls(w, "call "+marker, marker, `{}`)
		default:
			says(w, "Here is a "+marker+".")
		}
	})
	var log bytes.Buffer
	settings := load(t, s.settings("[telemetry]\nservice = \"kitchen\"\n"))
	h, c := openInstance(t, Options{
		Settings: settings, Env: env("OTEL_EXPORTER_OTLP_ENDPOINT", collect.URL), Version: "1.2.3",
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	session, err := c.NewSession(t.Context(), wire.NewSession{Title: "About the " + marker})
	if err != nil {
		t.Fatal(err)
	}
	path := "/v1/sessions/" + string(session.ID)
	const incoming, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for _, text := range []string{"count " + marker, "invent " + marker, strings.Repeat(marker+" ", 2000), strings.Repeat(marker+" ", 2000)} {
		if code := fetch(t, h, "POST", path+"/turns", `{"text":`+quoted(text)+`}`, "traceparent", "00-"+incoming+"-"+parent+"-01"); code != 200 {
			t.Fatalf("%.20s gave %d", text, code)
		}
	}
	if code := fetch(t, h, "POST", path+"/compactions", `{"keepRecent":1,"hint":"`+marker+`"}`); code != 200 {
		t.Fatalf("the compaction gave %d", code)
	}
	if code := fetch(t, h, "POST", path+"/turns", `{"text":"fail `+marker+`"}`); code == 200 {
		t.Error("it did not fail")
	}
	fetch(t, h, "GET", "/v1/sessions/"+marker, "")
	fetch(t, h, "GET", "/healthz", "")
	h.tracer.Close(t.Context())

	collect.mu.Lock()
	raw := collect.raw.String()
	collect.mu.Unlock()
	if raw == "" || strings.Contains(raw, marker) {
		t.Errorf("the spans contain message text: %s", raw)
	}
	if strings.Contains(log.String(), marker) {
		t.Errorf("the log contains message text:\n%s", log.String())
	}
	if !strings.Contains(log.String(), `"trace":"`+incoming+`"`) {
		t.Error("the log does not contain the trace")
	}
	if collect.who != "kitchen" {
		t.Errorf("the service is %s", collect.who)
	}
	checkTurn(t, collect, session, incoming, parent)
	checkRest(t, collect)
}

// checkTurn checks the spans of the first turn.
func checkTurn(t *testing.T, c *collector, session wire.Session, incoming, parent string) {
	t.Helper()
	request := c.all("POST /v1/sessions/{id}/turns")[0]
	if request.TraceID != incoming || request.ParentSpanID != parent || request.Kind != 2 || request.facts["http.route"] != "/v1/sessions/{id}/turns" || request.facts["http.response.status_code"] != "200" {
		t.Errorf("the request is %+v", request)
	}
	turn := c.one(t, "invoke_agent main", request.SpanID)
	if turn.TraceID != incoming || turn.facts["gen_ai.operation.name"] != "invoke_agent" || turn.facts["gen_ai.agent.name"] != "main" ||
		turn.facts["gen_ai.conversation.id"] != string(session.ID) || turn.facts["gen_ai.usage.output_tokens"] != "14" || turn.facts["firn.turn.calls"] != "1" {
		t.Errorf("the turn is %+v", turn)
	}
	tool := c.one(t, "execute_tool calc", turn.SpanID)
	if tool.TraceID != incoming || tool.facts["gen_ai.tool.name"] != "calc" || tool.facts["gen_ai.tool.call.id"] != "call_1" || tool.Kind != 1 {
		t.Errorf("the tool is %+v", tool)
	}
	asked := slices.DeleteFunc(c.all("chat talker"), func(s spanned) bool { return s.ParentSpanID != turn.SpanID })
	if len(asked) != 2 {
		t.Fatalf("the model was called %d times", len(asked))
	}
	for i, reason := range []string{"toolUse", "stop"} {
		for name, want := range map[string]string{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "talk", "gen_ai.request.model": "talker", "gen_ai.response.model": "talker",
			"gen_ai.usage.input_tokens": "100", "gen_ai.usage.output_tokens": "7", "gen_ai.conversation.id": string(session.ID), "gen_ai.response.finish_reasons": reason,
		} {
			if got := asked[i].facts[name]; got != want {
				t.Errorf("of answer %d, %s is %q, want %q", i+1, name, got, want)
			}
		}
		if asked[i].Kind != 3 || asked[i].TraceID != incoming {
			t.Errorf("answer %d is %+v", i+1, asked[i])
		}
	}
}

// checkRest checks the compaction, the failure, and the absence of other spans.
func checkRest(t *testing.T, c *collector) {
	t.Helper()
	request := c.one(t, "POST /v1/sessions/{id}/compactions", "")
	compaction := c.one(t, "compaction", request.SpanID)
	if compaction.facts["firn.compaction.reason"] != "manual" || compaction.Status.Code != 0 {
		t.Errorf("the compaction is %+v", compaction)
	}
	if summary := slices.DeleteFunc(c.all("chat talker"), func(s spanned) bool { return s.ParentSpanID != compaction.SpanID }); len(summary) == 0 || summary[0].facts["firn.purpose"] != "summary" {
		t.Errorf("the summaries are %+v", summary)
	}
	turns := c.all("invoke_agent main")
	if last := turns[len(turns)-1]; last.Status.Code != 2 || last.facts["error.type"] != "auth" {
		t.Errorf("the turn that failed is %+v", last)
	}
	asked := c.all("chat talker")
	if last := asked[len(asked)-1]; last.Status.Code != 2 || last.facts["error.type"] != "auth" {
		t.Errorf("the answer that failed is %+v", last)
	}
	for _, s := range c.spans {
		if strings.HasPrefix(s.Name, "execute_tool") && s.Name != "execute_tool calc" || strings.Contains(s.Name, "health") {
			t.Errorf("there is a span %q", s.Name)
		}
	}
}

// TestNoTraces checks that nothing is sent unless requested, and that errors are reported.
func TestNoTraces(t *testing.T) {
	collect := collecting(t)
	for name, o := range map[string]Options{
		"not asked for":          {Env: env()},
		"switched off by hand":   {Env: env("OTEL_EXPORTER_OTLP_ENDPOINT", collect.URL), Settings: load(t, "[telemetry]\ntraces = \"off\"")},
		"switched off for all":   {Env: env("OTEL_EXPORTER_OTLP_ENDPOINT", collect.URL, "OTEL_SDK_DISABLED", "true")},
		"sent nowhere":           {Env: env("OTEL_EXPORTER_OTLP_ENDPOINT", collect.URL, "OTEL_TRACES_EXPORTER", "none")},
		"of one that only looks": {Env: env("OTEL_EXPORTER_OTLP_ENDPOINT", collect.URL), ReadOnly: true},
	} {
		h, _ := openInstance(t, o)
		if h.tracer != nil {
			t.Errorf("%s: it is traced", name)
		}
	}
	var texts []string
	h, _ := openInstance(t, Options{Env: env("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://c"), Report: func(m string) { texts = append(texts, m) }})
	if h.tracer != nil || len(texts) != 1 || !strings.HasPrefix(texts[0], "tracing is disabled: ") {
		t.Errorf("the output is %q", texts)
	}
}

// TestDeadCollector checks that a collector that never responds does not affect the
// gateway.
func TestDeadCollector(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	h, c := openInstance(t, Options{Env: env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+dead.Addr().String(), "OTEL_EXPORTER_OTLP_TIMEOUT", "600000")})
	s, err := c.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if _, err := c.Turn(t.Context(), s.ID, wire.Turn{Text: "What is 1+1?"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3000 { // more than the queue can hold
		fetch(t, h, "GET", "/v1/running", "")
	}
	if sent, dropped := h.tracer.Counts(); sent != 0 || dropped == 0 {
		t.Errorf("%d were sent, %d dropped", sent, dropped)
	}
}
