package copilot_test

import (
	"os"
	"strings"
	"testing"

	"firn.dev/internal/formats/history/copilot"
	"firn.dev/internal/formats/history/historytest"
)

// real is the session that GitHub Copilot CLI 1.0.102 wrote to testdata; long texts were
// shortened.
const real = `
292f4f0a-91b1-4384-b0f2-281d38fbbffd "please read note.txt" in "/w"
  title: "please read note.txt"
  custom copilot:session.start
  user: "please read note.txt"
  context copilot:context: CONTEXT
  custom copilot:assistant.turn_start
  custom copilot:session.usage_record
  assistant: thinking "I will read it." | "Reading the file." | call call_1 view {"path":"/w/note.txt"} (github-copilot/fake toolUse 100+12)
  custom copilot:tool.execution_start
  toolResult: result call_1 view "hello glacier\n"
  custom copilot:assistant.turn_end
  custom copilot:assistant.turn_start
  custom copilot:session.usage_record
  assistant: "The file says hello glacier." (github-copilot/fake stop 100+12)
  custom copilot:assistant.turn_end
  custom copilot:session.shutdown
`

func TestReal(t *testing.T) {
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	got := historytest.Run(t, copilot.New(), home)
	before, after, _ := strings.Cut(got, "copilot:context: ")
	_, after, _ = strings.Cut(after, "\n")
	historytest.Equal(t, before+"copilot:context: CONTEXT\n"+after, real)
}

// others are events from the published schema.
const others = `{"type":"user.message","id":"1","timestamp":"2026-11-18T00:21:45.110Z","data":{"content":"look","attachments":[{"type":"file","path":"/w/a"}]}}
{"type":"assistant.message","id":"2","data":{"content":"of a sub-agent","parentToolCallId":"c0"}}
{"type":"tool.execution_complete","id":"3","data":{"toolCallId":"c9","success":false,"error":{"message":"denied","code":"x"}}}
{"type":"session.compaction_complete","id":"4","data":{"success":true,"summaryContent":"the summary","preCompactionTokens":9}}
{"type":"session.compaction_complete","id":"5","data":{"success":false}}
{"type":"session.title_changed","id":"5","data":{"title":"Looking"}}
{"type":"future.event","id":"6","data":{"x":1}}
not json
{"type":"user.message","id":"7","da`

func TestOthers(t *testing.T) {
	home := t.TempDir()
	historytest.Put(t, home, "session-state/s1/events.jsonl", others)
	historytest.Put(t, home, "session-state/s1/workspace.yaml", "id: s1\ncwd: /w\nname: 'it''s'\n")
	historytest.Put(t, home, "session-state/s2/events.jsonl", "")
	historytest.Put(t, home, "session-state/s3/workspace.yaml", "id: s3\n")
	historytest.Equal(t, historytest.Run(t, copilot.New(), home), `
s1 "it's" in "/w"
  title: "it's"
  user: "look" | opaque file
  custom copilot:assistant.message
  toolResult: failed c9  "denied"
  compaction: "the summary"
  custom copilot:session.compaction_complete
  title: "Looking"
  custom copilot:future.event
  custom copilot:unknown
s2 "" in ""
`)
}

func TestVersion(t *testing.T) {
	home := t.TempDir()
	historytest.Put(t, home, "session-state/s1/events.jsonl", `{"type":"session.start","data":{"version":2}}`+"\n")
	if text := historytest.Describe(t, copilot.New(), home); !strings.Contains(text, "version is 2") {
		t.Errorf("a newer version: %s", text)
	}
}

func TestGrowth(t *testing.T) {
	home := t.TempDir()
	data, err := os.ReadFile("testdata/session-state/292f4f0a-91b1-4384-b0f2-281d38fbbffd/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var steps []func()
	for cut := 100; cut < len(data); cut += 700 {
		steps = append(steps, func() { historytest.Put(t, home, "session-state/s1/events.jsonl", string(data[:cut])) })
	}
	steps = append(steps, func() { historytest.Put(t, home, "session-state/s1/events.jsonl", string(data)) })
	historytest.Growth(t, copilot.New(), home, steps...)
}

func FuzzDecode(f *testing.F) {
	historytest.Fuzz(f, copilot.New(), others)
}
