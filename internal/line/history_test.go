package line

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"firn/internal/vfs"
)

// TestEraseHistory takes lines out of a history, which need not be there.
func TestEraseHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	gone := func(text string) bool { return strings.Contains(text, "xyzzy") }
	if n, err := EraseHistory(vfs.OS{}, path, gone); n != 0 || err != nil {
		t.Errorf("of none %d went: %v", n, err)
	}
	h, err := OpenHistory(vfs.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "say xyzzy", "two", "xyzzy\nagain", "three"} {
		if err := h.Add(text); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := EraseHistory(vfs.OS{}, path, gone); n != 2 || err != nil {
		t.Errorf("%d went: %v", n, err)
	}
	if err := h.Add("four"); err != nil { // by who has it open
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "\"one\"\n\"two\"\n\"three\"\n\"four\"\n" {
		t.Errorf("left are %q, %v", data, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v, %v", info, err)
	}
}
