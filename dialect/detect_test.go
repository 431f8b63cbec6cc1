package dialect

import (
	"bytes"
	_ "embed"
	"errors"
	"strings"
	"testing"

	"firn"
)

// firstLines holds the first line (at most 1,500 bytes of it) of files that the
// seven tools wrote: dialect, file and line, parted by tabs.
//
//go:embed testdata/firstlines.txt
var firstLines string

func TestDetectFiles(t *testing.T) {
	seen := make(map[Name]int)
	for row := range strings.Lines(firstLines) {
		want, rest, _ := strings.Cut(row, "\t")
		file, line, _ := strings.Cut(rest, "\t")
		got, err := Detect([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil || got != Name(want) {
			t.Errorf("Detect(%s) = %q, %v; want %q", file, got, err, want)
		}
		seen[got]++
	}
	for _, name := range []Name{Pi, ClaudeCode, Cersei, CrabTalk, Claw0, Codex} {
		if seen[name] == 0 {
			t.Errorf("no file of the dialect %q was tried", name)
		}
	}
}

func TestDetect(t *testing.T) {
	for _, test := range []struct {
		name, lines string
		want        Name
	}{
		{"ours", `{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/","firn":1}`, Native},
		{"ours, the mark first", `{"firn":1,"type":"session","id":"x"}`, Native},
		{"pi without cwd", `{"type":"session","id":"x","timestamp":"t"}`, Pi},
		{"pi that lost its header", `{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{}}`, Pi},
		{"pi of the first version that lost its header", `{"type":"message","timestamp":"t","message":{}}`, Pi},
		{"a part file of ours", `{"type":"tombstone","id":"a","parentId":"b","timestamp":"t","targetId":"c"}`, Pi},
		{"Claude Code that also writes Cersei's spelling", `{"type":"user","uuid":"u","session_id":"s","sessionId":"s","parentUuid":null}`, ClaudeCode},
		{"CrabTalk that lost its first line", `{"role":"tool","content":"x","tool_call_id":"1"}`, CrabTalk},
		{"CrabTalk compacted", `{"compact":"all of it"}`, CrabTalk},
		{"Cersei's bare messages", `{"role":"user","content":"hi"}`, Cersei},
		{"Codex that lost its first line", `{"timestamp":"t","type":"response_item","payload":{}}`, Codex},
		{"Codex of spring 2025", `{"id":"x","timestamp":"t","instructions":null}`, Codex},
		{"behind a byte order mark", "\xef\xbb\xbf" + `{"type":"session","id":"x","timestamp":"t","cwd":"/"}`, Pi},
		{"behind blank and broken lines", "\n \r\nnot JSON\n" + `{"type":"ses` + "\n" + `{"type":"session","cwd":"/"}`, Pi},
		{"behind a line that does not tell", `{"type":"mystery"}` + "\n" + `{"type":"session","cwd":"/"}`, Pi},
		{"a first line of which only the beginning is given", `{"timestamp":"t","type":"session_meta","payload":{"base_instructions":"You are`, Codex},
	} {
		got, err := Detect([]byte(test.lines))
		if err != nil || got != test.want {
			t.Errorf("%s: Detect = %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}

func TestDetectNothing(t *testing.T) {
	for _, lines := range []string{
		"", "\n\n", "hello", "[1,2]", `{"type":"mystery"}`, `{"type":"session"}`, `{"name":"x"}`, "CRMEM\x00\x01", `{"type":5,"role":6}`,
		`{"type":"session","cw` + "\n", // cut off, but not by us
		string(bytes.Repeat([]byte{0}, 4096)),
	} {
		if got, err := Detect([]byte(lines)); !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("Detect(%.40q) = %q, %v; want ErrUnsupported", lines, got, err)
		}
	}
}
