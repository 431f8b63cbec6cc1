//go:build unix

package tool_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEditKeepsTheMode(t *testing.T) {
	w := workspace(t, map[string]string{"run.sh": "echo a\n"})
	path := filepath.Join(w.Dir(), "run.sh")
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.sh", filepath.Join(w.Dir(), "link.sh")); err != nil {
		t.Fatal(err)
	}
	call(t, find(t, w, "edit_file"), args{"path": "link.sh", "edits": edits("a", "b")})
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o750 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if link, err := os.Lstat(filepath.Join(w.Dir(), "link.sh")); err != nil || link.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", link, err)
	}
	if got := content(t, w, "run.sh"); got != "echo b\n" {
		t.Errorf("the file is %q", got)
	}
}
