package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/store/filestore"
)

// smallParts gives every message its own part.
var smallParts = filestore.Options{PartSize: 400, Sync: filestore.SyncNever}

// TestConcurrentMoves removes and restores one session concurrently through
// several stores and checks that nothing is lost.
func TestConcurrentMoves(t *testing.T) {
	remove := func(st *filestore.Store, id firn.ID) error { return st.Remove(t.Context(), id, "") }
	restore := func(st *filestore.Store, id firn.ID) error { return st.Restore(t.Context(), id) }
	for name, c := range map[string]struct {
		removed       bool
		first, second func(st *filestore.Store, id firn.ID) error
	}{
		"remove and remove":   {false, remove, remove},
		"remove and restore":  {true, remove, restore},
		"restore and restore": {true, restore, restore},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			a, b := reviewOpen(t, home, smallParts), reviewOpen(t, home, smallParts)
			for round := range 60 {
				id := reviewBegin(t, a, 4)
				if c.removed {
					must(t, a.Remove(t.Context(), id, ""))
				}
				other := a
				if round%2 == 1 {
					other = b
				}
				var together sync.WaitGroup
				together.Go(func() { mustGo(t, c.first(a, id)) })
				together.Go(func() { mustGo(t, c.second(other, id)) })
				together.Wait()
				must(t, a.Restore(t.Context(), id))
				if n := reviewCount(t, a, id); n != 4 {
					t.Fatalf("round %d: of 4 entries %d are left", round, n)
				}
				if left := reviewFiles(t, home, "bin/*/*"); len(left) > 0 {
					t.Fatalf("round %d: left in the trash bin: %q", round, left)
				}
			}
		})
	}
}

// mustGo is must for other goroutines than the test's.
func mustGo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// TestRestoreKeepsUnknownFiles checks that Restore keeps files that the manifest does
// not list.
func TestRestoreKeepsUnknownFiles(t *testing.T) {
	home := t.TempDir()
	opts := smallParts
	var texts []string
	opts.Report = func(message string) { texts = append(texts, message) }
	st := reviewOpen(t, home, opts)
	id := reviewBegin(t, st, 2)
	must(t, st.Remove(t.Context(), id, ""))
	unknown := filepath.Join(home, "bin", string(id), string(id)+"_part7.jsonl")
	reviewWrite(t, unknown, "all there is of something\n")
	reviewWrite(t, filepath.Join(home, "bin", string(id), ".manifest.json.tmp-X"), "{")
	must(t, st.Restore(t.Context(), id))
	if n := reviewCount(t, st, id); n != 2 {
		t.Errorf("%d entries were restored", n)
	}
	if left := reviewFiles(t, home, "bin/*/*"); len(left) != 1 || left[0] != filepath.Base(unknown) {
		t.Errorf("left in the trash bin: %q", left)
	}
	if len(texts) != 1 || !strings.Contains(texts[0], filepath.Base(unknown)) {
		t.Errorf("the reports are %q", texts)
	}
}

// TestRemoveRefusesToReplace checks that Remove does not replace the manifest of
// another session with that name.
func TestRemoveRefusesToReplace(t *testing.T) {
	home := t.TempDir()
	st := reviewOpen(t, home, smallParts)
	id := reviewBegin(t, st, 3)
	must(t, st.Remove(t.Context(), id, "the first"))
	copied, err := os.ReadFile(filepath.Join(home, "bin", string(id), string(id)+".jsonl"))
	must(t, err)
	manifest := filepath.Join(home, "bin", string(id), "manifest.json")
	before, err := os.ReadFile(manifest)
	must(t, err)
	reviewWrite(t, reviewTranscript(home, id), string(copied))
	if err := st.Remove(t.Context(), id, "the second"); !errors.Is(err, firn.ErrConflict) {
		t.Errorf("removing it where another is: %v", err)
	}
	if after, err := os.ReadFile(manifest); err != nil || string(after) != string(before) {
		t.Errorf("the manifest contains %q, %v", after, err)
	}
	must(t, os.Remove(reviewTranscript(home, id)))
	must(t, st.Restore(t.Context(), id))
	if n := reviewCount(t, st, id); n != 3 {
		t.Errorf("of 3 entries %d were restored", n)
	}
}
