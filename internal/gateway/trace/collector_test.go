package trace_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// collector is a trace collector that implements OTLP's JSON over HTTP.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []span
	resource map[string]any
	header   http.Header
	// answers are the status codes of the next requests; 200 after them.
	answers  []int
	requests int
	// took, if not nil, receives a value for each request.
	took chan struct{}
}

// span is a span as the collector got it.
type span struct {
	TraceID, SpanID, ParentSpanID, TraceState, Name string
	Kind                                            int
	StartTimeUnixNano, EndTimeUnixNano              string
	Attributes                                      []attribute
	Links                                           []struct{ TraceID, SpanID string }
	Status                                          struct{ Code int }
}

type attribute struct {
	Key   string
	Value struct {
		StringValue *string
		IntValue    *string
		ArrayValue  *struct {
			Values []struct{ StringValue string }
		}
	}
}

// values are attributes as plain values.
func values(all []attribute) map[string]any {
	m := make(map[string]any)
	for _, a := range all {
		switch v := a.Value; {
		case v.StringValue != nil:
			m[a.Key] = *v.StringValue
		case v.IntValue != nil:
			m[a.Key] = *v.IntValue
		case v.ArrayValue != nil:
			var texts []string
			for _, x := range v.ArrayValue.Values {
				texts = append(texts, x.StringValue)
			}
			m[a.Key] = strings.Join(texts, ",")
		}
	}
	return m
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if c.took != nil {
		defer func() { c.took <- struct{}{} }()
	}
	c.header = r.Header.Clone()
	if len(c.answers) > 0 {
		code := c.answers[0]
		c.answers = c.answers[1:]
		w.WriteHeader(code)
		return
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		packed, err := gzip.NewReader(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body = packed
	}
	var got struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes []attribute }
			ScopeSpans []struct{ Spans []span }
		}
	}
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(body).Decode(&got) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, rs := range got.ResourceSpans {
		c.resource = values(rs.Resource.Attributes)
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	io.WriteString(w, "{}")
}

// named is the only span of a name.
func (c *collector) named(t *testing.T, name string) span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []span
	for _, s := range c.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d spans %q among %+v", len(found), name, c.spans)
	}
	return found[0]
}
