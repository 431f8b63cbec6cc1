package journal

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

func open(t *testing.T, path string, opts Options) *Journal {
	t.Helper()
	j, err := Open(vfs.OS{}, path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func add(t *testing.T, j *Journal, lines ...string) firn.Pos {
	t.Helper()
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintln(&b, l)
	}
	end, err := j.Append(false, func(firn.Pos) ([]byte, error) { return b.Bytes(), nil })
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// collect reads all lines in both directions and checks that the results agree.
func collect(t *testing.T, s Source) []string {
	t.Helper()
	var lines []Line
	var out []string
	for line, err := range s.Lines(0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line.Data))
		line.Data = nil
		lines = append(lines, line)
	}
	i := len(lines)
	for line, err := range s.Back(^firn.Pos(0)) {
		if err != nil {
			t.Fatal(err)
		}
		i--
		if i < 0 || string(line.Data) != out[i] || line.At != lines[i].At || line.Next != lines[i].Next || line.Unfinished != lines[i].Unfinished {
			t.Fatalf("backwards line %d is %q at %d-%d (open %v)", i, line.Data, line.At, line.Next, line.Unfinished)
		}
	}
	if i != 0 {
		t.Fatalf("reading backwards missed %d lines", i)
	}
	return out
}

func TestAppendAndReadBothWays(t *testing.T) {
	for _, size := range []int{1, 10, 1000, 70_000, 600_000} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		j := open(t, path, Options{PartSize: 1 << 20, Sync: SyncNever})
		var want []string
		for i := range 40 {
			line := fmt.Sprintf(`{"n":%d,"x":"%s"}`, i, bytes.Repeat([]byte{'a' + byte(i%26)}, size*(i%3)))
			want = append(want, line)
			add(t, j, line)
		}
		if got := collect(t, j.Source()); !slices.Equal(got, want) {
			t.Errorf("size %d: read %d lines, want %d", size, len(got), len(want))
		}
		end, err := j.Source().End()
		if err != nil || end != j.End() {
			t.Errorf("size %d: the source ends at %d (%v), the journal at %d", size, end, err, j.End())
		}
	}
}
