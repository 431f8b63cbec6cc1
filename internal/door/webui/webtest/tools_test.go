package webtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
)

// use adds a call and its result, which may be an error, without text or thinking. As in
// other programs, the result does not name its tool.
func (s *transcriptWriter) use(tool, arguments, result string, failed bool, details string) {
	s.calls++
	id := fmt.Sprintf("call_%06d", s.calls)
	s.assistant(firn.ToolCall{ID: id, Name: tool, Arguments: json.RawMessage(arguments)})
	r := firn.ToolResult{CallID: id, IsError: failed, Content: []firn.Part{firn.Text{Text: result}}}
	if details != "" {
		r.Details = json.RawMessage(details)
	}
	s.add(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r}})
}

// TestWellKnownTools checks the forms of well-known tools on the page of a
// session.
func TestWellKnownTools(t *testing.T) {
	srv := plainServer(t)
	s := newScribe("tool-forms", longAgo, firn.Header{})
	s.user("Change it.")
	s.use("Edit", `{"file_path":"src/a.go","old_string":"limit := 10 // ok","new_string":"limit := 20 // ok"}`, "done", false, "")
	s.says("Then run it.")
	s.use("Bash", `{"command":"go test ./..."}`, "\x1b[32mok\x1b[0m  a\n\x1b[31mFAIL\x1b[0m b\n[exit code 1]", true, `{"exitCode":1,"millis":2500}`)
	s.says("Then plan.")
	s.use("TodoWrite", `{"todos":[{"content":"first","status":"completed"},{"content":"second","status":"pending"}]}`, "ok", false, "")
	s.says("Something else.")
	s.use("mystery", `{"a":{"b":[1,2]}}`, "fine", false, "")
	s.says("Done.")
	srv.keep(t, s)
	b := srv.login(t)
	b.open("/sessions/tool-forms")
	b.see("Done.")
	// An edit is open: a diff with the changed word marked.
	if got := await[string](b, `[...document.querySelectorAll(".tool-edit .diff mark")].map(e => e.textContent).join()`); got != "10,20" {
		t.Errorf("marked words: %q", got)
	}
	if got := get[string](b, `document.querySelector(".tool-edit .tool-side").innerText.replace(/\s+/g, " ")`); !strings.Contains(got, "+1 −1") {
		t.Errorf("the line of the edit has %q", got)
	}
	if got := get[string](b, `getComputedStyle(document.querySelector(".tool-edit ins")).backgroundColor`); got == "rgba(0, 0, 0, 0)" {
		t.Error("added lines have no color")
	}
	// A command is closed; it has its exit code and time, and colors when opened.
	if got := get[string](b, `document.querySelector(".tool-shell .tool-side").innerText.replace(/\s+/g, " ")`); !strings.Contains(got, "exit 1") || !strings.Contains(got, "2.5 s") {
		t.Errorf("the line of the command has %q", got)
	}
	b.clickOn(`document.querySelector(".tool-shell .tool-line")`)
	if got := await[string](b, `[...document.querySelectorAll(".tool-shell .term span[class^=tf]")].map(e => e.textContent).join()`); got != "ok,FAIL" {
		t.Errorf("colored text: %q", got)
	}
	if got := get[string](b, `document.querySelector(".tool-shell .command").textContent`); got != "$ go test ./..." {
		t.Errorf("the command is %q", got)
	}
	if got := get[string](b, `[...document.querySelectorAll(".tool-todo .todos li")].map(e => e.textContent).join()`); got != "☑ first,☐ second" {
		t.Errorf("the checklist is %q", got)
	}
	// The time of a call without a measured one is that between the entries.
	if got := get[string](b, `document.querySelector(".tool-todo .tool-side").innerText`); !strings.Contains(got, "1.0 s") {
		t.Errorf("the checklist took %q", got)
	}
	// JSON is folded.
	if get[bool](b, `!!document.querySelector(".language-json")`) {
		t.Error("unknown arguments are open")
	}
}

// TestCallsFold checks that consecutive calls are one line with counts, that errors stay
// visible, and that a link to one of them opens it.
func TestCallsFold(t *testing.T) {
	srv := plainServer(t)
	s := newScribe("tool-fold", longAgo, firn.Header{})
	s.user("Look around.")
	for i := range 3 {
		s.use("read_file", fmt.Sprintf(`{"path":"f%d.go"}`, i), "package f", false, "")
	}
	s.use("edit_file", `{"path":"a","edits":[{"old_text":"a","new_text":"b"}]}`, "no such text", true, "")
	s.use("edit_file", `{"path":"a","edits":[{"old_text":"a","new_text":"b"}]}`, "done", false, "")
	last := s.head
	s.says("Seen.")
	srv.keep(t, s)
	b := srv.login(t)
	b.open("/sessions/tool-fold")
	b.see("Seen.")
	if got := await[string](b, `document.querySelector(".group-line .tool-name").textContent`); got != "3 reads, 2 edits" {
		t.Errorf("the calls are %q", got)
	}
	const lines = `[...document.querySelectorAll(".tool-group .tool:not(.group-line) .tool-preview")].length`
	if got := get[int](b, lines); got != 1 {
		t.Errorf("%d calls are visible, want the failed one", got)
	}
	if got := get[string](b, `document.querySelector(".tool-group .tool .tool-side").innerText`); !strings.Contains(got, "failed") {
		t.Errorf("the visible call is %q", got)
	}
	b.clickOn(`document.querySelector(".group-line")`)
	b.wait(lines + " === 5")
	b.open("/sessions/tool-fold?at=" + string(last))
	b.wait(lines + " === 5")
	b.wait(`!!document.querySelector(".tool-group .message.here")`)
}

// TestHostileTools checks that the forms of tools never become markup, and that huge calls
// stay usable.
func TestHostileTools(t *testing.T) {
	srv := plainServer(t)
	s := newScribe("tool-hostile", longAgo, firn.Header{})
	s.user("Attack.")
	evil, _ := json.Marshal(marker + "\x1b[31;99999mx\u202e\n" + marker) // cannot fail
	huge, _ := json.Marshal(strings.Repeat("x y z\n", 100_000))
	for _, name := range []string{"Edit", "Write", "Read", "Bash", "Grep", "TodoWrite", "Task", "WebFetch", "apply_patch"} {
		args := fmt.Sprintf(`{"file_path":%[1]s,"content":%[1]s,"old_string":%[1]s,"new_string":%[2]s,"command":%[1]s,"pattern":%[1]s,"prompt":%[1]s,"url":%[1]s,"todos":[{"content":%[1]s}]}`, evil, huge)
		s.use(name, args, marker+"\x1b[", name == "Read", `{"exitCode":"`+"x"+`"}`)
		s.says("Next.")
	}
	s.says("The end of the attack.")
	srv.keep(t, s)
	b := srv.login(t)
	b.open("/sessions/tool-hostile")
	b.see("The end of the attack.")
	b.do()
	get[int](b, `(() => { const l = [...document.querySelectorAll(".tool-line[aria-expanded=false]")]; l.forEach(e => e.click()); return l.length })()`)
	b.wait(`document.querySelectorAll(".tool-line[aria-expanded=true]").length === 9`)
	if n := get[int](b, `document.querySelectorAll(".log-column :is(img, script, style, iframe, [onerror])").length`); n != 0 {
		t.Errorf("%d hostile elements", n)
	}
	if n := get[int](b, `document.querySelectorAll("*").length`); n > 6000 {
		t.Errorf("%d elements", n)
	}
}
