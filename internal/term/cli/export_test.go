package cli

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// answering is a gateway that returns a report and a session.
type answering struct{ report, session string }

// RoundTrip implements [http.RoundTripper].
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	body, head := a.session, http.Header{"Content-Type": r.Header["Accept"]}
	if strings.Contains(a.report, "masked") {
		head.Set(wire.MaskedHeader, "true")
	}
	if r.URL.Query().Get("report") != "" {
		body = a.report
	}
	return &http.Response{StatusCode: http.StatusOK, Header: head, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestExportIsMaskedOrNotWritten checks that nothing is written if masking was requested
// and the gateway's report does not mention it, because that gateway does not support it.
func TestExportIsMaskedOrNotWritten(t *testing.T) {
	for report, masks := range map[string]bool{`{"from":"native","to":"pi"}`: false, `{"masked":0}`: true, `{"masked":2}`: true} {
		c, err := client.New(client.Options{Address: "http://gateway.invalid", Transport: answering{report, "a session\n"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, plan := range []bool{false, true} {
			for _, out := range []string{"", filepath.Join(t.TempDir(), "out.jsonl")} {
				var stdout, stderr bytes.Buffer
				p := &program{stdout: &stdout, stderr: &stderr}
				err := exchangeCommands{p}.export(t.Context(), c, wire.Session{ID: "0199-test"}, "pi", true, out, plan)
				if _, there := os.Stat(out); masks != (err == nil) || (there == nil) != (masks && !plan && out != "") {
					t.Errorf("%s to %q: %v, and the file: %v", report, out, err, there)
				}
				if text := stdout.String() + stderr.String(); masks != strings.Contains(text, "masked ") || !masks && (text != "" || !errors.Is(err, firn.ErrUnsupported)) {
					t.Errorf("%s to %q: printed %q, %v", report, out, text, err)
				}
				if err := (exchangeCommands{p}).export(t.Context(), c, wire.Session{ID: "0199-test"}, "pi", false, "", plan); err != nil {
					t.Errorf("without masking: %v", err)
				}
			}
		}
	}
}
