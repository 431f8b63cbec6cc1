package store_test

import (
	"encoding/json"
	"testing"

	"firn.dev"
)

func TestPrepareOpaque(t *testing.T) {
	const at = `"timestamp":"2026-03-15T10:00:00.000Z"`
	cases := []struct {
		name  string
		entry firn.Entry
		raw   string
		want  string
	}{
		{"without id and parent", firn.Entry{ID: "a"}, `{"type":"x","n":1.0}`, `{"type":"x","id":"a","parentId":"head",` + at + `,"n":1.0}`},
		{"agrees", firn.Entry{ID: "a"}, `{ "n":1, "id":"a","parentId":"head","timestamp":"2026-03-15T11:00:00+01:00","type":"x"}`, "same"},
		{"agrees that it is a root", firn.Entry{ID: "a", Parent: firn.Root}, `{"type":"x","id":"a","parentId":null,` + at + `}`, "same"},
		{"has another parent", firn.Entry{ID: "a"}, `{"type":"x","id":"a","parentId":"b",` + at + `}`, `{"type":"x","id":"a","parentId":"head",` + at + `}`},
		{"without a parent", firn.Entry{ID: "a", Parent: firn.Root}, `{"type":"x","id":"a",` + at + `}`, `{"type":"x","id":"a","parentId":null,` + at + `}`},
		{"has an id twice", firn.Entry{ID: "a"}, `{"type":"x","id":"b","id":"a","parentId":"head",` + at + `}`, `{"type":"x","id":"a","parentId":"head",` + at + `}`},
		{"has another time", firn.Entry{ID: "a", Time: now}, `{"type":"x","id":"a","parentId":"head","timestamp":5}`, `{"type":"x","id":"a","parentId":"head",` + at + `}`},
		{"has many lines", firn.Entry{ID: "a"}, "{\"type\":\"x\",\n\"id\":\"a\",\"parentId\":\"head\"," + at + ",\"b\":[\n1]}", `{"type":"x","id":"a","parentId":"head",` + at + `,"b":[1]}`},
		{"has extra fields", firn.Entry{ID: "a", Extra: firn.Fields{{Name: "b", Value: json.RawMessage("2")}}},
			`{"type":"x","id":"a","parentId":"head",` + at + `,"b":1,"c":3}`, `{"type":"x","id":"a","parentId":"head",` + at + `,"c":3,"b":2}`},
		{"has bad text", firn.Entry{ID: "a"}, `{"type":"x","id":"a","parentId":"head",` + at + `,"b":"\u0000"}`,
			`{"type":"x","id":"a","parentId":"head",` + at + `,"b":"\ufffd","cleaned":true}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := &firn.Opaque{Raw: json.RawMessage(c.raw)}
			c.entry.Body = o
			got := prepare(t, tail, c.entry)[0]
			if c.want == "same" {
				c.want = c.raw
			}
			b := got.Body.(*firn.Opaque)
			if string(b.Raw) != c.want || b.Type != "x" || len(got.Extra) > 0 || !got.Time.Equal(now) {
				t.Errorf("got %s of type %s at %v with %v\nwant %s", b.Raw, b.Type, got.Time, got.Extra, c.want)
			}
			if string(o.Raw) != c.raw || o.Type != "" {
				t.Error("the caller's entry was changed")
			}
		})
	}
}

func TestPrepareOpaqueKeepsItsTime(t *testing.T) {
	const raw = `{"type":"x","id":"a","parentId":"head","timestamp":"2020-02-02T02:02:02.020Z"}`
	got := prepare(t, tail, firn.Entry{ID: "a", Body: &firn.Opaque{Type: "x", Raw: json.RawMessage(raw)}})[0]
	if got.Time.Format("2006-01-02T15:04:05.000Z") != "2020-02-02T02:02:02.020Z" || string(got.Body.(*firn.Opaque).Raw) != raw {
		t.Errorf("got %s at %v", got.Body.(*firn.Opaque).Raw, got.Time)
	}
}

func TestPrepareReadsTypeOfPart(t *testing.T) {
	part := firn.OpaquePart{Raw: json.RawMessage(`{"a":1,"type":"x"}`)}
	m := &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{part, firn.OpaquePart{Raw: json.RawMessage(`[1]`)}}}
	got := prepare(t, tail, firn.Entry{Body: m})[0].Body.(*firn.Message).Parts
	if a, b := got[0].(firn.OpaquePart).Type, got[1].(firn.OpaquePart).Type; a != "x" || b != "" {
		t.Errorf("the types are %q and %q", a, b)
	}
}
