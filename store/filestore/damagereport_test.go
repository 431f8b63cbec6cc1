package filestore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestDamageReportMayUseTheStore checks that Report can use the store, whatever the store
// is doing.
func TestDamageReportMayUseTheStore(t *testing.T) {
	const key = "agent:main:main"
	home := t.TempDir()
	st := reviewOpen(t, home, filestore.Options{})
	id, err := store.LoadOrCreate(t.Context(), st, key)
	if err != nil {
		t.Fatal(err)
	}
	other := reviewBegin(t, st, 1)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(home, "agents/main/sessions/sessions.json")
	reviewWrite(t, table, "{nonsense")
	past := time.Now().Add(-time.Hour) // old enough not to be considered half saved
	if err := os.Chtimes(table, past, past); err != nil {
		t.Fatal(err)
	}
	reviewAdd(t, reviewTranscript(home, id), `{"type":"mess`)

	var texts []string
	st = reviewOpen(t, home, filestore.Options{OpenFiles: 1, Report: func(message string) {
		texts = append(texts, message)
		if _, err := st.Lookup(t.Context(), key); err != nil {
			t.Errorf("look up from the report of %q: %v", message, err)
		}
		if _, err := st.Append(t.Context(), other, store.Any, firn.UserText("told")); err != nil {
			t.Errorf("append from the report of %q: %v", message, err)
		}
	}})
	if found, err := st.Lookup(t.Context(), key); err != nil || found != id {
		t.Fatalf("look up: %s, %v; want %s", found, err, id)
	}
	if len(texts) != 1 || !strings.Contains(texts[0], "corrupt") {
		t.Errorf("the reports about the table are %q", texts)
	}
	if _, err := st.Append(t.Context(), id, store.Any, firn.UserText("two")); err != nil {
		t.Fatal(err)
	}
	if len(texts) != 2 || !strings.Contains(texts[1], "unfinished line") {
		t.Errorf("the reports about the torn line are %q", texts)
	}
}
