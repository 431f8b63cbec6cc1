package sourcestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/store"
)

// TestListedByTheLastEntry checks that a session is listed by the time of its last entry,
// regardless of the length of its last lines; the file's time is used if the end has no
// time.
func TestListedByTheLastEntry(t *testing.T) {
	const day = "2025-%02d-01T00:00:00.000Z"
	line := func(month, n, size int) string {
		return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s","version":"2.0.0","type":"user","message":{"role":"user","content":%q},"uuid":"bbbbbbbb-0000-4000-8000-%012d","timestamp":%q}`,
			strings.Repeat("x", size), n, fmt.Sprintf(day, month)) + "\n"
	}
	untimed := func(size int) string {
		return fmt.Sprintf(`{"type":"file-history-snapshot","messageId":"m","snapshot":{"x":%q}}`, strings.Repeat("x", size)) + "\n"
	}
	many := ""
	for n := range 400 {
		many += line(1+n/100, n, 300) // in the first four months
	}
	file := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		text  string
		month int // zero is the file's time
	}{
		"short":                         {line(1, 0, 9) + line(2, 1, 9), 2},
		"long":                          {many, 4},
		"long, the last too":            {many + line(7, 900, 300<<10), 7},
		"few, and a long last":          {line(1, 0, 9) + line(8, 900, 200<<10), 8},
		"many lines without a time":     {many + line(6, 901, 9) + untimed(200<<10), 6},
		"too many lines without a time": {many + untimed(5<<20), 0},
		"a long line without a time":    {untimed(200<<10) + line(9, 902, 9), 9},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, "projects", "-w", "aaaaaaaa-0000-4000-8000-000000000001.jsonl")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, file, file); err != nil {
				t.Fatal(err)
			}
			tool, _ := dialects.Find(string(dialect.ClaudeCode))
			want := file
			if c.month > 0 {
				want = time.Date(2025, time.Month(c.month), 1, 0, 0, 0, 0, time.UTC)
			}
			for info, err := range open(t, home, tool, sourcestore.Options{}).List(t.Context(), store.Query{}) {
				if err != nil || !info.Updated.Equal(want) || info.Fault != "" {
					t.Errorf("it is listed as of %v, want %v: %+v, %v", info.Updated, want, info, err)
				}
				return
			}
			t.Error("it is not listed")
		})
	}
}
