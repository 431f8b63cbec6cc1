package index

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"

	"pgregory.net/rapid"
)

// someRow draws a row with all fields.
func someRow(t *rapid.T) row {
	when := func(label string) time.Time {
		sec := rapid.OneOf(rapid.Int64Range(-62135596800, 253402300799), rapid.Int64Range(-farFuture, farFuture)).Draw(t, label)
		return time.Unix(sec, rapid.Int64Range(0, 999999999).Draw(t, label+" ns"))
	}
	text := func(label string) string {
		return string(rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, label)) + rapid.String().Draw(t, label)
	}
	return newRow(store.Info{
		ID:    firn.ID(rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,40}`).Filter(func(s string) bool { return firn.ID(s).Check() == nil }).Draw(t, "id")),
		Agent: text("agent"), Key: text("key"), CWD: text("cwd"), Title: text("title"), Prompt: text("prompt"), Fault: text("fault"),
		Created: when("created"), Updated: when("updated"),
		Bytes: rapid.Int64Range(0, math.MaxInt64).Draw(t, "bytes"), Parts: rapid.IntRange(0, 1<<20).Draw(t, "parts"),
		End:      firn.Pos(rapid.Uint64().Draw(t, "end")),
		Archived: rapid.Bool().Draw(t, "archived"), Hidden: rapid.Bool().Draw(t, "hidden"),
	}, when("modified"))
}

func TestRowRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := someRow(t)
		before := normalizeTime(r.modified.Add(-time.Hour))
		line := appendLine(nil, &r, before)
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("it is not one line: %q", line)
		}
		got, gotBefore, err := parseLine(line[:len(line)-1], make(interned))
		if err != nil || *got != r || gotBefore != before {
			t.Fatalf("%+v is read back as %+v, %v; %v as %v", r, got, err, before, gotBefore)
		}
	})
}

// TestRowsKeepEveryField checks that a row contains every field of Info. It fails if a
// field is added to Info only.
func TestRowsKeepEveryField(t *testing.T) {
	var r row
	fill(t, reflect.ValueOf(&r.info).Elem())
	line := appendLine(nil, &r, time.Time{})
	got, _, err := parseLine(line[:len(line)-1], make(interned))
	if err != nil || *got != r {
		t.Errorf("%+v is read back as %+v, %v", r, got, err)
	}
}

// fill gives every field of a struct a distinct value.
func fill(t *testing.T, v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x" + v.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(10 + i))
		case reflect.Uint64:
			f.SetUint(uint64(10 + i))
		case reflect.Float64:
			f.SetFloat(float64(i) + 0.1)
		case reflect.Struct:
			if f.Type() != reflect.TypeFor[time.Time]() {
				fill(t, f)
				continue
			}
			f.Set(reflect.ValueOf(time.Unix(int64(10+i), 5).UTC()))
		default:
			t.Fatalf("a field of kind %v", f.Kind())
		}
	}
}

func TestHeadRoundTrip(t *testing.T) {
	for _, h := range []head{
		{size: headLen},
		{size: math.MaxInt64, lines: math.MaxInt64, rows: math.MaxInt64, newest: time.Unix(-farFuture, 999999999).UTC()},
	} {
		b := h.encode()
		got, err := parseHead(b)
		if len(b) != headLen || err != nil || got != h {
			t.Errorf("%+v is read back as %+v, %v, in %d bytes", h, got, err, len(b))
		}
	}
}

// TestLinesAreCounted tests a file with valid lines that is not the one described by the
// header.
func TestLinesAreCounted(t *testing.T) {
	r := newRow(store.Info{ID: "a"}, time.Unix(8, 9))
	lines := appendLine(nil, &r, time.Time{})
	for count, want := range map[int]bool{0: false, 1: true, 2: false} {
		mem := faultfs.New()
		h := head{size: int64(headLen + len(lines)), lines: count, newest: r.key()}
		if err := mem.Put("/book", append(h.encode(), lines...)); err != nil {
			t.Fatal(err)
		}
		b, err := openCatalogueFile(mem, "/book")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.readAll(); (err == nil) != want {
			t.Errorf("with a count of %d: %v", count, err)
		}
		b.close()
	}
}

// FuzzLine parses lines with a valid checksum and arbitrary content.
func FuzzLine(f *testing.F) {
	r := newRow(store.Info{ID: "a", Title: "t", Updated: time.Unix(5, 6), Bytes: 7, Parts: 1, End: 7, Hidden: true}, time.Unix(8, 9))
	line := appendLine(nil, &r, time.Unix(1, 2))
	f.Add(line[len(checksumBlank) : len(line)-1])
	for _, s := range []string{`}`, `"id":"a"}`, `"id":"a","before":"1"}`, `"id":"a","before":"1.2.3"}`, `"id":"a","before":"-9999999999999999999.1"}`, `"id":"a","end":-1}`, `"id":"../a"}`, `"id":5}`, `"bytes":-1,"id":"a"}`, `"updated":{},"id":"a"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.IndexByte(content, '\n') >= 0 {
			return
		}
		line := append([]byte(checksumBlank), content...)
		writeChecksum(line)
		r, before, err := parseLine(line, make(interned))
		if err != nil {
			return
		}
		// A parsed line must survive another round.
		again := appendLine(nil, r, before)
		r2, before2, err := parseLine(again[:len(again)-1], make(interned))
		if err != nil || *r2 != *r || before2 != before {
			t.Fatalf("%q is read as %+v, and that as %+v, %v", line, r, r2, err)
		}
	})
}

