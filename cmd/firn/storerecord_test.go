package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeRecordsItsStore checks that a gateway records its store and that a moved home
// finds it again.
func TestServeRecordsItsStore(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t}
	p.must(home, header(mainSession)+messageLine("a1", "", "user", lastWord), "--store", "nats-embedded:"+filepath.Join(home, "nats"), "import", "-", "--from", "native")
	if out := p.must(home, "", "cat", mainSession); !strings.Contains(out, lastWord) {
		t.Errorf("without the flag it shows\n%s", out)
	}
	moved := filepath.Join(dir, "elsewhere")
	if err := os.Rename(home, moved); err != nil {
		t.Fatal(err)
	}
	startServe(t, moved)
	if out := p.must(moved, "", "cat", mainSession); !strings.Contains(out, lastWord) {
		t.Errorf("at another place it shows\n%s", out)
	}
	file := filepath.Join(dir, "b.tar.zst")
	p.must(moved, "", "backup", "create", file)
	p.must(moved, "", "backup", "restore", file, filepath.Join(dir, "restored"))
	if _, err := os.Stat(filepath.Join(dir, "restored", "nats")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the files of the server are in the backup: %v", err)
	}
	if out := p.must(filepath.Join(dir, "restored"), "", "cat", mainSession); !strings.Contains(out, lastWord) {
		t.Errorf("restored it shows\n%s", out)
	}
}
