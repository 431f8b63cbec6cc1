package journal

import (
	"errors"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
)

// TestRescueOfAnotherPart checks that when a part written by another process is truncated,
// bytes of a different part are not saved as its end.
func TestRescueOfAnotherPart(t *testing.T) {
	fsys := faultfs.New()
	open := func() *Journal {
		t.Helper()
		j, err := Open(fsys, "/s.jsonl", Options{PartSize: 100})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		return j
	}
	line := func(c string) func(firn.Pos) ([]byte, error) {
		return func(firn.Pos) ([]byte, error) { return []byte(strings.Repeat(c, 79) + "\n"), nil }
	}
	first, other := open(), open()
	if _, err := first.Append(false, line("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Append(false, line("b")); err != nil {
		t.Fatal(err)
	}
	nothing := func(firn.Pos) ([]byte, error) { return nil, nil }
	if _, err := first.Append(false, nothing); err != nil { // it sees the new part
		t.Fatal(err)
	}
	f, err := fsys.Open("/s_part2.jsonl", vfs.Change)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(40), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Append(false, line("c")); !errors.Is(err, firn.ErrReplaced) {
		t.Fatalf("a truncated part gave %v", err)
	}
	for _, name := range fsys.Files() {
		if part, ok := SideFile(name); ok {
			saved, err := fsys.Get(name)
			t.Errorf("%s was saved next to %s: %q, %v", name, part, saved, err)
		}
	}
}
