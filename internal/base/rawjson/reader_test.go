package rawjson

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestReaderWalk(t *testing.T) {
	line := []byte(` { "id" : "a1" , "n":-12,"f":1.5e2, "yes":true,"no" : false,"nil":null,
		"list":[ 1 , "two",[],{} ],"sub":{"ID":"x","id":"y"},"raw": {"k":[1, 2]} } ` + "\r\n")
	for name, r := range map[string]Reader{"New": New(line), "NewShared": NewShared(line)} {
		var got []string
		note := func(ok bool, s string) {
			if !ok {
				s = "not " + s
			}
			got = append(got, string(r.Key())+"="+s)
		}
		if !r.Object() {
			t.Fatalf("%s: no object", name)
		}
		for r.Member() {
			switch string(r.Key()) {
			case "id":
				s, ok := r.Text()
				note(ok, s)
			case "n":
				n, ok := r.Int()
				note(ok && n == -12, "-12")
			case "f":
				f, ok := r.Float()
				note(ok && f == 150, "150")
			case "yes", "no":
				b, ok := r.Bool()
				note(ok && b == (string(r.Key()) == "yes"), "right")
			case "nil":
				note(r.Null(), "null")
			case "list":
				n := 0
				for r.Array(); r.Element(); n++ {
					r.Skip()
				}
				note(n == 4, "4 elements")
			case "sub":
				r.Object()
				for r.Member() {
					s, ok := r.Text()
					note(ok, s)
				}
			default:
				note(true, string(r.Raw()))
			}
		}
		want := []string{"id=a1", "n=-12", "f=150", "yes=right", "no=right", "nil=null", "list=4 elements", "ID=x", "id=y", `raw={"k":[1, 2]}`}
		if err := r.End(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
}

// TestReaderWrongKind checks that a method for another kind does not consume the value.
func TestReaderWrongKind(t *testing.T) {
	for _, value := range []string{`"s"`, `12`, `1.5`, `9223372036854775808`, `true`, `null`, `{"a":1}`, `[1]`} {
		r := New([]byte(`[` + value + `]`))
		r.Array()
		r.Element()
		kind := r.Kind()
		if kind != String {
			if s, ok := r.Text(); ok {
				t.Errorf("%s read as text %q", value, s)
			}
		}
		if n, ok := r.Int(); ok && value != "12" {
			t.Errorf("%s read as whole number %d", value, n)
		} else if ok {
			continue
		}
		if b, ok := r.Bool(); ok && kind != Bool {
			t.Errorf("%s read as boolean %t", value, b)
		} else if ok {
			continue
		}
		if kind != Null && r.Null() || kind != Object && r.Object() || kind != Array && r.Array() {
			t.Errorf("%s read as another kind", value)
		}
		if raw := r.Raw(); string(raw) != value {
			t.Errorf("%s was moved: now %q", value, raw)
		}
		if r.Element() || r.End() != nil {
			t.Errorf("%s: the array does not end: %v", value, r.Err())
		}
	}
}

func TestReaderBookmark(t *testing.T) {
	r := New([]byte(`{"a":{"b":[1,{"c":2}]},"d":3}`))
	r.Object()
	r.Member()
	here := r
	r.Object()
	r.Member()
	r.Array()
	r.Element()
	r = here
	if raw := string(r.Raw()); raw != `{"b":[1,{"c":2}]}` {
		t.Errorf("back at the bookmark Raw = %s", raw)
	}
	if !r.Member() || string(r.Key()) != "d" {
		t.Errorf("the next token is %q, %v", r.Key(), r.Err())
	}
}

func TestValid(t *testing.T) {
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	good := []string{
		`{}`, ` {"a":1} `, `{"":""}`, `{"a":[],"b":{}}`, `{"a":-0.0e-0}`, `{"a":1E5}`, `{"a":"\u0000\ud800\/"}`,
		"{\"a\":\"\xff\xed\xa0\x80\u2028\x7f\"}", "{\"a\":1}\r\n", deep(MaxDepth - 1), `{"a":true,"a":false}`,
	}
	for _, s := range good {
		if err := Valid([]byte(s)); err != nil {
			t.Errorf("Valid(%.60q) = %v", s, err)
		}
	}
	for _, test := range []struct {
		in     string
		offset int
		short  bool
	}{
		{``, 0, true}, {`  `, 2, true}, {`[]`, 0, false}, {`"a"`, 0, false}, {`1`, 0, false},
		{`{`, 1, true}, {`{"`, 2, true}, {`{"a`, 3, true}, {`{"a"`, 4, true}, {`{"a":`, 5, true}, {`{"a":1`, 6, true}, {`{"a":1,`, 7, true},
		{`{"a":"\`, 7, true}, {`{"a":"\u12`, 10, true}, {`{"a":-`, 6, true}, {`{"a":1.`, 7, true}, {`{"a":1e+`, 8, true}, {`{"a":tr`, 7, true},
		{`{"a":[1,`, 8, true}, {`{"a":[`, 6, true},
		{`{a:1}`, 1, false}, {`{"a"1}`, 4, false}, {`{"a":}`, 5, false}, {`{"a":1,}`, 7, false}, {`{,}`, 1, false}, {`{"a":1 "b":2}`, 7, false},
		{`{"a":[1,]}`, 8, false}, {`{"a":[1 2]}`, 8, false}, {`{"a":[1}`, 7, false}, {`{"a":[,1]}`, 6, false}, {`{"a":1]`, 6, false},
		{`{"a":01}`, 6, false}, {`{"a":.5}`, 5, false}, {`{"a":+1}`, 5, false}, {`{"a":1.e5}`, 7, false}, {`{"a":-x}`, 6, false}, {`{"a":1e}`, 7, false},
		{`{"a":nul}`, 8, false}, {`{"a":truE}`, 8, false}, {`{"a":True}`, 5, false}, {`{"a":NaN}`, 5, false},
		{`{"a":"\x"}`, 7, false}, {`{"a":"\u12g4"}`, 10, false}, {"{\"a\":\"\x01\"}", 6, false}, {"{\"a\":\"12345678\n\"}", 14, false}, {"{\"a\":\"\x00\"}", 6, false},
		{`{"a":1}{"b":2}`, 7, false}, {`{"a":1}x`, 7, false}, {"{\"a\":1}\x00", 7, false}, {"\xef\xbb\xbf{}", 0, false}, {"{\"a\":\v1}", 5, false},
		{deep(MaxDepth), 5 + MaxDepth - 1, false},
	} {
		err := Valid([]byte(test.in))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Valid(%.60q) = %v, want an error", test.in, err)
			continue
		}
		if syntax.Offset != test.offset || syntax.Short != test.short {
			t.Errorf("Valid(%.60q) = %v at %d, short %t; want %d, %t", test.in, err, syntax.Offset, syntax.Short, test.offset, test.short)
		}
		if syntax.Reason() == "" || !strings.Contains(err.Error(), syntax.Reason()) {
			t.Errorf("Valid(%.60q) does not report the error: %v", test.in, err)
		}
	}
}

// TestReaderKeepsFirstError checks that the first error is kept and that later calls have no
// effect.
func TestReaderKeepsFirstError(t *testing.T) {
	r := New([]byte(`{"a":[1,x],"b":2}`))
	r.Object()
	r.Member()
	r.Array()
	r.Element()
	r.Skip()
	r.Element()
	r.Skip()
	first := r.Err()
	if first == nil {
		t.Fatal("no error")
	}
	if _, ok := r.Text(); ok || r.Object() || r.Array() || r.Member() || r.Element() || r.Null() || r.Raw() != nil || r.Kind() != None {
		t.Error("a method continued after the error")
	}
	if r.End() != first {
		t.Errorf("the error became %v, was %v", r.Err(), first)
	}
}

func TestText(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 20)
	for _, test := range []struct {
		in, want string
		cleaned  bool
	}{
		{`""`, "", false},
		{`"plain"`, "plain", false},
		{`"` + long + `"`, long, false},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", false},
		{`"\u0041\u00e9\u20AC"`, "Aé€", false},
		{`"\ud83d\ude00"`, "😀", false},
		{`"é€😀` + "\u2028\x7f" + `"`, "é€😀\u2028\x7f", false},
		{`"\ufffd"`, "\ufffd", false},
		{`"a\u0000b"`, "a\ufffdb", true},
		{`"\ud83dx"`, "\ufffdx", true},
		{`"\ude00"`, "\ufffd", true},
		{`"\ud83d\ud83d\ude00"`, "\ufffd😀", true},
		{`"\ud83d\u0041"`, "\ufffdA", true},
		{`"\ud83d\n"`, "\ufffd\n", true},
		{"\"a\xffb\"", "a\ufffdb", true},
		{"\"\xed\xa0\xbd\"", "\ufffd\ufffd\ufffd", true},
		{"\"\\n\xe2\\n\x82\"", "\n\ufffd\n\ufffd", true},
		{"\"" + long + "\xff\"", long + "\ufffd", true},
	} {
		for name, r := range map[string]Reader{"New": New([]byte(test.in)), "NewShared": NewShared([]byte(test.in))} {
			bytesReader := r
			got, ok := r.Text()
			if !ok || got != test.want || r.Cleaned != test.cleaned || r.End() != nil {
				t.Errorf("%s: Text of %q = %q, %t, cleaned %t, %v; want %q, cleaned %t", name, test.in, got, ok, r.Cleaned, r.Err(), test.want, test.cleaned)
			}
			if b, ok := bytesReader.Bytes(); !ok || string(b) != test.want || bytesReader.Cleaned != test.cleaned {
				t.Errorf("%s: Bytes of %q = %q, %t; want %q", name, test.in, b, ok, test.want)
			}
		}
	}
}

func TestKeysAreDecoded(t *testing.T) {
	r := New([]byte(`{"ty\u0070e":1,"Type":2}`))
	var keys []string
	for r.Object(); r.Member(); r.Skip() {
		keys = append(keys, r.KeyText())
	}
	if !slices.Equal(keys, []string{"type", "Type"}) {
		t.Errorf("keys are %q", keys)
	}
}

func TestAllocs(t *testing.T) {
	line := toolResult(4)
	if n := testing.AllocsPerRun(100, func() {
		if Valid(line) != nil {
			t.Error("not valid")
		}
		Clean(line)
	}); n != 0 {
		t.Errorf("checking a line allocates %v times", n)
	}
	dst := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		dst = AppendString(dst[:0], "plain \n \x01 \xff text")
		dst, _ = AppendValue(dst[:0], line)
	}); n != 0 {
		t.Errorf("writing allocates %v times", n)
	}
}

