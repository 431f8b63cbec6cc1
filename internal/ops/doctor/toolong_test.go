package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestTooLong examines a session with a line over the limit. The fault has its place and
// length, no stand-in is created for the existing entry, and with a higher limit there is
// no finding.
func TestTooLong(t *testing.T) {
	const limit = 1 << 20
	home := t.TempDir()
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", strings.Repeat("long ", limit/2), "last"} {
		if _, err := st.Append(t.Context(), "long", store.Any, firn.UserText(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "agents/main/sessions/long.jsonl")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	target, err := OpenHome(nil, home)
	if err != nil {
		t.Fatal(err)
	}
	target.MaxLine = limit
	report, err := Verify(t.Context(), target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range report.Findings {
		if f.Kind == TooLong && f.Severity == Fault && f.At.Line == 3 && strings.Contains(f.Message, "store.max_line") {
			found++
		}
	}
	if found != 1 {
		t.Errorf("found %+v", report.Findings)
	}
	plan, err := Repair(t.Context(), target, Options{})
	if err != nil || len(plan.Steps) > 0 || len(plan.Left) == 0 {
		t.Errorf("repaired: %+v, %v", plan, err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the transcript changed (%v)", err)
	}
	target.MaxLine = 0
	if report, err = Verify(t.Context(), target, Options{}); err != nil || len(report.Findings) > 0 {
		t.Errorf("with the default limit: %+v, %v", report.Findings, err)
	}
}
