package cline_test

import (
	"os"
	"strings"
	"testing"

	"firn.dev/internal/formats/history/cline"
	"firn.dev/internal/formats/history/historytest"
)

// real is the session that Cline CLI 3.0.65 wrote to testdata; its system prompt was
// shortened.
const real = `
1794964122832_0kw8q "please read note.txt" in "/w"
  title: "please read note.txt"
  context cline:context: "You are Cline, an AI coding agent. Your primary goal is to a"
  user: "please read note.txt"
  assistant: thinking "I will read it." | "Reading the file." | call call_1 read_files {"files":[{"path":"/w/note.txt"}]} (openai-compatible/fake toolUse 100+12)
  toolResult: result call_1 read_files "1 | hello glacier"
  assistant: "The file says hello glacier." (openai-compatible/fake stop 100+12)
`

func TestReal(t *testing.T) {
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	historytest.Equal(t, historytest.Run(t, cline.New(), home), real)
}

// task is a task of the extensions.
const task = `[
{"role":"user","content":[{"type":"text","text":"<task>\nlook\n</task>"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}],"ts":1767323045000},
{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read_file","input":{"path":"a"}},{"type":"hologram"}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"one"}],"is_error":true},{"type":"text","text":"and go on"}]},
{"role":"user","content":"go on"},
{"role":"user","content":"go on"},
{"role":"assistant","content":7},
{"role":"oracle","content":"x"}
]`

func TestTasks(t *testing.T) {
	home := t.TempDir()
	historytest.Put(t, home, "tasks/1767323045000/api_conversation_history.json", task)
	historytest.Put(t, home, "state/taskHistory.json", `[{"id":"1767323045000","ts":1767323045000,"task":"look\nclosely","cwdOnTaskInitialization":"/w"}]`)
	historytest.Put(t, home, "tasks/roo/api_conversation_history.json", `[]`)
	historytest.Put(t, home, "tasks/roo/history_item.json", `{"id":"roo","task":"Roo's","workspace":"/r"}`)
	historytest.Equal(t, historytest.Run(t, cline.New(), home), `
1767323045000 "look" in "/w"
  title: "look"
  user: "<task>\nlook\n</task>" | image image/png aGk=
  assistant: call c1 read_file {"path":"a"} | opaque hologram (/ toolUse)
  toolResult: failed c1 read_file "one"
  user: "and go on"
  user: "go on"
  user: "go on"
  custom cline:message
  custom cline:message
roo "Roo's" in "/r"
  title: "Roo's"
`)
}

func TestDamage(t *testing.T) {
	home := t.TempDir()
	historytest.Put(t, home, "tasks/cut/api_conversation_history.json", task[:100])
	historytest.Put(t, home, "tasks/good/api_conversation_history.json", `[{"role":"user","content":"hi"}]`)
	historytest.Put(t, home, "sessions/new/new.messages.json", `{"version":2,"messages":[]}`)
	got := historytest.Describe(t, cline.New(), home)
	for _, part := range []string{"not valid JSON", "version is 2", `user: "hi"`} {
		if !strings.Contains(got, part) {
			t.Errorf("missing %q in:\n%s", part, got)
		}
	}
}

func TestGrowth(t *testing.T) {
	home := t.TempDir()
	lines := strings.Split(strings.TrimSuffix(task, "\n]"), ",\n")
	var steps []func()
	for n := range lines {
		steps = append(steps, func() {
			historytest.Put(t, home, "tasks/t/api_conversation_history.json", strings.Join(lines[:n+1], ",\n")+"]")
		})
	}
	historytest.Growth(t, cline.New(), home, steps...)
}

func FuzzDecode(f *testing.F) {
	historytest.Fuzz(f, cline.New(), `{"type":"message","id":"","data":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"result":"x"}]},{"type":"text","text":"<user_input mode=\"act\">y</user_input>"}]}}`,
		`{"type":"system","id":"system","text":"z"}`)
}
