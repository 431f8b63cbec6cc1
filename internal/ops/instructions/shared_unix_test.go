//go:build unix

package instructions

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSharedParent checks that a repository in a world-writable directory is not used as
// the project.
func TestSharedParent(t *testing.T) {
	root := project(t, map[string]string{"AGENTS.md": "from another user", "mine/AGENTS.md": "mine"})
	if err := os.Chmod(root, 0o777); err != nil {
		t.Fatal(err)
	}
	r := Read(filepath.Join(root, "mine"), options())
	expect(t, r, "AGENTS.md")
	if r.Files[0].Text != "mine" {
		t.Errorf("read %q", r.Files[0].Text)
	}
}
