package rawjson

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTextAtEveryOffset checks that bytes are decoded as encoding/json does at every
// position of a block: long strings are scanned in blocks.
func TestTextAtEveryOffset(t *testing.T) {
	const size = 150
	for _, what := range []string{
		`\n`, `\"`, `\\`, `\\\"`, `\\\\`, `\u0041`, `\ud83d\ude00`, `\\n\\`, `é`, `\`, `\x`, `\u12`, `\u12g4`, "\x01", "\n", "\x00", `"`, `\\"`, `\"\"\"\"\"\"`, `\/\b\f\r\t`,
	} {
		for at := range size {
			fill := strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 8)
			in := `"` + fill[:at] + what + fill[at:size] + `"`
			var want string
			wantErr := json.Unmarshal([]byte(in), &want)

			r := New([]byte(in))
			got, ok := r.Text()
			if err := r.End(); (err == nil && ok) != (wantErr == nil) || wantErr == nil && got != want {
				t.Fatalf("Text of %s = %q, %v; encoding/json returns %q, %v", in, got, err, want, wantErr)
			}
			skipper := New([]byte(in))
			skipper.Skip()
			if err := skipper.End(); (err == nil) != (wantErr == nil) || err != nil && err.Error() != r.End().Error() {
				t.Fatalf("Skip of %s returns %v, Text %v, encoding/json %v", in, err, r.End(), wantErr)
			}
		}
	}
}

// TestTextCutShort checks that a truncated string is reported as truncated, not as
// malformed.
func TestTextCutShort(t *testing.T) {
	in := `"` + strings.Repeat(`plain text \n\u00e9\\ `, 12) + `"`
	for cut := 1; cut < len(in); cut++ {
		r := New([]byte(in[:cut]))
		if _, ok := r.Text(); ok || r.err == nil || !r.err.Short || r.err.Offset != cut {
			t.Fatalf("the first %d bytes: %v", cut, r.Err())
		}
	}
}
