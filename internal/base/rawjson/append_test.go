package rawjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestAppendString checks the output against that of JSON.stringify, except for characters
// that are not allowed in a log.
func TestAppendString(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{`a"b\c/d`, `"a\"b\\c/d"`},
		{"\b\t\n\f\r", `"\b\t\n\f\r"`},
		{"\x01\x0b\x1f\x7f", `"\u0001\u000b\u001f` + "\x7f" + `"`},
		{"<a & b>'", `"<a & b>'"`},
		{"\u2028\u2029é😀", "\"\u2028\u2029é😀\""},
		{"a\x00b", "\"a\ufffdb\""},
		{"a\xffb\xc3", "\"a\ufffdb\ufffd\""},
		{"\xed\xa0\xbd\"", "\"\ufffd\ufffd\ufffd\\\"\""},
		{"0123456\"890123456\\89", `"0123456\"890123456\\89"`},
		{"12345678\x0012345678\n", "\"12345678\ufffd12345678\\n\""},
	} {
		if got := string(AppendString([]byte("x"), test.in)); got != "x"+test.want {
			t.Errorf("AppendString(%q) = %s, want %s", test.in, got[1:], test.want)
		}
	}
}

func TestAppendValue(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`{"b":1.50,"a":1e400}`, `{"b":1.50,"a":1e400}`},
		{"[1,\n  2]\n", "[1,  2]"},
		{` "\u0000" `, ` "\ufffd" `},
		{`null`, `null`},
		{``, ``}, {`nul`, ``}, {`1 2`, ``}, {`{"a"}`, ``}, {"\"\n\"", ``},
	} {
		got, err := AppendValue([]byte("x"), []byte(test.in))
		if (err != nil) != (test.want == "") || string(got) != "x"+test.want {
			t.Errorf("AppendValue(%q) = %q, %v; want %q", test.in, got, err, test.want)
		}
	}
}

func TestClean(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`{"a":"plain \n \\u0000 \u00e9"}`, ``},
		{`["\ud83d\ude00","\\\\"]`, ``},
		{`"\u0000"`, `"\ufffd"`},
		{`"\\\u0000"`, `"\\\ufffd"`},
		{`"\ud83d"`, `"\ufffd"`},
		{`"\ude00\ud83d"`, `"\ufffd\ufffd"`},
		{`"\ud83d\ud83d\ude00"`, `"\ufffd\ud83d\ude00"`},
		{"\"\xff\xc3(\"", `"\ufffd\ufffd("`},
		{"\"é\xff\\n\\u0000é\"", `"é\ufffd\n\ufffdé"`},
	} {
		got, changed := Clean([]byte(test.in))
		want := test.want
		if want == "" {
			want = test.in
		}
		if string(got) != want || changed != (test.want != "") {
			t.Errorf("Clean(%q) = %q, %t; want %q", test.in, got, changed, want)
		}
	}
}

// checkClean checks the result of Clean for a valid value.
func checkClean(t *testing.T, raw, clean []byte, changed bool) {
	t.Helper()
	if changed == bytes.Equal(raw, clean) {
		t.Fatalf("Clean(%q) = %q reports changed %t", raw, clean, changed)
	}
	if !utf8.Valid(clean) || !json.Valid(clean) {
		t.Fatalf("Clean(%q) = %q is not fit", raw, clean)
	}
	if _, again := Clean(clean); again {
		t.Fatalf("Clean(%q) = %q is not clean", raw, clean)
	}
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain", "a\"b\\c\n", "\x00\x01\x1f\x7f", "\xff\xed\xa0\x80", "\u2028é😀", strings.Repeat("x", 100) + "\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := AppendString(nil, s)
		if !utf8.Valid(out) || bytes.IndexByte(out, '\n') >= 0 {
			t.Fatalf("AppendString(%q) = %q is not UTF-8 on one line", s, out)
		}
		r := New(out)
		back, ok := r.Text()
		if err := r.End(); !ok || err != nil || r.Cleaned {
			t.Fatalf("AppendString(%q) = %q does not read back: %v", s, out, err)
		}
		want := strings.ReplaceAll(strings.ToValidUTF8(eachInvalid(s), "\ufffd"), "\x00", "\ufffd")
		if back != want {
			t.Fatalf("AppendString(%q) reads back as %q", s, back)
		}
	})
}

// eachInvalid replaces each invalid byte; strings.ToValidUTF8 replaces runs of them.
func eachInvalid(s string) string {
	var b strings.Builder
	for _, c := range s {
		b.WriteRune(c)
	}
	return b.String()
}
