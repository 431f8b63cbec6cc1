package trace

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

// The types of this file are the subset of OTLP's JSON that is used: 64-bit numbers are
// strings, IDs are hexadecimal, kinds are numbers.

type otlpRequest struct {
	ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
}

type otlpResourceSpans struct {
	Resource   otlpResource     `json:"resource"`
	ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
}

type otlpResource struct {
	Attributes []otlpAttribute `json:"attributes"`
}

type otlpScopeSpans struct {
	Scope otlpScope  `json:"scope"`
	Spans []otlpSpan `json:"spans"`
}

type otlpScope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type otlpSpan struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	Parent     string          `json:"parentSpanId,omitempty"`
	State      string          `json:"traceState,omitempty"`
	Flags      uint32          `json:"flags"`
	Name       string          `json:"name"`
	Kind       Kind            `json:"kind"`
	Start      string          `json:"startTimeUnixNano"`
	End        string          `json:"endTimeUnixNano"`
	Attributes []otlpAttribute `json:"attributes,omitempty"`
	Links      []otlpLink      `json:"links,omitempty"`
	Status     *otlpStatus     `json:"status,omitempty"`
}

type otlpLink struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
}

type otlpStatus struct {
	Code int `json:"code"`
}

// otlpFailed is the status code of a failed span.
const otlpFailed = 2

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

type otlpValue struct {
	String *string    `json:"stringValue,omitempty"`
	Int    *string    `json:"intValue,omitempty"`
	Array  *otlpArray `json:"arrayValue,omitempty"`
}

type otlpArray struct {
	Values []otlpValue `json:"values"`
}

// encode encodes spans as JSON.
func encode(spans []data, resource []Attribute, version string) ([]byte, error) {
	all := make([]otlpSpan, len(spans))
	for i := range spans {
		all[i] = spans[i].otlp()
	}
	return json.Marshal(otlpRequest{[]otlpResourceSpans{{
		Resource:   otlpResource{otlpAttributes(resource)},
		ScopeSpans: []otlpScopeSpans{{Scope: otlpScope{Name: "firn", Version: version}, Spans: all}},
	}}})
}

func (d *data) otlp() otlpSpan {
	s := otlpSpan{
		TraceID: hex.EncodeToString(d.context.Trace[:]), SpanID: hex.EncodeToString(d.context.Span[:]), State: d.context.State, Flags: 1,
		Name: d.name, Kind: d.kind, Start: nano(d.start), End: nano(d.start.Add(d.end.Sub(d.start))), Attributes: otlpAttributes(d.attributes),
	}
	if d.parent != [8]byte{} {
		s.Parent = hex.EncodeToString(d.parent[:])
	}
	for _, l := range d.links {
		s.Links = append(s.Links, otlpLink{hex.EncodeToString(l.Trace[:]), hex.EncodeToString(l.Span[:])})
	}
	if d.failed {
		s.Status = &otlpStatus{otlpFailed}
	}
	return s
}

func nano(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func otlpAttributes(all []Attribute) []otlpAttribute {
	out := make([]otlpAttribute, len(all))
	for i, a := range all {
		out[i] = otlpAttribute{a.key, otlpValueOf(a.value)}
	}
	return out
}

func otlpValueOf(v any) otlpValue {
	switch v := v.(type) {
	case string:
		return otlpValue{String: &v}
	case int64:
		text := strconv.FormatInt(v, 10)
		return otlpValue{Int: &text}
	case []string:
		array := &otlpArray{Values: make([]otlpValue, len(v))}
		for i := range v {
			array.Values[i] = otlpValue{String: &v[i]}
		}
		return otlpValue{Array: array}
	}
	return otlpValue{}
}
