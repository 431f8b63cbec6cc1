package backup_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/backup"
)

// denyFS fails to open one file.
type denyFS struct {
	vfs.FS
	name string
}

func (d denyFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	if strings.HasSuffix(path, d.name) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return d.FS.Open(path, mode)
}

// TestUnreadableFile backs up a home with a file that cannot be opened: it is reported, and
// the others are backed up.
func TestUnreadableFile(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "agents", "main", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := backup.Create(t.Context(), denyFS{vfs.OS{}, "b.jsonl"}, home, new(bytes.Buffer), time.Now(), func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Unread) != 1 || !strings.HasPrefix(s.Unread[0], "agents/main/sessions/b.jsonl: ") || s.Sessions != 2 {
		t.Errorf("packed %+v", s)
	}
}
