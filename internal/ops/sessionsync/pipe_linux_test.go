package sessionsync

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipesOnTarget puts pipes and links to devices on the target, where manifests, pieces and
// directories are expected. Reading them would block or never end: they are named and skipped.
func TestPipesOnTarget(t *testing.T) {
	d := newDuo(t)
	d.session(d.a, "one")
	d.sync(d.a)
	piece := d.onTarget(pieceDir)[0]
	id := d.session(d.a, "two")
	d.sync(d.a)
	check(t, os.Remove(piece))
	check(t, syscall.Mkfifo(piece, 0o600))
	own := filepath.Join(d.target.Dir, manifestDir, d.a.config.Machine)
	check(t, syscall.Mkfifo(filepath.Join(own, "0000000003-"+strings.Repeat("0", 64)), 0o600))
	check(t, os.Symlink("/dev/zero", filepath.Join(own, "0000000004-"+strings.Repeat("0", 64))))
	check(t, syscall.Mkfifo(filepath.Join(d.target.Dir, manifestDir, "strangerstranger"), 0o600))
	r := d.sync(d.b)
	if len(r.Problems) != 4 || !hasProblem(r, "is not a file") || !hasProblem(r, "is not a directory") {
		t.Errorf("the problems are %q", r.Problems)
	}
	if d.b.view()["session "+string(id)] == "" {
		t.Error("the second session was not imported")
	}
	if err := d.b.identity.CheckAccess(t.Context(), d.target); err != nil {
		t.Errorf("the folder cannot be added: %v", err)
	}
}
