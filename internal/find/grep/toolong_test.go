package grep_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/grep"
)

// TestTooLongLine checks that a line over the limit is reported, and that the lines around
// it are found under their numbers.
func TestTooLongLine(t *testing.T) {
	const limit = 1 << 20
	for name, size := range map[string]int{"just over": limit + 300<<10, "far over": 9 << 20} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			text := `{"id":"a","x":"needle"}` + "\n" + strings.Repeat("needle ", size/7) + "\n" + `{"id":"b","x":"needle"}` + "\n"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var lines []int
			s, err := grep.Run(context.Background(), vfs.OS{}, []string{path}, grep.Options{Pattern: regexp.MustCompile("needle"), MaxLine: limit}, func(m grep.Match) error {
				lines = append(lines, m.Line)
				return nil
			})
			if err != nil || len(lines) != 2 || lines[0] != 1 || lines[1] != 3 {
				t.Errorf("found in lines %v: %v", lines, err)
			}
			if len(s.Failed) != 1 || !strings.Contains(s.Failed[0], "s.jsonl:2:") || s.Bytes != int64(len(text)) {
				t.Errorf("the summary is %+v, want %d bytes", s, len(text))
			}
		})
	}
}
