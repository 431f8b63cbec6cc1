package gemini_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/formats/history/gemini"
	"firn.dev/internal/formats/history/historytest"
)

// real is the session that Gemini CLI 0.61.0 wrote to testdata.
const real = `
d62832ea-e6f2-4af9-a301-1101ec4a74af "" in "/w"
  custom gemini:session
  context gemini:context: CONTEXT
  user: "please read note.txt"
  assistant: thinking "Reading\nI will read the file." | "Reading the file." | call read_file__read_file_1794961327224_0 read_file {"file_path":"/w/note.txt"} (google/gemini-2.5-pro toolUse 100+12)
  toolResult: result read_file__read_file_1794961327224_0 read_file "hello glacier\n"
  custom gemini:user
  assistant: "The file says hello glacier." (google/gemini-2.5-pro stop 100+12)
`

func TestReal(t *testing.T) {
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	got := historytest.Run(t, gemini.New(), home)
	before, after, _ := strings.Cut(got, "gemini:context: ")
	_, after, _ = strings.Cut(after, "\n")
	historytest.Equal(t, before+"gemini:context: CONTEXT\n"+after, real)
}

// old is a session as versions before 2026 wrote it, from their source: one object.
const old = `{
  "sessionId": "11111111-2222-4333-8444-555555555555", "projectHash": "ab", "startTime": "2025-11-01T10:00:00.000Z", "lastUpdated": "2025-11-01T10:05:00.000Z", "summary": "An old chat",
  "messages": [
    {"id": "a", "timestamp": "2025-11-01T10:00:00.000Z", "type": "user", "content": "run it"},
    {"id": "b", "timestamp": "2025-11-01T10:00:01.000Z", "type": "gemini", "content": "", "model": "gemini-2.5-pro", "toolCalls": [
      {"id": "c1", "name": "run_shell_command", "args": {"command": "false"}, "status": "error", "result": [{"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"error": "exit 1"}}}]},
      {"id": "c2", "name": "glob", "args": {}, "status": "cancelled"}]},
    {"id": "c", "timestamp": "2025-11-01T10:00:02.000Z", "type": "info", "content": "Request cancelled."},
    {"id": "a", "timestamp": "2025-11-01T10:00:03.000Z", "type": "user", "content": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}, {"hologram": 1}, "and this"]}
  ]
}`

func TestOthers(t *testing.T) {
	home := t.TempDir()
	historytest.Put(t, home, "tmp/p/chats/session-old.json", old)
	historytest.Put(t, home, "tmp/p/chats/11111111-2222-4333-8444-555555555555/sub1.jsonl", `{"sessionId":"sub1","projectHash":"ab","startTime":"2026-01-01T00:00:00Z","kind":"subagent"}
{"id":"x","type":"user","content":"one"}
{"id":"y","type":"gemini","content":"two"}
{"$rewindTo":"y"}
{"id":"z","type":"gemini","content":"three"}
{"$set":{"summary":"A branch","lastUpdated":"2026-01-02T00:00:00Z"}}
[1]
{"id":"cut`)
	historytest.Put(t, home, "tmp/p/chats/session-empty.jsonl", "")
	historytest.Equal(t, historytest.Run(t, gemini.New(), home), `
11111111-2222-4333-8444-555555555555 "An old chat" in ""
  title: "An old chat"
  custom gemini:session
  user: "run it"
  assistant: call c1 run_shell_command {"command":"false"} | call c2 glob {} (google/gemini-2.5-pro toolUse)
  toolResult: failed c1 run_shell_command "exit 1"
  toolResult: failed c2 glob 
  custom gemini:info
  user: image image/png aGk= | opaque gemini | "and this"
session-empty "" in ""
  custom gemini:session
sub1 "A branch" in "" parent 11111111-2222-4333-8444-555555555555 sub
  title: "A branch"
  custom gemini:session
  user: "one"
  assistant: "three" (google/ stop)
  custom gemini:unknown
`)
}

func TestGrowth(t *testing.T) {
	home := t.TempDir()
	text := ""
	var steps []func()
	data, err := os.ReadFile("testdata/tmp/w/chats/session-2026-11-18T00-22-d62832ea.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		for _, part := range []string{line[:len(line)/2], line[len(line)/2:]} {
			steps = append(steps, func() {
				text += part
				historytest.Put(t, home, "tmp/w/chats/session-1.jsonl", text)
			})
		}
	}
	steps[0]() // half a line is not a session yet
	historytest.Growth(t, gemini.New(), home, steps[1:]...)
}

func TestRetention(t *testing.T) {
	for settings, want := range map[string]time.Duration{
		``: 720 * time.Hour, `{}`: 720 * time.Hour, `{"general":{"sessionRetention":{"enabled":false}}}`: 0,
		`{"general":{"sessionRetention":{"enabled":true,"maxAge":"2w"}}}`:  336 * time.Hour,
		`{"general":{"sessionRetention":{"enabled":true,"maxAge":"-1d"}}}`: 720 * time.Hour,
	} {
		home := t.TempDir()
		historytest.Put(t, home, "settings.json", settings)
		if got := gemini.New().Layout().Retention(os.DirFS(home)); got != want {
			t.Errorf("%s: %v, want %v", settings, got, want)
		}
	}
}

func TestDamage(t *testing.T) {
	home := t.TempDir()
	historytest.Put(t, home, "tmp/p/chats/session-good.jsonl", `{"sessionId":"good","projectHash":"ab"}`+"\n")
	historytest.Put(t, home, "tmp/p/chats/session-cut.json", old[:len(old)/2])
	historytest.Put(t, home, "tmp/p/chats/session-other.jsonl", "hello\n")
	if err := os.Symlink(filepath.Join(home, "nowhere"), filepath.Join(home, "tmp/p/chats/session-link.jsonl")); err != nil {
		t.Fatal(err)
	}
	good, faults := 0, 0
	for _, err := range gemini.New().Layout().Transcripts(os.DirFS(home)) {
		if err != nil {
			faults++
		} else {
			good++
		}
	}
	if good != 1 || faults != 3 {
		t.Errorf("%d sessions and %d faults, want 1 and 3", good, faults)
	}
}

func FuzzDecode(f *testing.F) {
	historytest.Fuzz(f, gemini.New(), `{"type":"user","id":"a","content":[{"text":"x"},{"functionResponse":{"id":"c","response":{"output":"y"}}}]}`,
		`{"type":"gemini","id":"b","content":"z","thoughts":[{"subject":"s"}],"toolCalls":[{"id":"c","name":"n","args":{},"result":"r","status":"success"}],"tokens":{"input":1}}`)
}

// FuzzFile reads damaged files.
func FuzzFile(f *testing.F) {
	f.Add([]byte(old), true)
	f.Add([]byte(`{"sessionId":"s","projectHash":"h"}`+"\n"+`{"$set":{"messages":[{"id":"a"},3]}}`+"\n"+`{"$rewindTo":"a"}`), false)
	f.Fuzz(func(t *testing.T, data []byte, object bool) {
		home := t.TempDir()
		name := "tmp/p/chats/session-1.jsonl"
		if object {
			name = "tmp/p/chats/session-1.json"
		}
		historytest.Put(t, home, name, string(data))
		historytest.Describe(t, gemini.New(), home)
	})
}
