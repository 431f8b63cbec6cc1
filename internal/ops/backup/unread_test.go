package backup_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/disk/sealfs"
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

// TestDamagedEncryptedFiles backs up an encrypted home with damaged files: they are reported, and
// the others are backed up.
func TestDamagedEncryptedFiles(t *testing.T) {
	home := t.TempDir()
	key, err := sealfs.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	files := sealfs.New(vfs.OS{}, home, key, sealfs.Sealed)
	long := bytes.Repeat([]byte("a note\n"), 5000)
	for name, at := range map[string]int{"begin.md": 10, "end.md": 60, "long.md": 25000, "whole.md": -1} {
		path := filepath.Join(home, name)
		text := long
		if name != "long.md" {
			text = long[:100]
		}
		if err := vfs.WriteFile(files, path, text); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if at >= 0 {
			raw[at] ^= 1
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var archive bytes.Buffer
	s, err := backup.Create(t.Context(), files, home, &archive, time.Now(), func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.Unread)
	for i, name := range []string{"begin.md: ", "end.md: ", "long.md: "} {
		if len(s.Unread) != 3 || !strings.HasPrefix(s.Unread[i], name) {
			t.Fatalf("packed %+v", s)
		}
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if _, err := backup.Restore(t.Context(), &archive, vfs.OS{}, restored); err != nil {
		t.Fatal(err)
	}
	if whole, err := os.ReadFile(filepath.Join(restored, "whole.md")); err != nil || !bytes.Equal(whole, long[:100]) {
		t.Errorf("whole.md has %d bytes: %v", len(whole), err)
	}
}
