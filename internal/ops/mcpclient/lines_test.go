package mcpclient

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// FuzzMessageReader checks that only lines of JSON-RPC come out, whatever goes in.
func FuzzMessageReader(f *testing.F) {
	f.Add("hello\n{\"jsonrpc\":\"2.0\",\"id\":1}\n{}\n")
	f.Add("[1]\n\n{\"jsonrpc\":\"2.0\"")
	f.Fuzz(func(t *testing.T, in string) {
		r := newMessageReader(io.NopCloser(strings.NewReader(in)), func(string) {})
		out, _ := io.ReadAll(r)
		for line := range strings.Lines(string(out)) {
			if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "\n") {
				t.Fatalf("%q passes", line)
			}
		}
	})
}

func TestMessageReader(t *testing.T) {
	var strays []string
	read := func(in string) (string, error) {
		r := newMessageReader(io.NopCloser(strings.NewReader(in)), func(s string) { strays = append(strays, s) })
		out, err := io.ReadAll(r)
		return string(out), err
	}
	message := `{"jsonrpc":"2.0","id":1}`
	if got, err := read("Listening…\n\n" + message); err != nil || got != message+"\n" || len(strays) != 1 {
		t.Errorf("%q, %v, strays %q", got, err, strays)
	}
	for _, bad := range []string{"{\n", "{}\n", `{"jsonrpc":"1.0"}` + "\n", strings.Repeat("x\n", maxStray+1), strings.Repeat("x", maxLine+1)} {
		if _, err := read(bad); err == nil {
			t.Errorf("%.40q is accepted", bad)
		}
	}
}
