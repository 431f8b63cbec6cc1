package convert_test

import (
	"strings"
	"testing"

	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
)

// TestSectionsOfASystemPrompt checks that a system prompt that pi stores in sections is
// text in other tools, and that an empty one is omitted.
func TestSectionsOfASystemPrompt(t *testing.T) {
	const head = `{"type":"session","version":3,"id":"s","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w"}` + "\n"
	const content = `{"type":"message","id":"u","parentId":"y","timestamp":"2026-11-15T02:40:16.042Z","message":{"role":"user","content":"hi","timestamp":2}}` + "\n"
	system := func(rest string) string {
		return head + `{"type":"message","id":"y","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"system","content":""` + rest + `,"timestamp":1}}` + "\n" + content
	}
	pi, _ := dialects.Find(string(dialect.Pi))
	for _, name := range []dialect.Name{dialect.Codex, dialect.ClaudeCode, dialect.CrabTalk, dialect.Claw0, dialect.Cersei} {
		to, _ := dialects.Find(string(name))
		out, _ := write(t, from(pi, "s.jsonl", []byte(system(`,"sections":{"role":"You are kind.","style":"Be brief."}`))), to)
		if text := string(out); !strings.Contains(text, "You are kind.") || !strings.Contains(text, "Be brief.") {
			t.Errorf("%s does not receive the prompt:\n%s", name, out)
		}
	}
	codex, _ := dialects.Find(string(dialect.Codex))
	out, _ := write(t, from(pi, "s.jsonl", []byte(system(`,"toolsAdded":[]`))), codex)
	if strings.Contains(string(out), "developer") {
		t.Errorf("Codex receives an empty prompt:\n%s", out)
	}
}

// TestContextOfTheTool checks that Codex's context of permissions and environment is not
// written for another tool, and reported. User messages and commands are written.
func TestContextOfTheTool(t *testing.T) {
	item := func(role, text string) string {
		return `{"timestamp":"2026-01-01T00:00:01.000Z","type":"response_item","payload":{"type":"message","role":"` + role + `","content":[{"type":"input_text","text":"` + text + `"}]}}` + "\n"
	}
	text := `{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"01a1e121-bc52-7613-ad59-b80dc54c94a9","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}}` + "\n" +
		item("developer", `<permissions instructions>You may not write.</permissions instructions>`) +
		item("developer", `Speak like a pirate.`) +
		item("user", `<environment_context>a shell</environment_context>`) +
		item("user", `<user_shell_command>ls</user_shell_command>`) + item("user", "hello")
	codex, _ := dialects.Find(string(dialect.Codex))
	for _, to := range dialects.Others() {
		if to.Name() == dialect.Codex {
			continue
		}
		out, report := write(t, from(codex, "s.jsonl", []byte(text)), to)
		for _, gone := range []string{"You may not write", "a shell"} {
			if strings.Contains(string(out), gone) {
				t.Errorf("%s receives %q:\n%s", to.Name(), gone, out)
			}
		}
		for _, kept := range []string{"pirate", "user_shell_command", "hello"} {
			if !strings.Contains(string(out), kept) {
				t.Errorf("%s does not receive %q:\n%s", to.Name(), kept, out)
			}
		}
		if report.Losses["context of the tool"] != 2 {
			t.Errorf("to %s: the losses are %v", to.Name(), report.Losses)
		}
	}
	kept, _ := write(t, from(codex, "s.jsonl", []byte(text)), dialects.All()[0])
	if back, _ := write(t, from(dialects.All()[0], "s.jsonl", kept), codex); string(back) != text {
		t.Errorf("it is read back as\n%s\nwant\n%s", back, text)
	}
}
