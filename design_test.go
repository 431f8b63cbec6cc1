package firn_test

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDesignNamesEveryPackage compares the table of docs/design.md with the existing
// packages. A package may be named without its parent directory if its family is in the
// same row.
func TestDesignNamesEveryPackage(t *testing.T) {
	page, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| package | what it is |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	quoted := regexp.MustCompile("`([a-z0-9/]+)`")
	var names []string
	for _, m := range quoted.FindAllStringSubmatch(table, -1) {
		names = append(names, m[1])
	}
	packages := []string{"firn", "proving/interop/sdk", "proving/s3", "examples/email"} // the root, and modules of their own
	for _, p := range loadModule(t) {
		if p.path == "." {
			continue
		}
		packages = append(packages, p.path)
		if !slices.Contains(names, p.path) && !slices.Contains(names, path.Base(p.path)) {
			t.Errorf("docs/design.md does not describe %s", p.path)
		}
	}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 3 {
			t.Fatalf("a row of docs/design.md is %q", row)
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			if !slices.ContainsFunc(packages, func(p string) bool { return p == m[1] || path.Base(p) == m[1] }) {
				t.Errorf("docs/design.md describes %s, which does not exist", m[1])
			}
		}
	}
}
