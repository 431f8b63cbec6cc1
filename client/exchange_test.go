package client_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// TestExportIsMaskedOrNotWritten checks that the response of a gateway without masking is
// not written if masking was requested, and is otherwise.
func TestExportIsMaskedOrNotWritten(t *testing.T) {
	const talk = "a session with a secret\n"
	for name, masks := range map[string]bool{"an old gateway": false, "one that masks": true} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, client.Options{Transport: local(t, func(w http.ResponseWriter, r *http.Request) {
				asked := masks && r.FormValue("mask") == "true"
				if r.FormValue("report") == "true" {
					f := wire.Fidelity{To: "pi"}
					if asked {
						f.Masked = new(int64)
					}
					w.Header().Set("Content-Type", "application/json")
					w.Write(mustJSON(f))
					return
				}
				if asked {
					w.Header().Set(wire.MaskedHeader, "true")
				}
				w.Header().Set("Content-Type", "application/x-ndjson")
				io.WriteString(w, talk)
			})})
			for _, mask := range []bool{false, true} {
				var b bytes.Buffer
				e, output := wire.Export{Format: "pi", Mask: mask}, talk
				err := c.Transfer.ExportAs(t.Context(), session, e, &b)
				_, reported := c.Transfer.FidelityAs(t.Context(), session, e)
				for _, err := range []error{err, reported} {
					if mask && !masks && !errors.Is(err, firn.ErrUnsupported) || (masks || !mask) && err != nil {
						t.Errorf("masking %t: %v", mask, err)
					}
				}
				if mask && !masks {
					output = ""
				}
				if b.String() != output {
					t.Errorf("masking %t wrote %q", mask, &b)
				}
			}
		})
	}
}

// TestExportToFullDisk checks that an error of the writer is not reported as an
// error of the gateway.
func TestExportToFullDisk(t *testing.T) {
	c := newClient(t, client.Options{Transport: local(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		io.WriteString(w, "a session\n")
	})})
	err := c.Transfer.Export(t.Context(), session, "pi", full{})
	var unreachable *client.Unreachable
	if !errors.Is(err, errFull) || errors.As(err, &unreachable) {
		t.Errorf("it is %v", err)
	}
}

var errFull = errors.New("no room")

// full is a writer that returns an error.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
