package dialect_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
)

// corpus returns the lines of the recorded sessions.
func corpus(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob("../../../testdata/corpus/pi/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var lines [][]byte
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			if line = bytes.TrimSpace(line); len(line) < 8<<10 {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// read returns the IDs and gaps of a line as strings.
func read(r *dialect.Reader, line []byte) []string {
	var out []string
	l := dialect.Line{At: 100, Start: 100, Next: firn.Pos(101 + len(line)), Data: line}
	last := l.At
	for _, rec := range r.Records(l) {
		if rec.At < last || rec.Next < rec.At || rec.Next > l.Next {
			return []string{fmt.Sprintf("record at %d to %d after %d", rec.At, rec.Next, last)}
		}
		last = rec.Next
		switch {
		case rec.Gap != nil:
			out = append(out, string(rec.Gap.Kind))
		case rec.Glance.Kind == firn.KindHeader:
			out = append(out, "header")
		default:
			out = append(out, string(rec.Glance.ID))
		}
	}
	return out
}

// TestReaderFindsCompleteLines checks lines with the damage that crashes leave.
func TestReaderFindsCompleteLines(t *testing.T) {
	a := `{"type":"message","id":"aaaa","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"user","content":[{"type":"text","text":"a \"parentId\": x"}],"timestamp":1}}`
	b := `{"type":"message","id":"bbbb","parentId":"aaaa","timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"user","content":"b","timestamp":1}}`
	for _, c := range []struct {
		name, line string
		want       []string
	}{
		{"one", a, []string{"aaaa"}},
		{"blank", "  \r", nil},
		{"carriage return", a + "\r", []string{"aaaa"}},
		{"glued", a + b, []string{"aaaa", "glued", "bbbb"}},
		{"torn and glued", a[:60] + b, []string{"torn", "bbbb"}},
		{"torn in a text", a[:170] + b, []string{"torn", "bbbb"}},
		{"torn after a colon", `{"type":"message","id":"cccc","parentId":null,"message":` + b, []string{"torn", "bbbb"}},
		{"torn within an array", `{"type":"message","id":"cccc","parentId":null,"message":{"content":[` + b, []string{"torn", "bbbb"}},
		{"torn after a colon, two glued", `{"type":"message","id":"cccc","parentId":null,"message":` + a + b, []string{"torn", "aaaa", "glued", "bbbb"}},
		{"zeros before", "\x00\x00\x00" + a, []string{"nul", "aaaa"}},
		{"zeros between", a + "\x00\x00" + b, []string{"aaaa", "nul", "bbbb"}},
		{"byte order mark", "\xef\xbb\xbf" + a, []string{"bom", "aaaa"}},
		{"no JSON", "hello", []string{"damaged"}},
		{"cut off", a[:len(a)-3], []string{"torn"}},
	} {
		for _, quick := range []bool{false, true} {
			r := &dialect.Reader{Dialect: native.New(), Quick: quick}
			if got := read(r, []byte(c.line)); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s (quick %v): read %q, want %q", c.name, quick, got, c.want)
			}
		}
	}
}

// TestReaderWaitsForUnfinished reads a line that is still being written: complete records
// count, and the rest is read again later.
func TestReaderWaitsForUnfinished(t *testing.T) {
	whole := `{"type":"message","id":"aaaa","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"user","content":"a","timestamp":1}}`
	for _, line := range []string{whole, whole[:40], whole + whole[:40]} {
		r := &dialect.Reader{Dialect: native.New()}
		records := r.Records(dialect.Line{At: 100, Start: 100, Next: firn.Pos(100 + len(line)), Data: []byte(line), Unfinished: true})
		want := firn.Pos(100)
		if len(line) >= len(whole) {
			want += firn.Pos(len(whole))
		}
		if got := records[len(records)-1].Next; got != want {
			t.Errorf("after %.20q… of %d bytes reading continues at %d, want %d", line, len(line), got, want)
		}
	}
}

// TestReaderFindsGluedRecord truncates each line of the corpus at every byte and joins the
// next one to it: that one must always be found.
func TestReaderFindsGluedRecord(t *testing.T) {
	lines := corpus(t)
	for i := 1; i < len(lines); i++ {
		torn, whole := lines[i-1], lines[i]
		want := read(&dialect.Reader{Dialect: native.New()}, whole)
		if len(want) != 1 || want[0] == "" || want[0] == "header" || want[0] == string(firn.GapDamaged) || want[0] == string(firn.GapTorn) {
			continue // a header starts a file, and the corpus also has damaged lines
		}
		step := max(1, len(torn)/400)
		for cut := 0; cut <= len(torn); cut += step {
			line := append(bytes.Clone(torn[:cut]), whole...)
			for _, quick := range []bool{false, true} {
				got := read(&dialect.Reader{Dialect: native.New(), Quick: quick}, line)
				if len(got) == 0 || got[len(got)-1] != want[0] {
					t.Fatalf("line %d torn at %d (quick %v): read %q, want %q in the end\n%s", i, cut, quick, got, want[0], line)
				}
			}
		}
	}
}

// FuzzReader reads arbitrary lines: the reader must not panic, its records must lie within
// the line and in order, and a quick reader must find every record with a parent. (It may
// miss damage after a first record.)
func FuzzReader(f *testing.F) {
	for _, line := range corpus(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.ReplaceAll(line, []byte("\n"), nil)
		quick := read(&dialect.Reader{Dialect: native.New(), Quick: true}, line)
		r := dialect.Reader{Dialect: native.New()}
		for _, rec := range r.Records(dialect.Line{Data: line, Next: firn.Pos(len(line))}) {
			if g := rec.Glance; rec.Gap == nil && g.ID != "" && !g.NoParent && !slices.Contains(quick, string(g.ID)) {
				t.Errorf("record %q exists, the quick reader returned %q", g.ID, quick)
			}
		}
	})
}

// TestReaderBoundsRecordsOfALine reads lines with very many objects: those after the first
// ten thousand are one gap, so that a small line cannot exhaust memory.
func TestReaderBoundsRecordsOfALine(t *testing.T) {
	const pieces = 10_000
	entry := `{"type":"label","id":"a","parentId":"b","targetId":"b"}`
	for _, quick := range []bool{false, true} {
		r := dialect.Reader{Dialect: native.New(), Quick: quick}
		got := read(&r, bytes.Repeat([]byte("{}"), 1<<20))
		if max := 2*pieces + 2; len(got) > max {
			t.Errorf("quick %t: %d records of a line of empty objects, want at most %d", quick, len(got), max)
		}
		got = read(&r, bytes.Repeat([]byte(entry), 3*pieces))
		entries := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != "a" }))
		if entries != pieces+1 || !slices.Contains(got, string(firn.GapDamaged)) {
			t.Errorf("quick %t: %d entries of a line of %d, want the first %d, a gap, and the last", quick, entries, 3*pieces, pieces)
		}
	}
}
