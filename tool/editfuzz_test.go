package tool

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzApplyEdits checks that edits either change exactly the named text or nothing.
func FuzzApplyEdits(f *testing.F) {
	f.Add("a\nb\nc\n", "b", "x", "c", "y", false)
	f.Add("a\r\nb\r\n", "a\nb", "x\ny", "", "", true)
	f.Add("xx xx", "x", "", "xx", "y", true)
	f.Add("\xff\xfe\x00", "\xff", "\r\n", "a", "b", false)
	f.Fuzz(func(t *testing.T, content, old, text, old2, text2 string, all bool) {
		list := []replacement{{Old: old, New: text, All: all}, {Old: old2, New: text2}}
		before := []byte(content)
		after, n, err := applyEdits(before, list)
		if string(before) != content {
			t.Fatal("the input was changed")
		}
		if err != nil {
			if after != nil {
				t.Fatal("a content with an error")
			}
			return
		}
		if n < 2 {
			t.Fatalf("%d replacements for 2 edits", n)
		}
		if !usesCRLF(before) {
			grown := (n-1)*(len(text)-len(old)) + len(text2) - len(old2)
			if len(after)-len(before) != grown {
				t.Fatalf("%q became %q", before, after)
			}
		} else if bytes.Count(after, []byte("\n")) != bytes.Count(after, []byte("\r\n")) && bytes.Count(before, []byte("\n")) == bytes.Count(before, []byte("\r\n")) && !strings.Contains(old+old2, "\r") && !strings.Contains(text+text2, "\r") && !strings.HasPrefix(old, "\n") && !strings.HasPrefix(old2, "\n") {
			t.Fatalf("line ends of %q became those of %q", before, after)
		}
	})
}

// FuzzHTMLText checks that any page gives text and ends.
func FuzzHTMLText(f *testing.F) {
	f.Add("<title>T</title><h1>a</h1><p>b <a href='/c'>d</a><script>x</script><pre> e\n f</pre><ul><li>g")
	f.Add("</script></pre></head><br/><svg><script>")
	f.Fuzz(func(t *testing.T, page string) {
		text := htmlText([]byte(page))
		if utf8.ValidString(page) && !utf8.ValidString(text) {
			t.Fatalf("%q gave %q", page, text)
		}
	})
}
