package journal

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
)

// torn is a journal as a crash left it, and the expected result of opening it.
type torn struct {
	files  map[string]string
	whole  []string          // expected lines
	repair []Repair          // expected repairs
	beside map[string]string // expected side files
}

const newLine = `{"new":"line"}`

// check opens the journal, appends a line and checks lines, repairs and files.
func (c torn) check(t *testing.T) {
	t.Helper()
	fsys := memory(t, c.files)
	var repairs []Repair
	j := openIn(t, fsys, base, Options{Report: func(r Repair) { repairs = append(repairs, r) }})
	if _, err := j.Append(false, batch(newLine)); err != nil {
		t.Fatal(err)
	}
	must(t, j.Close())
	wantLines(t, j.Source(), append(slices.Clone(c.whole), newLine))
	if !slices.Equal(repairs, c.repair) {
		t.Fatalf("reported %+v, want %+v", repairs, c.repair)
	}
	c.checkFiles(t, fsys)
	again := openIn(t, fsys, base, Options{Report: func(r Repair) { t.Errorf("a second repair: %+v", r) }})
	must(t, again.Close())
}

// checkFiles checks that the parts and the side files exist and no other files.
func (c torn) checkFiles(t *testing.T, fsys *faultfs.FS) {
	t.Helper()
	want := maps.Clone(c.beside)
	if want == nil {
		want = make(map[string]string)
	}
	for path := range c.files {
		want[path] = ""
	}
	want[base] = ""
	if got := fsys.Files(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Fatalf("the files are %q, want %q", got, slices.Sorted(maps.Keys(want)))
	}
	for path, bytes := range c.beside {
		if got := content(t, fsys, path); got != bytes {
			t.Fatalf("%s holds %.200q, want %.200q", path, got, bytes)
		}
	}
}

// cutAt returns the case in which the file at path, with the given lines, is truncated to
// cut bytes. The lines in before are in other parts.
func cutAt(path string, before, lines []string, cut int) torn {
	text := joined(lines)[:cut]
	n := strings.Count(text, "\n")
	start := strings.LastIndexByte(text, '\n') + 1
	c := torn{files: map[string]string{path: text}, whole: append(slices.Clone(before), lines[:n]...)}
	fragment := text[start:]
	switch {
	case fragment == "":
	case fragment == lines[n]:
		c.whole = append(c.whole, fragment)
		c.repair = []Repair{{Path: path, Offset: int64(start), Finished: true}}
	default:
		c.torn(path, start, fragment)
	}
	return c
}

// torn adds the expectation that a fragment is cut off and saved.
func (c *torn) torn(path string, offset int, fragment string) {
	saved := fmt.Sprintf("%s.torn-%d", path, offset)
	c.repair = []Repair{{Path: path, Offset: int64(offset), Cut: int64(len(fragment)), SavedTo: saved}}
	c.beside = map[string]string{saved: fragment}
}

// cuts calls do with each offset to cut at: every byte, or some of them in short mode.
func cuts(size int, do func(cut int)) {
	for cut := 0; cut <= size; cut += stride() {
		do(cut)
	}
}

func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	lines := sample(200, 1)
	cuts(len(joined(lines)), func(cut int) { cutAt(base, nil, lines, cut).check(t) })
}

func TestCutAtEveryByteOfTwoParts(t *testing.T) {
	t.Parallel()
	lines := sample(200, 2)
	first, second := lines[:90], lines[90:]
	t.Run("in the last part", func(t *testing.T) {
		cuts(len(joined(second)), func(cut int) {
			c := cutAt(PartPath(base, 1), first, second, cut)
			c.files[base] = joined(first)
			c.check(t)
		})
	})
	t.Run("in the first part, the second is gone or empty", func(t *testing.T) {
		cuts(len(joined(first)), func(cut int) {
			cutAt(base, nil, first, cut).check(t)
			if cut == len(joined(first)) {
				c := cutAt(base, nil, first, cut)
				c.files[PartPath(base, 1)] = ""
				c.check(t)
			}
		})
	})
	// Only the end of the last part is ever repaired. Readers return earlier damage as it
	// is.
	t.Run("in the first part, the second is intact", func(t *testing.T) {
		cuts(len(joined(first)), func(cut int) {
			text := joined(first)[:cut]
			seen := strings.Split(text, "\n")
			if seen[len(seen)-1] == "" {
				seen = seen[:len(seen)-1]
			}
			torn{
				files: map[string]string{base: text, PartPath(base, 1): joined(second)},
				whole: append(seen, second...),
			}.check(t)
		})
	})
}

