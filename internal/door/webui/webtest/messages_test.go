package webtest

import (
	"testing"

	"firn.dev"
)

// actOn clicks a button of the entry that contains a text.
func (b *tab) actOn(text, name string) {
	b.t.Helper()
	b.wait(entry(text))
	b.settled()
	b.clickOn(entry(text) + `?.querySelector("button[aria-label=` + name + `]")`)
}

// TestBranches edits the first message, walks between the branches with the arrows, and
// continues the other branch. Banner, composer and outline belong to the branch that is shown.
func TestBranches(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	id := s.newSessionFor(t, "player", unlike("Branching"), "The first question.", "The second question.")
	b := s.login(t)
	b.size(1400, 900)
	b.open(toSession(id))
	b.actOn("The first question.", "'Edit message'")
	b.hasText("The first question.")
	b.gone("The second question.")
	b.fill("textbox", "Message", "Another question.")
	b.key("\r")
	b.once("At once.")
	b.see("2/2")
	b.settled()
	b.inBothLights()

	b.click("button", "Previous branch")
	b.wait(entry("The second question."))
	b.see("1/2")
	b.see("This is another branch.")
	b.wait(composer + `.placeholder === "Continue on this branch…"`)
	b.wait(`webtest.find("aside")?.innerText.includes("The second question.") && !webtest.find("aside").innerText.includes("Another question.")`)
	b.settled()
	b.inBothLights()
	b.send("The third question.")
	b.wait(entry("The third question."))
	b.gone("This is another branch.")
	b.see("1/2")
	b.wait(entry("The second question."))
	b.wait(`webtest.find("aside")?.innerText.includes("The third question.")`)
	b.click("button", "Next branch")
	b.wait(entry("Another question."))
	b.see("This is another branch.")
}

// TestRetry answers a message again, with the same and with another model, and copies it.
func TestRetry(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", unlike("Retrying"))))
	b.send("Please play again.")
	p := world.model.plays(t, "again")
	p.text("The *first* answer.")
	p.end()
	b.actOn("The first answer.", "'Retry this answer'")
	p = world.model.plays(t, "again")
	p.text("The second answer.")
	p.end()
	b.once("The second answer.")
	b.gone("The first answer.")
	b.see("2/2")
	b.menuOf("The second answer.", "Retry with another model…")
	b.wait(a("option", "/^play.quick/"))
	b.insert("quick")
	b.wait(`webtest.all("option").length === 1`)
	b.key("\r")
	p = world.model.plays(t, "again")
	p.text("The third answer.")
	p.end()
	b.once("The third answer.")
	b.see("3/3")
	b.once("Please play again.")

	b.click("button", "Previous branch")
	b.wait(entry("The second answer."))
	b.click("button", "Previous branch")
	get[bool](b, `(navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve() }, true)`)
	b.actOn("The first answer.", "'Copy message'")
	b.wait(`window.copied === "The *first* answer."`)

	b.menuOf("Please play again.", "Pin")
	b.see("Labeled “pin”")
	b.menuOf("Please play again.", "Unpin")
	b.see("Label removed")
}

// TestFailedAnswerCanBeRetried checks that an answer that is only an error has the button for
// another one.
func TestFailedAnswerCanBeRetried(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	w := newScribe("failed-answer", longAgo, firn.Header{})
	w.user("A question.")
	w.add(&firn.Message{Role: firn.RoleAssistant, Provider: "anthropic", Model: "claude-sonnet-4-5", StopReason: firn.StopError, Error: "overloaded"})
	s.keep(t, w)
	b := s.login(t)
	b.open("/sessions/failed-answer")
	b.see("overloaded")
	b.click("button", "Retry this answer")
	b.wait(`document.querySelectorAll(".message.assistant .prose").length > 0`)
}
