package markdown

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tableText = `Two tables:

| tool | what it does | state | time |
|:-----|--------------|:-----:|-----:|
| read_file | reads a file, or a range of its lines, with **line numbers** and a note of how much is left | ok | 0.1 s |
| shell | runs ` + "`go test ./...`" + ` in the workspace | failed | 1,234.5 s |
| 雪は押されて氷になる | wide characters | ok | 2 s |

| a | b | c | d | e | f | g | h |
|---|---|---|---|---|---|---|---|
| 1 | 2 | 3 | 4 | 5 | 6 | 7 | eight is long |
`

// TestTable compares tables at 40, 80 and 120 columns with golden files. To update them, set
// FIRN_UPDATE=1.
func TestTable(t *testing.T) {
	for _, width := range []int{40, 80, 120} {
		var rows []string
		for _, r := range render(width, tableText) {
			r = styles.ReplaceAllString(r, "")
			if n := textWidth(r); n > width {
				t.Errorf("a row has %d columns of %d: %s", n, width, r)
			}
			rows = append(rows, r)
		}
		got, name := strings.Join(rows, "\n")+"\n", filepath.Join("testdata", fmt.Sprintf("table-%d.golden", width))
		if os.Getenv("FIRN_UPDATE") != "" {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil || got != string(want) {
			t.Errorf("at %d columns it is\n%s\nwant\n%s(%v)", width, got, want, err)
		}
	}
}

// TestLongTable checks that the rows of a long table are given out before its end, with the
// same columns.
func TestLongTable(t *testing.T) {
	w := New(80)
	rows := w.Write("| a | b |\n|---|---|\n" + strings.Repeat("| c | d |\n", 2*maxTable))
	if len(rows) < 2*maxTable || len(w.table.lines) > 0 {
		t.Errorf("%d rows were given out", len(rows))
	}
	if got := styles.ReplaceAllString(rows[len(rows)-1], ""); got != "c │ d" {
		t.Errorf("the last row is %q", got)
	}
	if rows := append(w.Write("end\n"), w.End()...); len(rows) != 1 {
		t.Errorf("it ends with %q", rows)
	}
}
