package grep

import (
	"context"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"firn.dev/internal/disk/vfs"
)

// barred is a file system with an unreadable directory.
type barred struct {
	vfs.FS
	dir string
}

func (b barred) ReadDir(path string) ([]fs.DirEntry, error) {
	if path == b.dir {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return b.FS.ReadDir(path)
}

func (b barred) Open(path string, mode vfs.Mode) (vfs.File, error) {
	if path == b.dir {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return b.FS.Open(path, mode)
}

// TestDirectoryCannotBeRead checks that an unreadable directory is reported and does not
// hide the others.
func TestDirectoryCannotBeRead(t *testing.T) {
	dir := shelf(t, map[string]string{"a/one.jsonl": "a needle\n", "b/two.jsonl": "a needle\n", "c/three.jsonl": "a needle\n"})
	fsys := barred{vfs.OS{}, filepath.Join(dir, "b")}
	files, err := Files(fsys, false, dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Run(context.Background(), fsys, files, Options{Pattern: regexp.MustCompile("needle")}, func(Match) error { return nil })
	if err != nil || s.Matches != 2 || len(s.Failed) != 1 || !strings.HasPrefix(s.Failed[0], fsys.dir) {
		t.Errorf("it ended with %+v, %v", s, err)
	}
}

// TestPieceWithinKey checks that a match in the middle of a long key is masked.
func TestPieceWithinKey(t *testing.T) {
	long := strings.Repeat("MIIEabcd", 1000)
	dir := shelf(t, map[string]string{"a.jsonl": `{"text":"-----BEGIN PRIVATE KEY-----\n` + long + "needle" + long + `\n-----END PRIVATE KEY-----"}` + "\n"})
	if all, _ := runSearch(t, dir, "needle", Options{}); len(all) != 1 || strings.Contains(all[0].Text, "MIIE") {
		t.Errorf("a piece of the key is shown: %+v", all)
	}
	if all, _ := runSearch(t, dir, "needle", Options{Secrets: true}); len(all) != 1 || !strings.Contains(all[0].Text, "needle") {
		t.Errorf("with secrets it is not shown: %+v", all)
	}
}
