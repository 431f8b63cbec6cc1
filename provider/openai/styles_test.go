package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"firn.dev"
)

// style is the way a server encodes calls.
type style struct {
	// index is "right", "none" or "zero".
	index string
	// id is "first" (in the first delta of a call), "always" or "none".
	id string
	// nameAlways repeats the name in every chunk.
	nameAlways bool
	// arguments are "pieces", "whole" or "object".
	arguments string
	// together puts all calls into one chunk, if they are whole.
	together bool
}

func drawStyle(t *rapid.T) style {
	return style{
		index:      rapid.SampledFrom([]string{"right", "none", "zero"}).Draw(t, "index"),
		id:         rapid.SampledFrom([]string{"first", "always", "none"}).Draw(t, "id"),
		nameAlways: rapid.Bool().Draw(t, "nameAlways"),
		arguments:  rapid.SampledFrom([]string{"pieces", "whole", "object"}).Draw(t, "arguments"),
		together:   rapid.Bool().Draw(t, "together"),
	}
}

// deltas returns the encoded deltas of one call.
func (s style) deltas(t *rapid.T, n int, call firn.ToolCall) []string {
	pieces := []string{string(call.Arguments)}
	if s.arguments == "pieces" {
		for at := rapid.IntRange(1, len(call.Arguments)).Draw(t, "cut"); at < len(pieces[len(pieces)-1]); at = rapid.IntRange(1, 9).Draw(t, "cut") {
			last := pieces[len(pieces)-1]
			pieces = append(pieces[:len(pieces)-1], last[:at], last[at:])
		}
	}
	var deltas []string
	for i, piece := range pieces {
		d := map[string]any{"type": "function"}
		switch s.index {
		case "right":
			d["index"] = n
		case "zero":
			d["index"] = 0
		}
		if s.id == "always" || s.id == "first" && i == 0 {
			d["id"] = call.ID
		}
		f := map[string]any{"arguments": piece}
		if s.arguments == "object" {
			f["arguments"] = json.RawMessage(piece)
		}
		if i == 0 || s.nameAlways {
			f["name"] = call.Name
		}
		d["function"] = f
		spelled, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		deltas = append(deltas, string(spelled))
	}
	return deltas
}

// TestCallStyles checks that calls are read the same in every style.
func TestCallStyles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStyle(t)
		var want []firn.ToolCall
		var deltas []string
		for n := range rapid.IntRange(1, 4).Draw(t, "calls") {
			call := firn.ToolCall{
				ID:        fmt.Sprintf("id-%d", n),
				Name:      rapid.SampledFrom([]string{"ls", "cat"}).Draw(t, "name"),
				Arguments: json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"a":1}`, `{"a":{"b":"{}"},"c":["}{"]}`}).Draw(t, "arguments")),
			}
			deltas = append(deltas, s.deltas(t, n, call)...)
			if s.id == "none" {
				call.ID = fmt.Sprintf("call_%d", n+1)
			}
			want = append(want, call)
		}
		if s.together && s.arguments != "pieces" {
			deltas = []string{strings.Join(deltas, ",")}
		}
		var b script
		for _, d := range deltas {
			b.event("", `{"choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}`, d)
		}
		b.event("", `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
		o := apis()[0].read(t, bytes.NewReader(b.Bytes()))
		if o.err != nil {
			t.Fatalf("%+v: %v\n%s", s, o.err, b.Bytes())
		}
		if len(o.done.Parts) != len(want) || o.done.StopReason != firn.StopToolUse {
			t.Fatalf("%+v: got\n%swant %d calls\n%s", s, messageNotation(o.done), len(want), b.Bytes())
		}
		for i, part := range o.done.Parts {
			got := part.(firn.ToolCall)
			if got.ID != want[i].ID || got.Name != want[i].Name || string(got.Arguments) != string(want[i].Arguments) {
				t.Fatalf("%+v: got\n%swant %v\n%s", s, messageNotation(o.done), want, b.Bytes())
			}
		}
	})
}
