package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// TestFormat checks the stop sequences and the form of the answer in requests.
func TestFormat(t *testing.T) {
	entry := firn.UserText("count")
	strict := true
	req := provider.Request{
		Window: window.Build(window.Path{Entries: []firn.Entry{entry}}, window.Options{}), Stop: []string{"a", "\n"},
		Format: &provider.Format{Name: "count", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Strict: &strict},
	}
	o := Options{Name: "local", URL: "http://127.0.0.1:1/v1"}
	schema := `"name":"count","description":"d","schema":{"type":"object"},"strict":true}}`
	check := func(body []byte, want string, there bool) {
		t.Helper()
		if strings.Contains(string(body), want) != there || !json.Valid(body) {
			t.Errorf("%s: want %s %v", body, want, there)
		}
	}
	check(encodeChat(t, o, req), `,"stop":["a","\n"],"response_format":{"type":"json_schema","json_schema":{`+schema, true)
	check(encodeResponses(t, o, req), `,"text":{"format":{"type":"json_schema",`+schema, true)
	check(encodeResponses(t, o, req), `"stop"`, false)
	o.Spec = provider.Spec{Window: 1000, Thinks: true}
	check(encodeChat(t, o, req), `"stop"`, false)
	req.Format = &provider.Format{}
	check(encodeChat(t, o, req), `"response_format":{"type":"json_object"}`, true)
	check(encodeResponses(t, o, req), `"text":{"format":{"type":"json_object"}}`, true)
	req.Format.Schema = json.RawMessage(`{`)
	if _, err := NewChat(o).chatRequest(req); err == nil {
		t.Error("a schema that is not JSON is sent")
	}
}
