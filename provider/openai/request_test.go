package openai

import (
	"bytes"
	"encoding/json"
	"testing"

	"firn/provider"
)

func encodeChat(t *testing.T, o Options, req provider.Request) []byte {
	t.Helper()
	body, err := NewChat(o).chatRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func encodeResponses(t *testing.T, o Options, req provider.Request) []byte {
	t.Helper()
	body, err := NewResponses(o).responsesRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// pretty is a request as one can read it.
func pretty(t *testing.T, body []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", " "); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return b.String() + "\n"
}
