package webtest

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/wire"
)

// TestImportedSession checks that titles and the outline are plain lines, and that the
// bookkeeping of other programs is hidden until it is asked for.
func TestImportedSession(t *testing.T) {
	srv := plainServer(t)
	s := newScribe("import-notes", longAgo, firn.Header{})
	s.user("<user_query>Fix the **broken** `build`</user_query>")
	s.add(&firn.Custom{Type: "progress", Data: json.RawMessage(`{"n":1}`)})
	note := s.add(&firn.Custom{Type: "progress-two", Data: json.RawMessage(`{"n":2}`)})
	s.says("Fixed.")
	s.title("Fix <b> the \x1b[31m**broken**\x1b[0m build")
	srv.keep(t, s)
	b := srv.login(t)
	b.size(1400, 900)
	b.open("/sessions/import-notes")
	b.see("Fixed.")
	b.wait(`document.querySelector(".session-title h1").textContent === "Fix <b> the broken build"`)
	b.wait(`document.querySelector(".outline-preview")?.textContent === "Fix the broken build"`)
	if get[bool](b, `document.body.innerText.includes("progress")`) {
		t.Error("bookkeeping is shown")
	}
	b.click("button", "Show notes")
	b.see("progress-two")
	b.click("button", "Hide notes")
	b.gone("progress-two")
	// A link to a note shows it.
	b.open("/sessions/import-notes?at=" + string(note))
	b.see("progress-two")
}

// TestImportedModel checks that an imported session shows its own model and window, that none
// of its turns is gray for a window of another model, and that the composer names the model
// of the next answer.
func TestImportedModel(t *testing.T) {
	t.Parallel()
	srv := plainServer(t)
	s := newScribe("import-model", longAgo, firn.Header{})
	for range 30 { // longer than the window of the default agent
		s.user("A question.")
		s.add(&firn.Message{
			Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: strings.Repeat("A long answer. ", 800)}}, StopReason: firn.StopEnd,
			Provider: "elsewhere", Model: "its-own-model", Usage: &firn.Usage{Input: 1000, Output: 10, CacheRead: 300_000, Total: 301_010},
		})
	}
	s.title("Of another model")
	srv.keep(t, s)
	session, err := srv.client.Session(t.Context(), "import-model")
	if err != nil {
		t.Fatal(err)
	}
	if st := session.State; !st.Foreign || st.Model != "its-own-model" || st.Window.Tokens != 301_010 || st.Window.Window != 0 {
		t.Errorf("the state is %+v, want its own model and tokens", st)
	}
	b := srv.login(t)
	b.size(1400, 900)
	b.open("/sessions/import-model")
	b.see("A long answer.")
	b.wait(`document.querySelector(".session-meta").innerText.includes("its-own-model") && !document.querySelector(".session-meta .window-bar")`)
	b.wait(`document.querySelectorAll(".message").length > 10 && !document.querySelector(".message.out")`)
	b.wait(a("button", "/^Model: /") + ` && !` + a("button", "Model: its-own-model"))
}

// imported is a session of Claude Code whose first message starts with a note of the tool.
const imported = `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"SESSION","cwd":"/home/you/src/wal","timestamp":"2026-03-02T09:00:00Z","version":"2.0.1","message":{"role":"user","content":"<system-reminder>A note that a tool added to the message, which is much longer than a title may be at most.</system-reminder><command-name>/review</command-name> the lock"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"SESSION","cwd":"/home/you/src/wal","timestamp":"2026-03-02T09:00:05Z","version":"2.0.1","message":{"id":"m1","type":"message","role":"assistant","model":"claude-haiku-of-another-time","content":[{"type":"text","text":"The lock is fine."}],"stop_reason":"end_turn","usage":{"input_tokens":120000,"output_tokens":10}}}
`

