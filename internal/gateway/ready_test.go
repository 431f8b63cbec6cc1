package gateway

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := writable(vfs.OS{}, dir); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if err := writable(vfs.OS{}, filepath.Join(dir, "none")); !errors.Is(err, firn.ErrNotSaved) {
		t.Errorf("no directory: %v", err)
	}
}
