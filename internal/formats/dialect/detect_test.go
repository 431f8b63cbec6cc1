package dialect

import (
	"bytes"
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
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
		{"CrabTalk that lost its first line, by a later one", `{"role":"user","content":"hi"}` + "\n" + `{"role":"assistant","content":"ho"}` + "\n" + `{"role":"tool","content":"x","tool_call_id":"1"}`, CrabTalk},
		{"CrabTalk that lost its first line, by a mark", `{"role":"user","content":"hi"}` + "\n" + `{"compact":"all of it"}`, CrabTalk},
		{"CrabTalk that lost its first line, by an event", `{"role":"user","content":"hi"}` + "\n" + `{"event":"done","model":"m","ts":"t"}`, CrabTalk},
		{"a folder of CrabTalk: its meta", `{"agent":"crab","created_by":"user","created_at":"t","title":"","uptime_secs":0}`, CrabTalk},
		{"a folder of CrabTalk: a step", `{"agent":"crab","message":{"role":"user","content":"hi"}}`, CrabTalk},
		{"a folder of CrabTalk: a step without an agent", `{"message":{"role":"user","content":"hi"}}`, CrabTalk},
		{"a folder of CrabTalk: an archive", `{"archive_name":"talk-1","archived_at":"t"}`, CrabTalk},
		{"a folder of CrabTalk: an event", `{"event":"tool_start","calls":[],"ts":"t"}`, CrabTalk},
		{"Cersei's bare messages", `{"role":"user","content":"hi"}`, Cersei},
		{"Cersei's bare messages, with blocks", `{"role":"user","content":"hi"}` + "\n" + `{"role":"assistant","content":[{"type":"text","text":"ho"}]}` + "\n" + `{"role":"tool","content":"x"}`, Cersei},
		{"Cersei's bare messages, after a line of no tool", `{"x":1}` + "\n" + `{"role":"assistant","content":"ho","metadata":{}}`, Cersei},
		{"a truncated bare message", `{"role":"user","content":"once upon a ti`, Cersei},
		{"Cersei's summary", `{"type":"summary","uuid":"u","timestamp":"t","session_id":"s","summary":"x","messages_compacted":8}`, Cersei},
		{"Cersei without a session", `{"type":"user","uuid":"u","timestamp":"t","message":{},"is_sidechain":false}`, Cersei},
		{"Claude Code's former title line", `{"type":"summary","summary":"x","leafUuid":"u"}`, ClaudeCode},
		{"claw0 of the first version", `{"type": "session", "id": "x", "key": "main:cli:user", "created": "t"}`, Claw0},
		{"claw0 that lost its first line", `{"type": "tool_use", "name": "f", "tool_use_id": "1", "input": {}, "ts": "t"}`, Claw0},
		{"claw0 of the current version", `{"type": "user", "content": "hi", "ts": 1794710448.99}`, Claw0},
		{"Codex that lost its first line", `{"timestamp":"t","type":"response_item","payload":{}}`, Codex},
		{"Codex of spring 2025", `{"id":"x","timestamp":"t","instructions":null}`, Codex},
		{"after a byte order mark", "\xef\xbb\xbf" + `{"type":"session","id":"x","timestamp":"t","cwd":"/"}`, Pi},
		{"after blank and broken lines", "\n \r\nnot JSON\n" + `{"type":"ses` + "\n" + `{"type":"session","cwd":"/"}`, Pi},
		{"after a line of no tool", `{"type":"mystery"}` + "\n" + `{"type":"session","cwd":"/"}`, Pi},
		{"a truncated first line", `{"timestamp":"t","type":"session_meta","payload":{"base_instructions":"You are`, Codex},
	} {
		got, err := Detect([]byte(test.lines))
		if err != nil || got != test.want {
			t.Errorf("%s: Detect = %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}

// TestDetectWithoutFirstLines removes the first lines from recorded files, one after the
// other: the rest is detected as before or not at all.
func TestDetectWithoutFirstLines(t *testing.T) {
	tried := make(map[Name]bool)
	for _, name := range []Name{Cersei, CrabTalk, Claw0, Codex} {
		files, err := filepath.Glob(filepath.Join(string(name), "testdata", "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			rest, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for n := 0; len(rest) > 0; n++ {
				got, err := Detect(rest[:min(len(rest), 4096)])
				ambiguous := name == CrabTalk && got == Cersei && n > 0 && isBareRest(rest)
				if err == nil && got != name && !ambiguous {
					t.Errorf("%s without %d lines is detected as %s", file, n, got)
				}
				tried[got] = true
				_, rest, _ = bytes.Cut(rest, []byte{'\n'})
			}
		}
		if !tried[name] {
			t.Errorf("no file of %s was detected", name)
		}
	}
}

// isBareRest reports whether the lines are ambiguous between CrabTalk and Cersei.
func isBareRest(lines []byte) bool {
	return !bytes.Contains(lines, []byte(`"tool_call`)) && !bytes.Contains(lines, []byte(`"compact"`)) && !bytes.Contains(lines, []byte(`"event"`)) && !bytes.Contains(lines, []byte(`"reasoning_content"`))
}

func TestDetectNothing(t *testing.T) {
	for _, lines := range []string{
		"", "\n\n", "hello", "[1,2]", `{"type":"mystery"}`, `{"type":"session"}`, `{"name":"x"}`, "CRMEM\x00\x01", `{"type":5,"role":6}`,
		`{"type":"session","cw` + "\n", // truncated, but not by Detect
		string(bytes.Repeat([]byte{0}, 4096)),
	} {
		if got, err := Detect([]byte(lines)); !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("Detect(%.40q) = %q, %v; want ErrUnsupported", lines, got, err)
		}
	}
}

// TestDetectRaw checks that files of tools that are read as records are taken for no
// transcript.
func TestDetectRaw(t *testing.T) {
	for _, text := range []string{
		`{"type":"session.start","data":{"version":1},"id":"a","timestamp":"2026-11-18T00:21:44Z","parentId":null}`,
		`{"type":"user.message","data":{},"id":"b","timestamp":"2026-11-18T00:21:44Z","parentId":"a"}` + "\n" + `{"type":"abort","data":{},"id":"c","timestamp":"2026-11-18T00:21:44Z","parentId":"b"}`,
		`{"role":"session_meta","tools":[],"model":"m","platform":"telegram","timestamp":"t"}` + "\n" + `{"role":"assistant","content":"x","tool_calls":[]}`,
		"SQLite format 3\x00\n" + `{"role":"user","content":[]}` + "\n",
	} {
		if name, err := Detect([]byte(text)); !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("%q is detected as %q, %v", text, name, err)
		}
	}
}
