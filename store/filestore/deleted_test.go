package filestore_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestDeletedFileIsSaved deletes the file of an open session and checks that its
// acknowledged entries are saved in a side file.
func TestDeletedFileIsSaved(t *testing.T) {
	for name, next := range map[string]func(st *filestore.Store, id firn.ID) error{
		"an append": func(st *filestore.Store, id firn.ID) error {
			_, err := st.Append(t.Context(), id, store.Any, firn.UserText("more"))
			if !errors.Is(err, firn.ErrReplaced) {
				return errors.Join(errors.New("an append was taken"), err)
			}
			return nil
		},
		"a read": func(st *filestore.Store, id firn.ID) error {
			for _, err := range st.Read(t.Context(), id, store.Start) {
				if !errors.Is(err, firn.ErrNotFound) {
					return errors.Join(errors.New("a deleted session was read"), err)
				}
			}
			return nil
		},
		"another session in its place": func(st *filestore.Store, _ firn.ID) error {
			for range 3 {
				if _, err := st.Append(t.Context(), firn.NewID(), store.Any, firn.UserText("other")); err != nil {
					return err
				}
			}
			return nil
		},
		"the end": func(st *filestore.Store, _ firn.ID) error { return st.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			home, output := t.TempDir(), ""
			st := reviewOpen(t, home, filestore.Options{OpenFiles: 2, Report: func(m string) { output += m + "\n" }})
			id := reviewBegin(t, st, 3)
			if err := os.Remove(reviewTranscript(home, id)); err != nil {
				t.Fatal(err)
			}
			if err := next(st, id); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(reviewTranscript(home, id) + ".rescued-0")
			if err != nil || strings.Count(string(data), "acknowledged") != 3 {
				t.Errorf("%d bytes saved, %v", len(data), err)
			}
			if name != "an append" && !strings.Contains(output, "rescued-0") {
				t.Errorf("reported: %q", output)
			}
		})
	}
}

// TestPurgedFileIsNotSaved purges an open session through another process and checks that
// nothing of it is saved.
func TestPurgedFileIsNotSaved(t *testing.T) {
	home := t.TempDir()
	st := reviewOpen(t, home, filestore.Options{})
	id := reviewBegin(t, st, 3)
	if _, err := reviewOpen(t, home, filestore.Options{}).Purge(t.Context(), id, "test"); err != nil {
		t.Fatal(err)
	}
	for range st.Read(t.Context(), id, store.Start) {
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if found := reviewHolding(t, home, "acknowledged"); len(found) > 0 {
		t.Errorf("the purged text is in %q", found)
	}
}
