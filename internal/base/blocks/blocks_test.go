package blocks

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// cases hold content, the parts it reads as, and how those are written.
var cases = map[string]struct {
	in    string
	parts []firn.Part
	out   string
	py    string
}{
	"a string":        {`"hi"`, []firn.Part{firn.Text{Text: "hi"}}, `[{"type":"text","text":"hi"}]`, `[{"type": "text", "text": "hi"}]`},
	"an empty string": {`""`, nil, `[]`, `[]`},
	"null":            {`null`, nil, `[]`, `[]`},
	"strings within":  {`["a"]`, []firn.Part{firn.Text{Text: "a"}}, `[{"type":"text","text":"a"}]`, `[{"type": "text", "text": "a"}]`},
	"extra fields": {
		`[{"text":"a","type":"text","cache_control":{"type":"ephemeral"},"mine":1}]`,
		[]firn.Part{firn.Text{Text: "a", Extra: firn.Fields{{Name: "cache_control", Value: raw(`{"type":"ephemeral"}`)}, {Name: "mine", Value: raw("1")}}}},
		`[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]`,
		`[{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]`,
	},
	"thinking": {
		`[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"d"}]`,
		[]firn.Part{firn.Thinking{Text: "hm", Signature: "s"}, firn.Thinking{Signature: "d", Redacted: true}},
		`[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"d"}]`,
		`[{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "d"}]`,
	},
	"a picture": {
		`[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"AA=="}}]`,
		[]firn.Part{firn.Image{MimeType: "image/gif", Data: "AA=="}},
		`[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"AA=="}}]`,
		`[{"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AA=="}}]`,
	},
	"a picture elsewhere": {
		`[{"type":"image","source":{"type":"url","url":"x"}}]`,
		[]firn.Part{firn.OpaquePart{Type: "image", Raw: raw(`{"type":"image","source":{"type":"url","url":"x"}}`)}},
		`[{"type":"image","source":{"type":"url","url":"x"}}]`,
		`[{"type": "image", "source": {"type": "url", "url": "x"}}]`,
	},
	"a call": {
		`[{"type":"tool_use","id":"1","name":"n","input":{"a": 1.0,"b":"x: y, z"},"caller":{"type":"direct"}}]`,
		[]firn.Part{firn.ToolCall{ID: "1", Name: "n", Arguments: raw(`{"a": 1.0,"b":"x: y, z"}`), Extra: firn.Fields{{Name: "caller", Value: raw(`{"type":"direct"}`)}}}},
		`[{"type":"tool_use","id":"1","name":"n","input":{"a":1.0,"b":"x: y, z"},"caller":{"type":"direct"}}]`,
		`[{"type": "tool_use", "id": "1", "name": "n", "input": {"a": 1.0, "b": "x: y, z"}, "caller": {"type": "direct"}}]`,
	},
	"odd arguments": {
		`[{"type":"tool_use","id":"1","name":"n","input":"{\"a"},{"type":"tool_use","id":"2","name":"n"}]`,
		[]firn.Part{firn.ToolCall{ID: "1", Name: "n", Arguments: raw(`{"invalid":"\"{\\\"a\""}`)}, firn.ToolCall{ID: "2", Name: "n", Arguments: raw(`{}`)}},
		`[{"type":"tool_use","id":"1","name":"n","input":{"invalid":"\"{\\\"a\""}},{"type":"tool_use","id":"2","name":"n","input":{}}]`,
		`[{"type": "tool_use", "id": "1", "name": "n", "input": {"invalid": "\"{\\\"a\""}}, {"type": "tool_use", "id": "2", "name": "n", "input": {}}]`,
	},
	"results": {
		`[{"tool_use_id":"1","type":"tool_result","content":"ok","is_error":false},{"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"is_error":true},{"type":"tool_result","tool_use_id":"3"}]`,
		[]firn.Part{
			firn.ToolResult{CallID: "1", Content: []firn.Part{firn.Text{Text: "ok"}}},
			firn.ToolResult{CallID: "2", Content: []firn.Part{firn.Text{Text: "a"}, firn.Text{Text: "b"}}, IsError: true},
			firn.ToolResult{CallID: "3"},
		},
		`[{"type":"tool_result","tool_use_id":"1","content":"ok"},{"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"is_error":true},{"type":"tool_result","tool_use_id":"3","content":""}]`,
		`[{"type": "tool_result", "tool_use_id": "1", "content": "ok"}, {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "is_error": true}, {"type": "tool_result", "tool_use_id": "3", "content": ""}]`,
	},
	"a result that is an object": {
		`[{"type":"tool_result","tool_use_id":"1","content":{"type":"x"}}]`,
		[]firn.Part{firn.ToolResult{CallID: "1", Content: []firn.Part{firn.OpaquePart{Type: "x", Raw: raw(`{"type":"x"}`)}}}},
		`[{"type":"tool_result","tool_use_id":"1","content":[{"type":"x"}]}]`,
		`[{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "x"}]}]`,
	},
	"unknown and unfinished": {
		`[{"type":"video","n":1},{"type":"text"},{"type":"tool_use","id":"1"},7,{}]`,
		[]firn.Part{
			firn.OpaquePart{Type: "video", Raw: raw(`{"type":"video","n":1}`)}, firn.OpaquePart{Type: "text", Raw: raw(`{"type":"text"}`)},
			firn.OpaquePart{Type: "tool_use", Raw: raw(`{"type":"tool_use","id":"1"}`)}, firn.OpaquePart{Raw: raw(`7`)}, firn.OpaquePart{Raw: raw(`{}`)},
		},
		`[{"type":"video","n":1},{"type":"text"},{"type":"tool_use","id":"1"},7,{}]`,
		`[{"type": "video", "n": 1}, {"type": "text"}, {"type": "tool_use", "id": "1"}, 7, {}]`,
	},
}

