package rawjson

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// show formats pieces as one line: complete objects unchanged, damage by its kind in angle
// brackets.
func show(pieces []Piece) string {
	var out []string
	for _, p := range pieces {
		if p.Kind == Complete {
			out = append(out, string(p.Bytes))
		} else {
			out = append(out, fmt.Sprintf("<%s %q>", p.Kind, p.Bytes))
		}
	}
	return strings.Join(out, " ")
}

func TestSplit(t *testing.T) {
	const a, b = `{"type":"message","id":"a","message":{"content":[{"type":"text","text":"hi"}]}}`, `{"type":"label","id":"b"}`
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"blank", " \t\r", ""},
		{"whole", a, a},
		{"whole with carriage return", a + "\r", a},
		{"whole, padded", "  " + b + "    ", b},
		{"empty object", "{}", "{}"},
		{"byte order mark", "\xef\xbb\xbf" + a, `<bom "\ufeff"> ` + a},
		{"zero bytes before", "\x00\x00" + a, `<nul "\x00\x00"> ` + a},
		{"zero bytes after", a + "\x00\x00\x00", a + ` <nul "\x00\x00\x00">`},
		{"zero bytes between", a + "\x00" + b, a + ` <nul "\x00"> ` + b},
		{"only zero bytes", "\x00\x00\x00\x00", `<nul "\x00\x00\x00\x00">`},
		{"two glued", a + b, a + " " + b},
		{"three glued, with spaces", a + " " + b + "  " + a, a + " " + b + " " + a},
		{"glued to a fragment torn within a string", `{"type":"mess` + b, `<torn "{\"type\":\"mess"> ` + b},
		{"glued to a fragment torn within a name", `{"ty` + b, `<torn "{\"ty"> ` + b},
		{"glued to a fragment torn within an escape", `{"type":"m\` + b, `<torn "{\"type\":\"m\\"> ` + b},
		{"glued to a fragment torn within a long escape", `{"type":"m\u00` + b, `<torn "{\"type\":\"m\\u00"> ` + b},
		{"glued to a fragment torn within a number", `{"n":12` + b, `<torn "{\"n\":12"> ` + b},
		{"glued to a fragment torn within a word", `{"n":tr` + b, `<torn "{\"n\":tr"> ` + b},
		{"glued to a fragment torn at a comma", `{"n":1,` + b, `<torn "{\"n\":1,"> ` + b},
		{"glued to a fragment torn after a name", `{"n"` + b, `<torn "{\"n\""> ` + b},
		{"glued to a brace", `{` + b, `<torn "{"> ` + b},
		{"glued to a fragment torn within a rune", "{\"n\":\"\xe2\x82" + b, `<torn "{\"n\":\"\xe2\x82"> ` + b},
		{"glued to a fragment torn after a part", a[:len(a)-3] + b, `<torn ` + fmt.Sprintf("%q", a[:len(a)-3]) + `> ` + b},
		{"two fragments", `{"x":"1` + `{"y":"2` + b, `<damaged "{\"x\":\"1{\"y\":\"2"> ` + b},
		{"torn", a[:30], `<torn ` + fmt.Sprintf("%q", a[:30]) + `>`},
		{"torn after a part", a[:len(a)-3], `<torn ` + fmt.Sprintf("%q", a[:len(a)-3]) + `>`},
		{"torn after the message", a[:len(a)-1], `<torn ` + fmt.Sprintf("%q", a[:len(a)-1]) + `>`},
		{"torn and joined after a colon, which looks like a member", `{"x":` + b, `<torn "{\"x\":{\"type\":\"label\",\"id\":\"b\"}">`},
		{"torn, then zero bytes", `{"x":"y` + "\x00\x00", `<torn "{\"x\":\"y"> <nul "\x00\x00">`},
		{"torn, zero bytes, whole", `{"x":"y` + "\x00\x00" + b, `<torn "{\"x\":\"y"> <nul "\x00\x00"> ` + b},
		{"whole, then torn", a + `{"x":`, a + ` <torn "{\"x\":">`},
		{"whole, then rubbish", a + "rubbish ", a + ` <damaged "rubbish">`},
		{"rubbish, then whole", "rubbish " + a, `<damaged "rubbish "> ` + a},
		{"rubbish", "no JSON at all", `<damaged "no JSON at all">`},
		{"not an object", `[{"a":1},{"b":2}]`, `<damaged "[{\"a\":1},{\"b\":2}]">`},
		{"a flipped bit; the rest is not a record", "{\"x\":[\x01{\"type\":\"text\"}]}", `<damaged "{\"x\":[\x01{\"type\":\"text\"}]}">`},
		{"a number", "17", `<damaged "17">`},
	} {
		line := []byte(test.in)
		if got := show(Split(line)); got != test.want {
			t.Errorf("%s: Split(%q) =\n  %s\nwant\n  %s", test.name, test.in, got, test.want)
		}
		checkPieces(t, line, Split(line))
	}
}

// TestSplitGluedAtEveryByte cuts a record at every byte and appends another one: the other
// one must be recovered, unless an object is valid at the cut.
func TestSplitGluedAtEveryByte(t *testing.T) {
	const a = `{"type":"message","id":"a","message":{"content":[{"type":"text","text":"h\u00e9 \"x\"","n":[-1.5e+3,true,null]}]}}`
	const b = `{"type":"label","id":"b","sub":{"x":1}}`
	const array = `[-1.5e+3,true,`
	for cut := 1; cut < len(a); cut++ {
		pieces := Split([]byte(a[:cut] + b))
		checkPieces(t, []byte(a[:cut]+b), pieces)
		if last := pieces[len(pieces)-1]; last.Kind == Complete && string(last.Bytes) == b {
			if len(pieces) != 2 || string(pieces[0].Bytes) != a[:cut] || pieces[0].Kind != Torn {
				t.Errorf("glued to %q: %s", a[:cut], show(pieces))
			}
			continue
		}
		inArray := a[cut-1] == ',' && strings.HasPrefix(array, a[strings.LastIndexByte(a[:cut], '['):cut])
		if c := a[cut-1]; c != ':' && c != '[' && !inArray {
			t.Errorf("glued to %q the record is lost: %s", a[:cut], show(pieces))
		}
	}
}

// checkPieces checks the invariants of all lines.
func checkPieces(t *testing.T, line []byte, pieces []Piece) {
	t.Helper()
	end := 0
	for i, p := range pieces {
		if p.Offset < end || p.Offset+len(p.Bytes) > len(line) || len(p.Bytes) == 0 || !bytes.Equal(p.Bytes, line[p.Offset:p.Offset+len(p.Bytes)]) {
			t.Fatalf("piece %d of %.200q has a wrong position: %+v", i, line, p)
		}
		if !IsBlank(line[end:p.Offset]) {
			t.Fatalf("bytes before piece %d of %.200q are dropped", i, line)
		}
		if p.Kind == Complete && Valid(p.Bytes) != nil {
			t.Fatalf("piece %d of %.200q is not whole: %q", i, line, p.Bytes)
		}
		if (p.Kind == Complete) != (p.Detail == "") {
			t.Fatalf("piece %d of %.200q has the detail %q", i, line, p.Detail)
		}
		end = p.Offset + len(p.Bytes)
	}
	if !IsBlank(line[end:]) {
		t.Fatalf("bytes after the last piece of %.200q are dropped", line)
	}
	if Valid(line) == nil && len(pieces) != 1 {
		t.Fatalf("a valid line has the pieces %s", show(pieces))
	}
}

// TestSplitHostile checks that hostile lines do not take quadratic time. Each of them would
// take minutes, so the test need not measure time.
func TestSplitHostile(t *testing.T) {
	const size = 2 << 20
	for _, unit := range []string{`{"`, `{"{"a":{"`, `{"a":`, `{"a":[`, `{"a":1}x`, "\x00x", "\x00{", `{"a":"b"} ]`, `{`, `{"a":1}`, "\xef\xbb\xbf", `{"\`, `{"a":{"b":1}`, `x{"a" `} {
		line := []byte(strings.Repeat(unit, size/len(unit)))
		pieces := Split(line)
		checkPieces(t, line, pieces)
		if damage := len(slices.DeleteFunc(pieces, isWhole)); damage > maxDamage+1 {
			t.Errorf("%q: %d pieces of damage", unit, damage)
		}
	}
}

func isWhole(p Piece) bool { return p.Kind == Complete }

// TestSplitBoundsWholePieces checks that a line of many small objects gives at most
// maxPieces pieces and the rest as one.
func TestSplitBoundsWholePieces(t *testing.T) {
	for _, test := range []struct {
		name string
		line string
		want int
		rest string
	}{
		{"the maximum number of pieces", strings.Repeat("{} ", maxPieces), maxPieces, ""},
		{"one more", strings.Repeat("{}", maxPieces) + ` {"a":1} `, maxPieces + 1, `{"a":1}`},
		{"a million", strings.Repeat("{}", 1<<20), maxPieces + 1, strings.Repeat("{}", 1<<20-maxPieces)},
	} {
		pieces := Split([]byte(test.line))
		checkPieces(t, []byte(test.line), pieces)
		if len(pieces) != test.want {
			t.Errorf("%s: %d pieces, want %d", test.name, len(pieces), test.want)
			continue
		}
		if last := pieces[test.want-1]; test.rest != "" && (last.Kind != Damaged || string(last.Bytes) != test.rest) {
			t.Errorf("%s: the last piece is %s of %d bytes, want damage of %d", test.name, last.Kind, len(last.Bytes), len(test.rest))
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
		f.Add(append(seed[:len(seed)/2:len(seed)/2], seed...))
	}
	f.Add([]byte("\xef\xbb\xbf{}\x00\x00{\"a\":{\"b\""))
	f.Fuzz(func(t *testing.T, line []byte) {
		checkPieces(t, line, Split(line))
	})
}

// seeds returns lines of real sessions, up to a few hundred bytes each.
func seeds(f *testing.F) [][]byte {
	file := filepath.Join("..", "..", "..", "testdata", "corpus", "pi", "golden", "linear_all_entry_types.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	var lines [][]byte
	for line := range bytes.Lines(data) {
		lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return lines
}
