package chat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// noticeWidth is the maximum width of a notice.
const noticeWidth = 80

var placeholder = regexp.MustCompile(`%[-+# 0]*[0-9.]*[a-zA-Z]`)

// TestNoticesFitTheTerminal checks that each line of a notice, a hint and the help fits 80
// columns, if each value in it takes eight.
func TestNoticesFitTheTerminal(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, checked := token.NewFileSet(), 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || strings.Contains(text, "(?:") { // a regular expression
				return true
			}
			checked++
			for line := range strings.Lines(placeholder.ReplaceAllString(text, "12345678")) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > noticeWidth {
					t.Errorf("%s: %d columns: %s", files.Position(lit.Pos()), n, line)
				}
			}
			return true
		})
	}
	if checked < 300 {
		t.Errorf("only %d literals were found", checked)
	}
	for _, cmd := range commands() {
		if n := utf8.RuneCountInString(cmd.help); n > 60 {
			t.Errorf("/%s: the help has %d columns: %s", cmd.name, n, cmd.help)
		}
	}
}
