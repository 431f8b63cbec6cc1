package progress

import (
	"strings"
	"testing"
)

// TestBar draws a bar in one row and removes it.
func TestBar(t *testing.T) {
	var out strings.Builder
	b := New(&out, "reading", false)
	b.Set(5_000_000, 20_000_000)
	b.Set(5_000_001, 20_000_000) // looks the same
	b.Phase("packing", 0, 0)
	b.Count(1, 1, "files")
	b.Clear()
	const want = "\rreading ━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌  25 % of 20 MB\x1b[K\rpacking …\x1b[K" +
		"\rpacking ━━━━━━━━━━━━━━━━━━━━━━━━ 100 % of 1 files\x1b[K\r\x1b[K"
	if out.String() != want {
		t.Errorf("it draws\n%q\nwant\n%q", out.String(), want)
	}
}

// TestBarInLines prints a line for each state and leaves them.
func TestBarInLines(t *testing.T) {
	var out strings.Builder
	b := New(&out, "reading", true)
	b.Set(0, 10)
	b.Set(0, 10)
	b.Set(0, 0)
	b.Clear()
	const want = "reading ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌   0 % of 10 B\nreading …\n"
	if out.String() != want {
		t.Errorf("it writes\n%s\nwant\n%s", out.String(), want)
	}
}

// TestBarWithoutTerminal draws nothing.
func TestBarWithoutTerminal(t *testing.T) {
	b := New(nil, "reading", false)
	b.Set(1, 2)
	b.Clear()
}