// TestImport imports a session of another tool: it has the mark of the tool, a title without
// tags, and the model and window of its answers, also after a reload.
func TestImport(t *testing.T) {
	t.Parallel()
	srv := plainServer(t)
	id := strings.ToLower(strings.ReplaceAll(unlike("import"), " ", "-"))
	lines := strings.ReplaceAll(imported, "SESSION", id)
	if _, err := srv.client.Transfer.Import(t.Context(), wire.Import{From: "claudecode", ID: firn.ID(id)}, strings.NewReader(lines)); err != nil {
		t.Fatal(err)
	}
	session, err := srv.client.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if st := session.State; !st.Foreign || st.Model != "claude-haiku-of-another-time" || st.Window.Tokens != 120_010 || st.Window.Level != "" {
		t.Errorf("the state is %+v, want the model and the tokens of the answer", st)
	}
	b := srv.login(t)
	b.open("/sessions/" + id)
	b.see("The lock is fine.")
	b.wait(`document.querySelector(".session-title h1").textContent === "/review the lock"`)
	b.wait(`document.querySelector(".session-meta .source-mark").innerText === "Claude Code"`)
	b.wait(`!document.querySelector(".message.out")`)
	b.open("/sessions?text=/review+the+lock")
	b.wait(`document.querySelector(".srow-agent .source-mark[data-tool=claude]")`)
	b.open("/sessions?group=source&text=/review+the+lock")
	b.wait(`document.querySelector(".srow-group")?.innerText === "Claude Code"`)
	b.inBothLights()
}

// TestSidechain shows the conversation of a sub-agent inside the call that started it, each
// of two that run at once inside its own.
func TestSidechain(t *testing.T) {
	t.Parallel()
	srv := plainServer(t)
	s := newScribe("import-sidechain", longAgo, firn.Header{})
	side := func(role, content string) {
		s.add(&firn.Custom{Type: "claudecode:sidechain", Data: json.RawMessage(`{"isSidechain":true,"type":"` + role + `","message":{"role":"` + role + `","content":` + content + `}}`)})
	}
	s.user("Look at both.")
	s.assistant(
		firn.ToolCall{ID: "task-a", Name: "Task", Arguments: json.RawMessage(`{"description":"look at A","prompt":"Please look at A."}`)},
		firn.ToolCall{ID: "task-b", Name: "Task", Arguments: json.RawMessage(`{"description":"look at B","prompt":"Please look at B."}`)},
	)
	side("user", `"Please look at B."`)
	side("assistant", `[{"type":"tool_use","id":"inner","name":"Bash","input":{"command":"cat B"}}]`)
	side("user", `[{"type":"tool_result","tool_use_id":"inner","content":"the inside of B"}]`)
	side("assistant", `[{"type":"text","text":"B is **blue**."}]`)
	side("user", `"Please look at A."`)
	side("assistant", `[{"type":"text","text":"A is **amber**."}]`)
	for _, call := range []string{"task-a", "task-b"} {
		s.add(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: call, Name: "Task", Content: []firn.Part{firn.Text{Text: "Done with " + call + "."}}}}})
	}
	s.says("Both were looked at.")
	srv.keep(t, s)
	b := srv.login(t)
	b.open("/sessions/import-sidechain")
	b.see("Both were looked at.")
	b.gone("from a sub-agent")
	b.click("button", "/2 sub-agents/")
	within := func(task string) string {
		return `[...document.querySelectorAll(".tool-agent")].find((e) => e.innerText.includes("` + task + `"))`
	}
	for task, want := range map[string]string{"look at A": "A is amber.", "look at B": "B is blue."} {
		b.clickOn(within(task) + `.querySelector(".tool-line")`)
		b.clickOn(within(task) + `.querySelector(".chain .fold-line")`)
		b.wait(within(task) + `.innerText.includes("` + want + `")`)
	}
	b.wait(`!` + within("look at A") + `.innerText.includes("B is blue.")`)
	b.clickOn(within("look at B") + `.querySelector(".chain .tool-line")`)
	b.wait(within("look at B") + `.innerText.includes("the inside of B")`)
	b.inBothLights()
}

// TestFootnotes follows a reference to its footnote and back.
func TestFootnotes(t *testing.T) {
	t.Parallel()
	srv := plainServer(t)
	s := newScribe("import-footnotes", longAgo, firn.Header{})
	s.user("With notes, please.")
	s.says("It is so[^1].\n\n" + strings.Repeat("More text.\n\n", 60) + "[^1]: As was seen.")
	srv.keep(t, s)
	b := srv.login(t)
	b.open("/sessions/import-footnotes")
	b.see("As was seen.")
	b.click("button", "Footnote 1")
	b.wait(`document.activeElement === ` + a("button", "Back to the text of footnote 1"))
	b.key("\r")
	b.wait(`document.activeElement === ` + a("button", "Footnote 1"))
	b.inBothLights()
}