// FuzzCatalogue lists from a file of arbitrary bytes. If sealed is set, its lines get valid
// checksums and a matching header.
func FuzzCatalogue(f *testing.F) {
	mem, src := faultfs.New(), fakeSource{n: 3}
	c, err := Open(mem, "/index", src, Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := c.Rebuild(f.Context(), nil); err != nil {
		f.Fatal(err)
	}
	whole, err := mem.Get("/index/catalogue.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, false)
	f.Add(whole[headLen:], true)
	f.Add(bytes.Repeat(whole[headLen:], 3), true)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, content []byte, sealed bool) {
		if sealed {
			content = sealAll(content)
		}
		mem := faultfs.New()
		if err := mem.Put("/index/catalogue.jsonl", content); err != nil {
			t.Fatal(err)
		}
		c, err := Open(mem, "/index", src, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Page(t.Context(), store.Query{Limit: 2}, Cursor{}); err != nil {
			t.Fatal(err)
		}
		page, err := c.Page(t.Context(), store.Query{}, Cursor{})
		if err != nil || len(page.Infos) > src.n {
			t.Fatalf("%d sessions are listed, %v", len(page.Infos), err)
		}
		if err := c.Rebuild(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if again, err := mem.Get("/index/catalogue.jsonl"); err != nil || !bytes.Equal(again, whole) {
			t.Fatalf("after a rebuild it is %q, %v", again, err)
		}
	})
}

// sealAll converts lines to a catalog file.
func sealAll(content []byte) []byte {
	h := head{newest: time.Unix(10, 0).UTC()}
	var lines []byte
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		sealed := append([]byte(checksumBlank), line[min(len(line), len(checksumBlank)):]...)
		writeChecksum(sealed)
		lines = append(append(lines, sealed...), '\n')
		h.lines++
	}
	h.size = int64(headLen + len(lines))
	return append(h.encode(), lines...)
}

func TestOvergrown(t *testing.T) {
	for _, c := range []struct {
		lines, rows, more int
		want              bool
	}{
		{10, 10, 1000, false}, {10, 10, 1001, true}, {5000, 5000, 5000, false}, {9000, 5000, 1001, true}, {0, 0, 1, false},
	} {
		if got := overgrown(head{lines: c.lines, rows: c.rows}, c.more); got != c.want {
			t.Errorf("%d more lines after %d of %d rows: %v", c.more, c.lines, c.rows, got)
		}
	}
}

// TestNeedless checks which of two versions of a row wins.
func TestNeedless(t *testing.T) {
	look := func(title string, modified int64) *row {
		r := newRow(store.Info{ID: "a", Title: title}, time.Unix(modified, 0))
		return &r
	}
	cases := []struct {
		name      string
		there     *row
		was, now  *row
		blind     bool
		wantNever bool
	}{
		{"nothing new", look("x", 1), nil, look("x", 1), false, true},
		{"new", nil, nil, look("x", 1), false, false},
		{"gone and never there", nil, nil, nil, false, true},
		{"grown", look("x", 1), look("x", 1), look("y", 2), false, false},
		{"put back to an earlier time", look("x", 5), look("x", 5), look("y", 2), false, false},
		{"another process wrote a later row", look("z", 3), look("x", 1), look("y", 2), false, true},
		{"another process wrote an earlier row", look("z", 1), look("x", 0), look("y", 2), false, false},
		{"gone", look("x", 1), look("x", 1), nil, false, false},
		{"gone, but another process wrote it since", look("z", 3), look("x", 1), nil, false, true},
		{"gone, unseen before", look("x", 1), nil, nil, true, false},
		{"unseen before", look("x", 1), nil, look("y", 1), true, false},
		{"unseen before, another process wrote a later row", look("x", 2), nil, look("y", 1), true, true},
	}
	for _, c := range cases {
		ch := change{id: "a", was: c.was, now: c.now, blind: c.blind}
		if got := ch.redundant(c.there); got != c.wantNever {
			t.Errorf("%s: redundant is %v", c.name, got)
		}
	}
}
