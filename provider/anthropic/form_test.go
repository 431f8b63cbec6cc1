package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev/provider"
)

// TestForm checks the stop sequences and the JSON schema in requests. Blank sequences are not
// sent, and without a schema there is no answer in JSON.
func TestForm(t *testing.T) {
	const name = "claude-sonnet-4-5"
	req := provider.Request{Window: build(name, "", nil, byUser(textPart("count")))}
	for _, c := range []struct {
		stop   []string
		format *provider.Format
		want   string
	}{
		{nil, nil, `"max_tokens":64000,"stream":true}`},
		{[]string{"\n"}, nil, `"max_tokens":64000,"stream":true}`},
		{[]string{"a", "\n", "b"}, nil, `"stop_sequences":["a","b"],"stream":true}`},
		{nil, &provider.Format{Name: "x", Schema: json.RawMessage(`{"type":"object"}`)}, `"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},"stream":true}`},
	} {
		req.Stop, req.Format = c.stop, c.format
		body, err := encode(settingsOf(name), req, answering)
		if err != nil || !strings.HasSuffix(string(body), c.want) || !json.Valid(body) {
			t.Errorf("%q %v: %s, %v", c.stop, c.format, body, err)
		}
	}
	for _, bad := range []provider.Format{{}, {Schema: json.RawMessage(`{`)}} {
		req.Format = &bad
		if body, err := encode(settingsOf(name), req, answering); err == nil {
			t.Errorf("%s is sent as %s", bad.Schema, body)
		}
	}
}