func TestZerosAtTheEnd(t *testing.T) {
	t.Parallel()
	lines := sample(12, 3)
	text := joined(lines)
	last := `{"last":"whole"}`
	for zeros := 1; zeros <= 600; zeros++ {
		run := strings.Repeat("\x00", zeros)

		after := torn{files: map[string]string{base: text + run}, whole: lines}
		after.torn(base, len(text), run)
		after.check(t)

		whole := torn{files: map[string]string{base: text + last + run}, whole: append(slices.Clone(lines), last)}
		whole.torn(base, len(text)+len(last), run)
		whole.repair[0].Offset, whole.repair[0].Finished = int64(len(text)), true
		whole.check(t)

		half := torn{files: map[string]string{base: text + last[:9] + run}, whole: lines}
		half.torn(base, len(text), last[:9]+run)
		half.check(t)

		inside := torn{files: map[string]string{base: text + last[:9] + run + last[9:]}, whole: lines}
		inside.torn(base, len(text), last[:9]+run+last[9:])
		inside.check(t)
	}
}

// TestUnusualEndings checks endings that other programs and editors leave.
func TestUnusualEndings(t *testing.T) {
	t.Parallel()
	head := `{"first":1}` + "\n"
	long := `{"x":"` + strings.Repeat("0123456789abcdef", 5<<20/16) + `"}`
	for name, c := range map[string]struct {
		before, keep, cut string // the last line is kept up to here; the rest is cut off
	}{
		"CRLF, all of it there":       {head, "{\"a\":1}\r", ""},
		"CRLF, only the object there": {"{\"first\":1}\r\n", `{"a":1}`, ""},
		"CRLF, cut":                   {"{\"first\":1}\r\n", "", `{"a":`},
		"a lone CR":                   {head, "", "\r"},
		"a BOM and an object":         {"", "\ufeff{\"a\":1}", ""},
		"a BOM alone":                 {"", "", "\ufeff"},
		"a piece of a BOM":            {"", "", "\xef\xbb"},
		"a BOM and a piece":           {"", "", "\ufeff{\"a\":"},
		"invalid UTF-8, whole":        {head, "{\"a\":\"\xff\xc3\"}", ""},
		"invalid UTF-8, cut":          {head, "", "{\"a\":\"\xff\xc3"},
		"within a character":          {head, "", "{\"a\":\"\xf0\x9f\xa7"},
		"within an escape":            {head, "", `{"a":"\u20`},
		"within an object within":     {head, "", `{"a":{"b":1},`},
		"blank lines":                 {head + "\n\n", "", ""},
		"blanks, no newline":          {head, "", "   "},
		"blanks and an object":        {head, ` {"a":1} `, ""},
		"nothing but a newline":       {"\n", "", ""},
		"an empty file":               {"", "", ""},
		"one byte":                    {"", "", "{"},
		"an empty object":             {"", "{}", ""},
		"two objects glued":           {head, `{"a":1}{"b":2}`, ""},
		"an object and a piece":       {head, `{"a":1}`, `{"b`},
		"an object, a blank, a piece": {head, `{"a":1}`, ` {"b`},
		"a piece and an object":       {head, `{"a":"x{"b":2}`, ""},
		"zeros and an object":         {head, "\x00\x00{\"b\":2}", ""},
		"an array":                    {head, "", `[1,2]`},
		"a number":                    {head, "", `12`},
		"null":                        {head, "", `null`},
		"U+2028 is no newline":        {head, "", "{\"a\":\"\u2028"},
		"5 MB, whole":                 {head, long, ""},
		"5 MB, cut":                   {head, "", long[:len(long)-1]},
		"5 MB before it":              {long + "\n", "", "{"},
		"5 MB and nothing else":       {"", "", long[:5<<20-3]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := torn{files: map[string]string{base: c.before + c.keep + c.cut}}
			if c.before != "" {
				want.whole = strings.Split(strings.TrimSuffix(c.before, "\n"), "\n")
			}
			if c.cut != "" {
				want.torn(base, len(c.before)+len(c.keep), c.cut)
				want.repair[0].Offset = int64(len(c.before))
			}
			if c.keep != "" {
				want.whole = append(want.whole, c.keep)
				if c.cut == "" {
					want.repair = []Repair{{Path: base, Offset: int64(len(c.before))}}
				}
				want.repair[0].Finished = true
			}
			want.check(t)
		})
	}
}