// FuzzReader compares the reader with encoding/json, which is equally strict.
func FuzzReader(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !tooDeep(data) {
			want := json.Valid(data) && strings.HasPrefix(strings.TrimLeft(string(data), " \t\r\n"), "{")
			if err := Valid(data); (err == nil) != want {
				t.Fatalf("Valid = %v, encoding/json returns %t", err, want)
			}
		}
		walked, skipped := New(data), New(data)
		compareTexts(t, &walked)
		skipped.Skip()
		if a, b := walked.End(), skipped.End(); (a == nil) != (b == nil) || a != nil && a.Error() != b.Error() {
			t.Fatalf("walking returns %v, skipping returns %v", a, b)
		}
		clean, changed := Clean(data)
		if skipped.Err() == nil {
			checkClean(t, data, clean, changed)
		}
	})
}

func tooDeep(data []byte) bool {
	return strings.Count(string(data), "[")+strings.Count(string(data), "{") >= MaxDepth
}

// compareTexts compares all strings of a value with those that encoding/json reads.
func compareTexts(t *testing.T, r *Reader) {
	switch {
	case r.Object():
		for r.Member() {
			compareTexts(t, r)
		}
	case r.Array():
		for r.Element() {
			compareTexts(t, r)
		}
	case r.Kind() == String:
		again := *r
		raw := again.Raw()
		got, ok := r.Text()
		if !ok {
			return
		}
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("encoding/json does not read %q: %v", raw, err)
		}
		if want = strings.ReplaceAll(want, "\x00", "\ufffd"); got != want {
			t.Fatalf("Text of %q = %q, encoding/json reads %q", raw, got, want)
		}
	default:
		r.Skip()
	}
}