func TestReadAndAppend(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			parts, err := Read([]byte(c.in))
			if err != nil || !reflect.DeepEqual(parts, c.parts) {
				t.Errorf("Read: %#v, %v; want %#v", parts, err, c.parts)
			}
			if out := string(Append(nil, c.parts, Compact)); out != c.out {
				t.Errorf("Append compact:\n%s\nwant\n%s", out, c.out)
			}
			if out := string(Append(nil, c.parts, Python)); out != c.py {
				t.Errorf("Append as Python:\n%s\nwant\n%s", out, c.py)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for _, in := range []string{``, `7`, `{}`, `true`, `[`, `"a`, `[] x`, `[{"type":"text","text":"a"]`} {
		if parts, err := Read([]byte(in)); !errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("Read(%s) = %v, %v; want ErrCorrupt", in, parts, err)
		}
	}
}

func TestAppendWithout(t *testing.T) {
	got := string(Append(nil, []firn.Part{
		firn.Image{Data: "A"}, firn.ToolCall{ID: "1", Name: "n", Arguments: raw(`{`)}, firn.Shell{Command: "ls", Output: "a"}, firn.OpaquePart{Type: "x", Raw: raw(`{`)},
	}, Compact))
	want := `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"A"}},{"type":"tool_use","id":"1","name":"n","input":{}},{"type":"text","text":"$ ls\na"},{"type":"x"}]`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestKnown(t *testing.T) {
	for _, c := range []struct {
		part firn.Part
		want bool
	}{
		{firn.Text{}, true}, {firn.ToolResult{}, true}, {firn.Shell{}, false},
		{firn.OpaquePart{Type: "document", Raw: raw(`{"type":"document"}`)}, true},
		{firn.OpaquePart{Type: "document", Raw: raw(`{`)}, false},
		{firn.OpaquePart{Type: "video", Raw: raw(`{"type":"video"}`)}, false},
	} {
		if got := Known(c.part); got != c.want {
			t.Errorf("Known(%#v) = %v", c.part, got)
		}
	}
}

// FuzzRead checks that content is written as JSON that reads back the same.
func FuzzRead(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		parts, err := Read(in)
		if err != nil {
			return
		}
		for _, style := range []Style{Compact, Python} {
			out := Append(nil, parts, style)
			r := rawjson.New(out)
			if r.Skip(); r.End() != nil {
				t.Fatalf("%q became %q: %v", in, out, r.End())
			}
			again, err := Read(out)
			if err != nil {
				t.Fatalf("%q became %q: %v", in, out, err)
			}
			if once, twice := string(Append(nil, parts, Compact)), string(Append(nil, again, Compact)); once != twice {
				t.Fatalf("%q became %q and then %q", in, once, twice)
			}
		}
	})
}
