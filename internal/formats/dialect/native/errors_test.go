package native

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"firn.dev"
)

func TestAppendRefuses(t *testing.T) {
	message := func(role firn.Role, parts ...firn.Part) firn.Entry {
		return firn.Entry{ID: "a", Body: &firn.Message{Role: role, Parts: parts}}
	}
	opaque := func(e firn.Entry, kind firn.Kind, line string) firn.Entry {
		e.Body = &firn.Opaque{Type: kind, Raw: raw(line)}
		return e
	}
	extra := func(name, value string) firn.Entry {
		return firn.Entry{ID: "a", Body: &firn.Head{}, Extra: firn.Fields{{Name: name, Value: raw(value)}}}
	}
	for name, entry := range map[string]firn.Entry{
		"no body":                        {ID: "a"},
		"no id":                          {Body: &firn.Head{}},
		"no id, custom":                  {Body: &firn.Custom{Type: "x"}},
		"header without session":         {Body: &firn.Header{}},
		"header with an entry id":        {ID: "a", Body: &firn.Header{Session: "s"}},
		"year of five digits":            {ID: "a", Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), Body: &firn.Head{}},
		"message out of time":            {ID: "a", Body: &firn.Message{Role: firn.RoleUser, Time: time.UnixMilli(math.MaxInt64)}},
		"no role":                        message(""),
		"tool result with no part":       message(firn.RoleToolResult),
		"tool result with text":          message(firn.RoleToolResult, firn.Text{Text: "x"}),
		"tool result with two":           message(firn.RoleToolResult, firn.ToolResult{}, firn.ToolResult{}),
		"shell with text":                message(firn.RoleShell, firn.Text{}),
		"tool result said by the user":   message(firn.RoleUser, firn.ToolResult{CallID: "1"}),
		"shell said by the assistant":    message(firn.RoleAssistant, firn.Shell{}),
		"tool result in a tool result":   message(firn.RoleToolResult, firn.ToolResult{Content: []firn.Part{firn.ToolResult{}}}),
		"nil part":                       message(firn.RoleUser, nil),
		"arguments are not JSON":         message(firn.RoleAssistant, firn.ToolCall{ID: "1", Arguments: raw(`{"a":`)}),
		"arguments are empty":            message(firn.RoleAssistant, firn.ToolCall{ID: "1", Arguments: raw(``)}),
		"details are not JSON":           {ID: "a", Body: &firn.Compaction{Details: raw(`x`)}},
		"opaque part is not JSON":        message(firn.RoleUser, firn.OpaquePart{Type: "x"}),
		"price is not a number":          {ID: "a", Body: &firn.Message{Role: firn.RoleAssistant, Usage: &firn.Usage{Cost: firn.Cost{Total: math.NaN()}}}},
		"extra is not JSON":              extra("x", `{`),
		"extra without value":            {ID: "a", Body: &firn.Head{}, Extra: firn.Fields{{Name: "x"}}},
		"extra type":                     extra("type", `"message"`),
		"extra id":                       extra("id", `"b"`),
		"extra parent":                   extra("parentId", `"b"`),
		"opaque is not JSON":             opaque(firn.Entry{ID: "a"}, "x", `{"type":"x","id":"a"`),
		"opaque is not an object":        opaque(firn.Entry{}, "", `[]`),
		"opaque with another id":         opaque(firn.Entry{ID: "b"}, "x", `{"type":"x","id":"a","parentId":null}`),
		"opaque with another parent":     opaque(firn.Entry{ID: "a", Parent: "p"}, "x", `{"type":"x","id":"a","parentId":null}`),
		"opaque made a root":             opaque(firn.Entry{ID: "a", Parent: firn.Root}, "x", `{"type":"x","id":"a","parentId":"p"}`),
		"opaque of another type":         opaque(firn.Entry{ID: "a"}, "y", `{"type":"x","id":"a","parentId":null}`),
		"opaque of two lines":            opaque(firn.Entry{ID: "a"}, "x", "{\"type\":\"x\",\n\"id\":\"a\"}"),
		"opaque with extra fields":       opaque(firn.Entry{ID: "a", Extra: firn.Fields{{Name: "x", Value: raw(`1`)}}}, "x", `{"type":"x","id":"a"}`),
		"custom message with a result":   {ID: "a", Body: &firn.CustomMessage{Parts: []firn.Part{firn.ToolResult{}}}},
		"usage with an extra of no JSON": {ID: "a", Body: &firn.Message{Role: firn.RoleAssistant, Usage: &firn.Usage{Extra: firn.Fields{{Name: "x", Value: raw(`-`)}}}}},
	} {
		out, err := New().Append([]byte("kept"), entry)
		if !errors.Is(err, firn.ErrInvalid) || string(out) != "kept" {
			t.Errorf("%s: Append = %q, %v; want ErrInvalid and dst as it was", name, out, err)
		}
	}
}

func TestAppendErrorNamesTheEntry(t *testing.T) {
	_, err := New().Append(nil, firn.Entry{ID: "e42", Body: &firn.Message{}})
	want := `writing entry "e42" of type "message": invalid: the message has no role`
	if err == nil || err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	whole := `{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}`
	for _, line := range []string{
		"", " ", "not JSON", "[]", "17", "null", `"x"`, "{", whole[:len(whole)-1], whole + whole, whole + "x", "\x00\x00", "\xef\xbb\xbf" + whole,
		strings.Replace(whole, "x", "\x01", 1), strings.Replace(whole, "null", "nil", 1), `{"type":"unknown","a":}`, `{"a":1,}`,
	} {
		entry, err := New().Decode([]byte(line))
		if !errors.Is(err, firn.ErrCorrupt) || entry.Body != nil {
			t.Errorf("Decode(%q) = %v, %v; want ErrCorrupt", line, entry, err)
		}
	}
	if _, err := New().Decode([]byte(whole + "\r")); err != nil {
		t.Errorf("a carriage return at the end is no fault, but: %v", err)
	}
}
