package highlight

import (
	"os"
	"strings"
	"testing"
)

// classes returns the class of each byte of code that is not a space.
func classes(tokens []Token) (text, class string) {
	var t, c strings.Builder
	for _, token := range tokens {
		for i := range len(token.Text) {
			if b := token.Text[i]; b == ' ' || b == '\t' || b == '\n' {
				continue
			}
			t.WriteByte(token.Text[i])
			c.WriteString("." + token.Class)
		}
	}
	return t.String(), c.String()
}

// TestLines checks that code has the same colors line by line as in one piece.
func TestLines(t *testing.T) {
	source, err := os.ReadFile("scan.go")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"go":         string(source) + "\nvar x = `a\nb \" c\nd` + \"e\" /* f\n\"g\" */ + 'h'\n",
		"python":     "x = '''a\n# no comment\n''' # yes\ndef f(): return \"\"\"one\"\"\" + 'b\n'\n",
		"javascript": "/* a\n * b */ const s = `x\n${y}` // z\n",
		"sql":        "SELECT 'a' -- b\n/* c\nd */ FROM t",
		"html":       "<!-- a\n<b> -->\n<p class=\"x\">y</p>",
		"yaml":       "a: 'b'\n- c: \"d\" # e\n",
		"diff":       "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n",
		"bash":       "echo `date\n` $HOME # c\n",
	}
	for language, code := range cases {
		g, ok := Lookup(language)
		if !ok {
			t.Fatalf("no grammar of %s", language)
		}
		var whole, lines []Token
		Tokens(g, code, func(t Token) { whole = append(whole, t) })
		l := NewLines(g)
		for line := range strings.SplitSeq(code, "\n") {
			lines = append(append(lines, l.Line(line)...), Token{"", "\n"})
		}
		wantText, want := classes(whole)
		gotText, got := classes(lines)
		if gotText != wantText {
			t.Errorf("%s: text is lost", language)
		}
		if got != want {
			t.Errorf("%s: the classes are\n%s\nwant\n%s", language, got, want)
		}
	}
}

// FuzzLines checks that no code is lost, whatever it is.
func FuzzLines(f *testing.F) {
	f.Add("go", "a /* b\nc */ `d\n`")
	f.Fuzz(func(t *testing.T, language, code string) {
		g, ok := Lookup(language)
		if !ok {
			g, _ = Lookup("python")
		}
		l := NewLines(g)
		for line := range strings.SplitSeq(code, "\n") {
			var b strings.Builder
			for _, token := range l.Line(line) {
				b.WriteString(token.Text)
			}
			if b.String() != line {
				t.Fatalf("%q became %q", line, b.String())
			}
		}
	})
}
