package codex

import (
	"bytes"
	"iter"
	"strings"
	"testing"

	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
)

// carry converts a transcript.
func carry(t *testing.T, from, to dialect.Tool, data []byte) ([]byte, *convert.Report) {
	t.Helper()
	src := convert.Transcript(from, dialect.Origin{}, func() iter.Seq2[[]byte, error] { return convert.Lines(bytes.NewReader(data), 0) })
	var out bytes.Buffer
	report := &convert.Report{}
	if err := convert.Write(t.Context(), &out, src, to, dialect.Target{Session: "s", CWD: "/home/u"}, report); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), report
}

// TestRolloutRoundTrip converts rollouts to firn's own format and back: the lines are the
// same, except for rolled-back turns and their rollbacks.
func TestRolloutRoundTrip(t *testing.T) {
	for name, data := range fixtures(t) {
		there, _ := carry(t, New(), native.NewTool(), data)
		back, report := carry(t, native.NewTool(), New(), there)
		if !bytes.Equal(back, data) || report.Left > 0 {
			t.Errorf("%s is read back as\n%s\nwant\n%s", name, back, data)
		}
	}
	data := rollout("u1", "a1", "u2", "a2", back(1), "u3", `compacted {"message":"","replacement_history":[]}`, "u4", back(1), "u5")
	there, _ := carry(t, New(), native.NewTool(), data)
	again, _ := carry(t, native.NewTool(), New(), there)
	if got, want := strings.Join(sent(scan(t, again)), " "), strings.Join(sent(scan(t, data)), " "); got != want {
		t.Errorf("sent: %s, want %s:\n%s", got, want, again)
	}
}