// TestFragmentsOfEverySize cuts at the offsets where the search for the last newline reads
// one more block.
func TestFragmentsOfEverySize(t *testing.T) {
	t.Parallel()
	for _, border := range []int{1, 4 << 10, 16 << 10, 64 << 10, 256 << 10} {
		for size := max(1, border-2); size <= border+2; size++ {
			for _, head := range []string{"", "\n", `{"a":1}` + "\n"} {
				fragment := `{` + strings.Repeat("x", size-1)
				c := torn{files: map[string]string{base: head + fragment}}
				if head != "" {
					c.whole = []string{head[:len(head)-1]}
				}
				c.torn(base, len(head), fragment)
				c.check(t)
			}
		}
	}
}

func TestMissingAndEmptyParts(t *testing.T) {
	t.Parallel()
	second, third := PartPath(base, 1), PartPath(base, 2)
	for name, c := range map[string]torn{
		"the last part is empty":   {files: map[string]string{base: "{\"a\":1}\n", second: ""}, whole: []string{`{"a":1}`}},
		"the middle part is gone":  {files: map[string]string{base: "{\"a\":1}\n", third: "{\"c\":1}\n"}, whole: []string{`{"a":1}`, `{"c":1}`}},
		"the middle part is empty": {files: map[string]string{base: "{\"a\":1}\n", second: "", third: "{\"c\":1}\n"}, whole: []string{`{"a":1}`, `{"c":1}`}},
		"the first part is empty":  {files: map[string]string{base: "", second: "{\"b\":1}\n"}, whole: []string{`{"b":1}`}},
		"the first part is gone":   {files: map[string]string{second: "{\"b\":1}\n"}, whole: []string{`{"b":1}`}},
		"three parts are gone":     {files: map[string]string{base: "{\"a\":1}\n", PartPath(base, 4): "{\"e\":1}\n"}, whole: []string{`{"a":1}`, `{"e":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
	t.Run("gone and torn", func(t *testing.T) {
		t.Parallel()
		c := cutAt(third, []string{`{"a":1}`}, []string{`{"c":1}`, `{"c":2}`}, 12)
		c.files[base] = "{\"a\":1}\n"
		c.check(t)
	})
}

// TestSideFilesAreNotOverwritten checks that existing side files of earlier crashes are not
// overwritten.
func TestSideFilesAreNotOverwritten(t *testing.T) {
	t.Parallel()
	fsys := memory(t, map[string]string{base: "{\"a\":1}\n{\"b", base + ".torn-8": "one", base + ".torn-8-2": "two"})
	var repairs []Repair
	j := openIn(t, fsys, base, Options{Report: func(r Repair) { repairs = append(repairs, r) }})
	must(t, j.Close())
	if want := []Repair{{Path: base, Offset: 8, Cut: 3, SavedTo: base + ".torn-8-3"}}; !slices.Equal(repairs, want) {
		t.Errorf("reported %+v, want %+v", repairs, want)
	}
	for path, want := range map[string]string{base + ".torn-8": "one", base + ".torn-8-2": "two", base + ".torn-8-3": "{\"b"} {
		if got := content(t, fsys, path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
}

// TestCutOnDisk is TestCutAtEveryByte on the real file system, for some bytes.
func TestCutOnDisk(t *testing.T) {
	t.Parallel()
	lines := sample(8, 4)
	text := joined(lines)
	dir := t.TempDir()
	for cut := 0; cut <= len(text); cut += 1 + len(text)/rounds(80) {
		path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", cut))
		must(t, os.WriteFile(path, []byte(text[:cut]), 0o600))
		var repairs []Repair
		j := open(t, path, Options{Report: func(r Repair) { repairs = append(repairs, r) }})
		add(t, j, newLine)
		want := cutAt(path, nil, lines, cut)
		wantLines(t, Source{FS: vfs.OS{}, Path: path}, append(want.whole, newLine))
		if !slices.Equal(repairs, want.repair) {
			t.Fatalf("cut at %d: reported %+v, want %+v", cut, repairs, want.repair)
		}
		for path, bytes := range want.beside {
			if got, err := os.ReadFile(path); err != nil || string(got) != bytes {
				t.Fatalf("%s holds %q (%v), want %q", path, got, err, bytes)
			}
		}
	}
}
