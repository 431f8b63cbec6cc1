package native

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/dialecttest"
)

var _ dialect.Dialect = Dialect{}

const corpus = "../../../../testdata/corpus"

func TestCorpus(t *testing.T) {
	dialecttest.Run(t, New(), os.DirFS(filepath.Join(corpus, "pi")))
}

// corpusLines returns the lines of a folder of the corpus.
func corpusLines(t testing.TB, folder string) (lines [][]byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus, folder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			lines = append(lines, bytes.TrimRight(line, "\n"))
		}
	}
	return lines
}

// TestCorpusBytes checks that pi's lines are written back unchanged, except for values that
// pi encodes in several ways.
func TestCorpusBytes(t *testing.T) {
	same, different := 0, 0
	for _, line := range corpusLines(t, "pi/golden") {
		entry, err := New().Decode(line)
		if err != nil {
			continue
		}
		out, err := New().Append(nil, entry)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		stringContent := bytes.Contains(line, []byte(`"content":"`))
		notFromHook := bytes.Contains(line, []byte(`"fromHook":false`))
		switch {
		case bytes.Equal(line, out):
			same++
		case stringContent || notFromHook:
			different++
		default:
			t.Errorf("read    %s\nwritten %s", line, out)
		}
	}
	if same < 2*different {
		t.Errorf("only %d lines are the same, %d are not", same, different)
	}
}

// TestFirstVersion checks version 1 files, which have no IDs. They can be read but not
// written: that requires a dialect that knows the previous lines.
func TestFirstVersion(t *testing.T) {
	messages := 0
	for _, line := range corpusLines(t, "pi-v1") {
		entry, err := New().Decode(line)
		if err != nil {
			t.Errorf("%.200s: %v", line, err)
			continue
		}
		glance, err := New().Glance(line)
		if err != nil || glance.ID != "" || glance.Kind != entry.Body.Kind() {
			t.Errorf("%.200s: Glance = %+v, %v", line, glance, err)
		}
		switch body := entry.Body.(type) {
		case *firn.Opaque:
			t.Errorf("%.200s: it is not read", line)
		case *firn.Header:
			if body.Version != 1 {
				t.Errorf("%.200s: version %d", line, body.Version)
			}
		case *firn.Message:
			messages++
			if !glance.NoParent {
				t.Errorf("%.200s: it has no parent, but the glance does not say so", line)
			}
		}
		if entry.Body.Kind() == firn.KindHeader {
			continue
		}
		if out, err := New().Append(nil, entry); err == nil {
			t.Errorf("an entry without an id was written: %.200s", out)
		}
		entry.ID = "a"
		out, err := New().Append(nil, entry)
		if err != nil {
			t.Errorf("%.200s: %v", line, err)
			continue
		}
		if again, err := New().Decode(out); err != nil || !reflect.DeepEqual(entry, again) {
			t.Errorf("%.200s reads differently when written with an id: %v", line, err)
		}
	}
	if messages == 0 {
		t.Error("no message was read")
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range corpusLines(f, "pi/golden") {
		if len(line) < 1000 {
			f.Add(line)
		}
	}
	for _, test := range golden {
		f.Add([]byte(test.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		d := New()
		glance, glanceErr := d.Glance(line)
		entry, err := d.Decode(line)
		if err != nil {
			return
		}
		if glanceErr != nil {
			t.Fatalf("Glance fails where Decode does not: %v", glanceErr)
		}
		want := firn.GlanceOf(entry)
		want.NoParent = glance.NoParent
		if _, opaque := entry.Body.(*firn.Opaque); opaque {
			want.Target = glance.Target
		}
		if glance != want {
			t.Fatalf("Glance = %+v, the entry is %+v", glance, want)
		}
		out, err := d.Append(nil, entry)
		if bytes.IndexByte(line, '\n') >= 0 {
			return // several lines: carried values are written without line breaks, or not at all
		}
		if err != nil {
			if entry.ID == "" {
				return
			}
			t.Fatalf("Append rejects the entry that Decode returned: %v", err)
		}
		again, err := d.Decode(out)
		if err != nil || !reflect.DeepEqual(entry, again) {
			t.Fatalf("written as %q it reads differently: %v\nfirst  %s\nsecond %s", out, err, dialecttest.Describe(entry), dialecttest.Describe(again))
		}
		if twice, err := d.Append(nil, again); err != nil || !bytes.Equal(out, twice) {
			t.Fatalf("written again it is not the same: %v\nfirst  %s\nsecond %s", err, out, twice)
		}
	})
}
