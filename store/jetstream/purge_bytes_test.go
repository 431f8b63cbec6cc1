package jetstream_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store/jetstream"
)

// TestPurgeOverwrites searches the files of a server for erased words, including those of an
// object that was too large for a message. The list of sessions is in a bucket, where nothing
// can be overwritten.
func TestPurgeOverwrites(t *testing.T) {
	dir, o := t.TempDir(), options(t)
	const secret = "hunter2-hunter2"
	kinds := []string{"OBJ_", o.Space}
	served(t, dir, o, func(st *jetstream.Store) {
		large := message(strings.Repeat(secret+" ", 40_000))
		large.ID = "large"
		for _, id := range []firn.ID{"s1", "s2"} {
			mustAppend(t, st, id, message("fine"), message(secret))
			mustAppend(t, st, id, large)
		}
	})
	for _, kind := range kinds {
		if len(withBytes(t, dir, kind, secret)) == 0 {
			t.Fatalf("streams named %s… never contained it", kind)
		}
	}
	served(t, dir, o, func(st *jetstream.Store) {
		if _, err := st.Purge(t.Context(), "s1", "", "large"); err != nil {
			t.Fatal(err)
		}
		for _, id := range []firn.ID{"s1", "s2"} {
			if _, err := st.Purge(t.Context(), id, ""); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, kind := range kinds {
		if left := withBytes(t, dir, kind, secret); len(left) > 0 {
			t.Errorf("it is left in %v", left)
		}
	}
}

// served opens a store on its own server. When it returns, everything is in files.
func served(t *testing.T, dir string, o jetstream.Options, do func(*jetstream.Store)) {
	t.Helper()
	var err error
	if o.Server, err = jetstream.NewServer(dir); err != nil {
		t.Fatal(err)
	}
	st := openStore(t, o)
	defer func() {
		if err := errors.Join(st.Close(), o.Server.Close()); err != nil {
			t.Error(err)
		}
	}()
	do(st)
}

// withBytes returns the files that contain the bytes, of streams whose names have a prefix.
func withBytes(t *testing.T, dir, streams, secret string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.Contains(path, string(filepath.Separator)+streams) {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
