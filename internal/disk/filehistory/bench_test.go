package filehistory_test

import (
	"fmt"
	"testing"

	"firn.dev/internal/disk/filehistory"
	"firn.dev/internal/disk/vfs"
)

// BenchmarkBefore records the state of a file of 20 kB, each time with another content.
func BenchmarkBefore(b *testing.B) {
	h := filehistory.New(vfs.OS{}, b.TempDir())
	content := make([]byte, 20<<10)
	for i := range content {
		content[i] = "some lines of text\n"[i%19]
	}
	for i := range b.N {
		copy(content, fmt.Sprintf("%12d", i))
		c := filehistory.Change{Entry: "e", Call: "c", Path: "/a", Before: filehistory.StateOf(content, 0o644)}
		if _, err := h.Before(session, c, content); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlan plans the rewind of 500 files.
func BenchmarkPlan(b *testing.B) {
	var changes []filehistory.Change
	current := make(map[string]filehistory.State)
	for i := range 500 {
		path := fmt.Sprint("/", i)
		after := filehistory.StateOf([]byte(path+"after"), 0o644)
		current[path] = after
		changes = append(changes, filehistory.Change{Path: path, Before: filehistory.StateOf([]byte(path), 0o644), After: &after})
	}
	for b.Loop() {
		if steps := filehistory.Plan(changes, nil, changes, current); len(steps) != 500 {
			b.Fatal(len(steps))
		}
	}
}
