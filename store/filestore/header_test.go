package filestore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestLongHeader lists a session with a header longer than the part that is read first.
func TestLongHeader(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "agents", "main", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	header := `{"type":"session","version":3,"id":"long","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/there","firn":1,"agent":"main","pad":"` + strings.Repeat("x", 3<<20) + `"}` + "\n"
	text := `{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hello"}}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "long.jsonl"), []byte(header+text), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var found []firn.ID
	for info, err := range st.List(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, info.ID)
		if info.Fault != "" || info.CWD != "/there" || info.Prompt != "hello" {
			t.Errorf("it is listed as %+v", info)
		}
	}
	if len(found) != 1 {
		t.Errorf("the sessions are %v", found)
	}
}
