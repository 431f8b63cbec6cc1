package dialects_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/internal/formats/dialects"
)

// TestFormatPages checks that docs/formats has a page for each tool, and that the tables of
// limits in them are those of the code (FIRN_UPDATE=1 writes them).
func TestFormatPages(t *testing.T) {
	overview := readPage(t, "../formats.md")
	for _, tool := range dialects.Readable()[1:] {
		name := string(tool.Name())
		page := readPage(t, name+".md")
		if !strings.Contains(page, "| Name in commands | `"+name+"`") {
			t.Errorf("docs/formats/%s.md does not name %s", name, name)
		}
		if !strings.Contains(overview, "(formats/"+name+".md)") {
			t.Errorf("docs/formats.md does not link to formats/%s.md", name)
		}
		const begin, end = "<!-- limits -->\n", "<!-- /limits -->"
		before, rest, found := strings.Cut(page, begin)
		table, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			if limits := tool.Limits(); len(limits) > 0 && writes(name) {
				t.Errorf("docs/formats/%s.md has no table of limits", name)
			}
			continue
		}
		var b strings.Builder
		b.WriteString("| Session content | In this format |\n|---|---|\n")
		for _, l := range tool.Limits() {
			fmt.Fprintf(&b, "| %s | %s |\n", strings.ReplaceAll(l.Name, "|", `\|`), strings.ReplaceAll(l.Becomes, "|", `\|`))
		}
		if table == b.String() {
			continue
		}
		if os.Getenv("FIRN_UPDATE") == "" {
			t.Errorf("the limits in docs/formats/%s.md are out of date: FIRN_UPDATE=1 go test ./internal/formats/dialects -run TestFormatPages", name)
			continue
		}
		if err := os.WriteFile(pagePath(name+".md"), []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// writes reports whether firn writes sessions of a tool.
func writes(name string) bool {
	for _, n := range dialects.Names() {
		if n == name {
			return true
		}
	}
	return false
}

func pagePath(name string) string {
	return filepath.Join("..", "..", "..", "docs", "formats", name)
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(pagePath(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
