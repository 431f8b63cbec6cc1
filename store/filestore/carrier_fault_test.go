package filestore

import (
	"fmt"
	"strings"
	"testing"

	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
)

// TestLoadingAgainAfterAFailure checks that a session of several parts can be loaded again
// after any failure.
func TestLoadingAgainAfterAFailure(t *testing.T) {
	lines := func(yield func([]byte, error) bool) {
		for i := range 6 {
			line := fmt.Sprintf(`{"type":"message","id":"e%d","message":{"role":"user","content":"%s"}}`, i, strings.Repeat("x", 60))
			if i == 0 {
				line = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}`
			}
			if !yield([]byte(line), nil) {
				return
			}
		}
	}
	for _, fault := range []faultfs.Fault{{Of: faultfs.Rename}, {Of: faultfs.Rename, After: true}, {Of: faultfs.SyncDir}, {Of: faultfs.Write}, {Of: faultfs.Sync}} {
		for n, failed := 1, true; failed; n++ {
			fsys := faultfs.New()
			st, err := Open("/home", Options{FS: fsys, PartSize: 150})
			if err != nil {
				t.Fatal(err)
			}
			fsys.FailNth(n, fault)
			_, err = st.Load(t.Context(), store.Holding{ID: "s"}, lines)
			failed = err != nil
			if failed {
				if _, err := st.Load(t.Context(), store.Holding{ID: "s"}, lines); err != nil {
					t.Errorf("%+v %d: carried again it is %v", fault, n, err)
				}
			}
			got := 0
			for _, err := range st.Lines(t.Context(), "s") {
				if got++; err != nil {
					t.Error(err)
				}
			}
			if got != 6 {
				t.Errorf("%+v %d: there are %d lines", fault, n, got)
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
