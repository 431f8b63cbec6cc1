package api_test

import (
	"encoding/json"
	"testing"

	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// TestExactBytes checks that raw lines and requests are returned byte for byte, including
// those that a browser or an encoder would change.
func TestExactBytes(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	const line = `{ "n": 12345678901234567890123,  "f":1.0, "10":1, "2":2 }`
	s.fake.exact = json.RawMessage(line)
	got := s.owner("GET", "/v1/sessions/aaaa-1/window?as=anthropic&file")
	if got.status != 200 || got.body != line || got.head.Get("Content-Disposition") == "" {
		t.Errorf("the request is %d %q", got.status, got.body)
	}
	if got := s.owner("GET", "/v1/sessions/aaaa-1/window?file"); got.status != 400 {
		t.Errorf("the unauthenticated request is %d %q", got.status, got.body)
	}
	var page wire.Page[wire.Entry]
	got = s.owner("GET", "/v1/sessions/aaaa-1/entries?as=text")
	if err := json.Unmarshal([]byte(got.body), &page); err != nil || len(page.Items) != 1 || page.Items[0].Text != line || page.Items[0].Line != nil {
		t.Errorf("a list is %d %s, %v", got.status, got.body, err)
	}
	var entry wire.Entry
	got = s.owner("GET", "/v1/sessions/aaaa-1/entries/e1?as=text")
	if err := json.Unmarshal([]byte(got.body), &entry); err != nil || entry.Text != line || entry.Line != nil {
		t.Errorf("an entry is %d %s, %v", got.status, got.body, err)
	}
}
