package filehistory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// TestSizes checks that a content which two sessions share is counted once, and that a
// missing content is found.
func TestSizes(t *testing.T) {
	dir := t.TempDir()
	h := New(vfs.OS{}, dir)
	content := []byte(strings.Repeat("0123456789abcdef", 100))
	state := StateOf(content, 0o600)
	for _, id := range []firn.ID{"sa", "sb"} {
		after := State{}
		c := Recorded{Change: Change{Entry: "1", Call: "c", Path: "/x", Before: state, After: &after}, Old: content}
		if err := h.Record(id, []Recorded{c}); err != nil {
			t.Fatal(err)
		}
	}
	sizes, err := h.Sizes()
	if err != nil || len(sizes) != 2 {
		t.Fatalf("sizes %v, %v", sizes, err)
	}
	var onDisk int64
	shared := false
	for _, id := range []string{"sa", "sb"} {
		files, err := os.ReadDir(filepath.Join(dir, "sessions", id))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			info, err := vfs.OS{}.Stat(filepath.Join(dir, "sessions", id, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if f.Name() == state.Hash {
				if info.Links != 3 {
					t.Errorf("the content has %d links", info.Links)
				}
				if shared {
					continue
				}
				shared = true
			}
			onDisk += info.Size
		}
	}
	if sum := sizes["sa"] + sizes["sb"]; sum > onDisk || sum < onDisk-2 {
		t.Errorf("the sizes are %v, on disk are %d bytes", sizes, onDisk)
	}
	e, err := h.Examine()
	if err != nil || e.Sessions != 2 || len(e.Missing) != 0 || e.Unused != 0 {
		t.Errorf("examined %+v, %v", e, err)
	}
	if err := os.Remove(filepath.Join(dir, "sessions", "sa", state.Hash)); err != nil {
		t.Fatal(err)
	}
	if e, err = h.Examine(); err != nil || e.Missing["sa"] != 1 || len(e.Missing) != 1 {
		t.Errorf("examined %+v, %v", e, err)
	}
}
