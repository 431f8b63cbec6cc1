package migrate_test

import (
	"io/fs"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/migrate"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// denyFS fails to open one file.
type denyFS struct {
	vfs.FS
	name string
}

func (d denyFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	if strings.HasSuffix(path, d.name) && mode == vfs.Read {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return d.FS.Open(path, mode)
}

// TestUnreadableSession migrates sessions, one of them unreadable: it is reported, and the
// others are migrated.
func TestUnreadableSession(t *testing.T) {
	open := func(fsys vfs.FS) *filestore.Store {
		st, err := filestore.Open(t.TempDir(), filestore.Options{FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	from, to := open(denyFS{vfs.OS{}, "b.jsonl"}), open(nil)
	for _, id := range []firn.ID{"a", "b", "c"} {
		if _, err := from.Append(t.Context(), id, store.Any, firn.UserText("hello")); err != nil {
			t.Fatal(err)
		}
	}
	r, err := migrate.Run(t.Context(), from, to, migrate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Differ) != 1 || r.Differ[0].Session != "b" || !strings.Contains(r.Differ[0].Detail, "unreadable") || len(r.Carried) != 2 {
		t.Errorf("carried %+v", r)
	}
}
