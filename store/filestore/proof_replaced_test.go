package filestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestFileChangedUnderneath deletes, truncates, moves or replaces a transcript that is
// being written. The next append must report it, and all acknowledged entries must exist in
// the directory.
func TestFileChangedUnderneath(t *testing.T) {
	const stub = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}` + "\n"
	first, last := "s.jsonl", "s_part3.jsonl"
	for name, change := range map[string]func(dir string) error{
		"the first part is deleted": func(dir string) error { return os.Remove(filepath.Join(dir, first)) },
		"the last part is deleted":  func(dir string) error { return os.Remove(filepath.Join(dir, last)) },
		"first and last are deleted": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, first)), os.Remove(filepath.Join(dir, last)))
		},
		"the last part is cut":            func(dir string) error { return cut(filepath.Join(dir, last), 3) },
		"the last part is emptied":        func(dir string) error { return os.Truncate(filepath.Join(dir, last), 0) },
		"the last part is cut by a byte":  func(dir string) error { return cutTo(filepath.Join(dir, last), -1) },
		"the last part is a stub":         func(dir string) error { return swap(filepath.Join(dir, last), stub) },
		"the first part is a stub":        func(dir string) error { return swap(filepath.Join(dir, first), stub) },
		"the last part is moved away":     func(dir string) error { return os.Rename(filepath.Join(dir, last), filepath.Join(dir, "mine")) },
		"the last part is saved by vi":    func(dir string) error { return edit(filepath.Join(dir, last)) },
		"the directory is moved away":     func(dir string) error { return os.Rename(dir, dir+".old") },
		"the last part is another's link": func(dir string) error { return link(filepath.Join(dir, last)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			st := openHome(t, home, filestore.Options{PartSize: 3000, Sync: filestore.SyncNever})
			var kept []firn.EntryID
			for len(kept) < 8 { // three per part
				e := verifiableEntry(700)
				_, err := st.Append(context.Background(), "s", store.Any, e)
				must(t, err)
				kept = append(kept, e.ID)
			}
			dir := filepath.Join(home, "agents", "main", "sessions")
			if _, err := os.Stat(filepath.Join(dir, last)); err != nil {
				t.Fatalf("there should be a third part: %v", err)
			}
			must(t, change(dir))
			_, err := st.Append(context.Background(), "s", store.Any, verifiableEntry(10))
			if !errors.Is(err, firn.ErrReplaced) {
				t.Fatalf("the append after it: %v", err)
			}
			checkSomewhere(t, home, kept)

			// The next one finds the current file, or creates a new one.
			next := verifiableEntry(10)
			_, err = st.Append(context.Background(), "s", store.Any, next)
			must(t, err)
			r, err := readSession(st, "s")
			if err != nil || len(r.entries) == 0 || r.entries[len(r.entries)-1].ID != next.ID {
				t.Errorf("continuing: %d entries, %d gaps, %v", len(r.entries), len(r.gaps), err)
			}
			if _, err := collect(st, "s"); err != nil {
				t.Errorf("continuing: %v", err)
			}
			checkSomewhere(t, home, append(kept, next.ID))
		})
	}
}

// cut truncates a file to a fraction of its size.
func cut(path string, by int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()/by)
}

func cutTo(path string, less int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()+less)
}

// swap replaces a file with another one.
func swap(path, content string) error {
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// edit saves a file like an editor that writes a new one.
func edit(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return swap(path, string(data)+"\n")
}

// link replaces a file with a symbolic link to a longer one.
func link(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	other := path + ".linked"
	if err := os.WriteFile(other, []byte(strings.Repeat("x", len(data))+"\n"), 0o600); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.Symlink(other, path)
}

// checkSomewhere checks that each entry is complete in one file below a directory, or in
// two if the second is a rescued one.
func checkSomewhere(t *testing.T, home string, ids []firn.EntryID) {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	}))
	for _, id := range ids {
		if !strings.Contains(all.String(), `"id":"`+string(id)+`"`) {
			t.Errorf("entry %s is missing", id)
		}
	}
	if torn, _ := filepath.Glob(filepath.Join(home, "agents", "main", "sessions", "*.torn-*")); len(torn) > 0 {
		return // then one entry is in three files
	}
	for _, id := range ids[:8] {
		if !strings.Contains(all.String(), verifiableText(id, 700)) {
			t.Errorf("the text of entry %s is not whole anywhere", id)
		}
	}
}
