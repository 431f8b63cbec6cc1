package filestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"
)

// TestAppendAfterBlankLines expects the end after the last record of a file that ends with
// blank lines.
func TestAppendAfterBlankLines(t *testing.T) {
	home := t.TempDir()
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	first, err := st.Append(t.Context(), "s1", store.Start, firn.UserText("one"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "agents", "main", "sessions", "s1.jsonl")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("\n  \n"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	live, err := window.Collect(st.ReadBack(t.Context(), "s1", store.End))
	if err != nil || live.End != first {
		t.Fatalf("collected up to %d (%v), the record ends at %d", live.End, err, first)
	}
	if _, err := st.Append(t.Context(), "s1", live.End, firn.AssistantText("two")); err != nil {
		t.Errorf("append after blank lines: %v", err)
	}
	if _, err := st.Append(t.Context(), "s1", live.End, firn.UserText("three")); err == nil {
		t.Error("a concurrent append was not reported")
	}
}
