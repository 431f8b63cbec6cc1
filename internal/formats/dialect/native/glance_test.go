package native

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"firn.dev"
)

func TestGlance(t *testing.T) {
	for _, test := range []struct {
		line string
		want firn.Glance
	}{
		{`{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}`, firn.Glance{Kind: firn.KindHeader}},
		{`{"type":"message","id":"a","parentId":"p","message":{"id":"no","role":"user"}}`, firn.Glance{Kind: firn.KindMessage, ID: "a", Parent: "p"}},
		{`{"type":"message","id":"a","parentId":null,"message":{}}`, firn.Glance{Kind: firn.KindMessage, ID: "a"}},
		{`{"type":"message","id":"a","parentId":"-","message":{}}`, firn.Glance{Kind: firn.KindMessage, ID: "a"}},
		{`{"type":"message","message":{"parentId":"no"}}`, firn.Glance{Kind: firn.KindMessage, NoParent: true}},
		{`{"type":"message","id":"a","parentId":5}`, firn.Glance{Kind: firn.KindMessage, ID: "a", NoParent: true}},
		{`{"type":"custom","customType":"x","data":{"id":"no"},"id":"a","parentId":"p"}`, firn.Glance{Kind: firn.KindCustom, ID: "a", Parent: "p"}},
		{`{"type":"compaction","id":"a","parentId":"p","summary":"s","firstKeptEntryId":"k","targetId":"no"}`, firn.Glance{Kind: firn.KindCompaction, ID: "a", Parent: "p", Target: "k"}},
		{`{"type":"compaction","id":"a","parentId":"p","summary":"s"}`, firn.Glance{Kind: firn.KindCompaction, ID: "a", Parent: "p"}},
		{`{"type":"tombstone","id":"a","parentId":"p","targetId":"k"}`, firn.Glance{Kind: firn.KindTombstone, ID: "a", Parent: "p", Target: "k"}},
		{`{"firstKeptEntryId":"no","targetId":"k","parentId":"p","id":"a","type":"label"}`, firn.Glance{Kind: firn.KindLabel, ID: "a", Parent: "p", Target: "k"}},
		{`{"type":"label","id":"a","parentId":"p","targetId":7}`, firn.Glance{Kind: firn.KindLabel, ID: "a", Parent: "p"}},
		{`{"type":"context_edit","id":"a","parentId":"p","targetId":"k"}`, firn.Glance{Kind: "context_edit", ID: "a", Parent: "p"}},
		{`{"type":"erased","id":"a","parentId":"p"}    ` + "\r", firn.Glance{Kind: firn.KindErased, ID: "a", Parent: "p"}},
		{`{"type":"head","id":"a","id":"b","parentId":null,"parentId":"p"}`, firn.Glance{Kind: firn.KindHead, ID: "a"}},
		{`{}`, firn.Glance{NoParent: true}},
		// Data after the parent is not checked.
		{`{"type":"head","id":"a","parentId":"p",rubbish}`, firn.Glance{Kind: firn.KindHead, ID: "a", Parent: "p"}},
	} {
		if got, err := New().Glance([]byte(test.line)); err != nil || got != test.want {
			t.Errorf("Glance(%s) = %+v, %v; want %+v", test.line, got, err, test.want)
		}
	}
}

func TestGlanceRefuses(t *testing.T) {
	for _, line := range []string{
		``, ` `, `{`, `}`, `[]`, `17`, `{"type":"message","id":"a","parentId":"p","mess`, `{"type":"message","id":"a","parentId":"p"}x`,
		`x{"type":"message","id":"a","parentId":"p"}`, `{"type":"mess{"type":"message","id":"a","parentId":"p"}`, `{"type" "message"}`, "{\"type\":\"\x01\"}",
		`{"type":"label","id":"a","parentId":"p",rubbish}`,
	} {
		if got, err := New().Glance([]byte(line)); !errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("Glance(%q) = %+v, %v; want ErrCorrupt", line, got, err)
		}
	}
}

// TestTimeAgreesWithDecode compares Time with the time of the decoded entry for every line.
func TestTimeAgreesWithDecode(t *testing.T) {
	d := New()
	reported := 0
	files, err := filepath.Glob("../../../../testdata/corpus/pi/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			line = bytes.TrimSpace(line)
			entry, err := d.Decode(line)
			got, ok := d.Time(line)
			if ok && err == nil && !got.Equal(entry.Time) {
				t.Errorf("time %s, decoded %s: %.80s", got, entry.Time, line)
			}
			if ok {
				reported++
			}
		}
	}
	if reported == 0 {
		t.Error("no line had a time")
	}
}
