package openclaw_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/dialecttest"
)

const corpus = "../../../../testdata/corpus"

var _ dialect.Tool = tool

func torn(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(corpus + "/pi/openclaw_torn_tail.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestCorpus(t *testing.T) {
	dialecttest.RunTool(t, tool, fstest.MapFS{"torn.jsonl": {Data: torn(t)}})
	dialecttest.RunTool(t, tool, os.DirFS(corpus+"/pi/golden"))
}

// TestTranscriptsAreReadAsPi checks that a transcript is read and written as pi does; only
// carried lines are labeled as OpenClaw's, and written unchanged.
func TestTranscriptsAreReadAsPi(t *testing.T) {
	const reset = `{"type":"reset","id":"r","parentId":"a","timestamp":"2026-11-15T02:40:15.042Z","reason":"new"}`
	text := `{"type":"session","version":3,"id":"s","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"user","content":[{"type":"text","text":"A"}],"timestamp":1}}
` + reset + "\n"
	from := dialect.Origin{Transcript: dialect.Transcript{ID: "s", Agent: "ops", Key: "agent:ops:main"}}
	s := tool.Scanner(from)
	p := tool.Printer(dialect.Target{Session: "s", CWD: "/w"})
	var entries []firn.Entry
	var out []byte
	for line := range bytes.Lines([]byte(text)) {
		found, err := s.Scan(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found {
			entries = append(entries, e)
			if out, err = p.Print(out, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(entries) != 3 || len(s.Finish()) != 0 {
		t.Fatalf("read %v", entries)
	}
	if h := entries[0].Body.(*firn.Header); h.Agent != "ops" || h.Key != "agent:ops:main" {
		t.Errorf("the header is %+v", h)
	}
	c, ok := entries[2].Body.(*firn.Custom)
	if !ok || c.Type != "openclaw:reset" || !dialect.IsLine(tool.Name(), c) || string(c.Data) != reset {
		t.Errorf("a line of its own reads as %+v", entries[2].Body)
	}
	want := strings.Replace(text, `"cwd":"/w"}`, `"cwd":"/w","agent":"ops","key":"agent:ops:main"}`, 1)
	if string(out) != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
	if len(tool.Limits()) == 0 || tool.Name() != dialect.OpenClaw {
		t.Error("the tool has no description")
	}
}

// FuzzScanner reads arbitrary lines.
func FuzzScanner(f *testing.F) {
	f.Add(torn(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := tool.Scanner(dialect.Origin{})
		for line := range bytes.Lines(data) {
			entries, err := s.Scan(line)
			for _, e := range entries {
				if e.Body == nil || err != nil {
					t.Fatalf("%q reads as %v, %v", line, e, err)
				}
			}
		}
	})
}
