package webtest

import (
	"encoding/json"
	"testing"

	"firn.dev"
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
