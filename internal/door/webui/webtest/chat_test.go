package webtest

import (
	"fmt"
	"strings"
	"testing"

	"firn.dev"
)

// entry returns an expression for the log entry that contains a text.
func entry(text string) string {
	return fmt.Sprintf(`webtest.all("article").find((el) => el.innerText.includes(%s))`, quote(text))
}

// menuOf opens the menu of an entry and selects an item.
func (b *tab) menuOf(text, item string) {
	b.t.Helper()
	b.wait(entry(text))
	b.settled() // a menu closes when its element moves
	b.clickOn(entry(text) + `?.querySelector("button[aria-haspopup=menu]")`)
	b.click("menuitem", item)
}

// once waits until a text occurs exactly once in the log.
func (b *tab) once(text string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`webtest.times(%s) === 1`, quote(text)))
}

// send writes and sends a message.
func (b *tab) send(text string) {
	b.t.Helper()
	b.fill("textbox", "Message", text)
	b.key("\r")
	b.wait(a("textbox", "Message") + `.value === ""`)
}

func toSession(id firn.ID) string { return "/sessions/" + string(id) }

// TestTalk sends a message and watches the answer arrive word by word.
func TestTalk(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", "Talking")))
	b.send("Please play talk for me.")
	b.once("Please play talk for me.")
	b.wait(`document.activeElement === ` + a("textbox", "Message"))

	p := world.model.plays(t, "talk")
	b.wait(`webtest.all("article").length >= 2`)
	b.resetShifts()
	p.thinking("I wonder about it.")
	b.click("button", "/^Thinking/")
	b.see("I wonder about it.")
	b.resetShifts()
	for _, piece := range []string{"First ", "come ", "**bold** ", "words, "} {
		p.text(piece)
		b.once(strings.Trim(piece, "* "))
	}
	p.text("then code:\n\n```go\nfunc main() {}\n```\n\nand ")
	b.wait(`webtest.find("pre")?.innerText.includes("func main")`)
	p.text("an end.")
	b.once("and an end.")
	b.wait(`!webtest.text().includes("**")`)
	p.end()
	b.wait(a("button", "Send"))
	b.once("First come bold words, then code:")
	b.once("and an end.")
	b.once("Please play talk for me.")
	b.stoodStill()
}

// resetShifts discards earlier layout shifts: from here on nothing may jump.
func (b *tab) resetShifts() {
	b.t.Helper()
	b.frames()
	get[int](b, `webtest.seen.shifts.length = 0`)
}

// stoodStill fails if there were layout shifts since resetShifts.
func (b *tab) stoodStill() {
	b.t.Helper()
	b.frames()
	if sum := get[float64](b, `webtest.seen.shifts.reduce((sum, s) => sum + s.value, 0)`); sum >= 0.05 {
		b.t.Errorf("the page jumped by %.3f: %s", sum, get[string](b, `JSON.stringify(webtest.seen.shifts)`))
	}
}

// TestReload reloads the page during an answer: nothing is missing or duplicated.
func TestReload(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", "Reloading")))
	b.send("Please play reload now.")
	p := world.model.plays(t, "reload")
	p.thinking("Thinking aloud. ")
	p.text("One two ")
	b.once("One two")
	b.reload()
	b.once("One two")
	b.once("Please play reload now.")
	p.text("three ")
	b.once("One two three")

	other := b.beside(t)
	other.open(get[string](b, "location.pathname"))
	other.once("One two three")
	b.reload()
	p.text("four.\n\nFive ")
	for _, tab := range []*tab{b, other} {
		tab.once("One two three four.")
		tab.once("Five")
	}
	b.reload()
	p.text("six.")
	p.end()
	for _, tab := range []*tab{b, other} {
		tab.wait(a("button", "Send"))
		for _, text := range []string{"Please play reload now.", "One two three four.", "Five six."} {
			tab.once(text)
		}
	}
}

// TestTools watches a running tool, unfolds its result, and finds it again after a reload.
func TestTools(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", "Tools")))
	b.send("Please play tools.")
	p := world.model.plays(t, "tools")
	p.text("I count.")
	p.call("call_1", "calc", `{"expression":"6*7"}`)
	p = world.model.plays(t, "tools")
	b.click("button", "/^calc/")
	b.see("6*7")
	b.wait(`webtest.all("button", /^calc/).length === 1`)
	b.wait(`webtest.text().includes("42")`)
	p.text("It is forty-two.")
	p.end()
	b.once("It is forty-two.")
	b.wait(a("button", "Send"))
	b.reload()
	b.once("I count.")
	b.once("It is forty-two.")
	b.click("button", "/^calc/")
	b.wait(`webtest.text().includes("42")`)
}

// TestStop stops a turn with queued messages.
func TestStop(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	id := s.newSessionFor(t, "player", "Stopping")
	b.open(toSession(id))
	b.send("Please play stop.")
	p := world.model.plays(t, "stop")
	p.text("I go on and on ")
	b.once("I go on and on")
	b.click("button", "Stop")
	p.stopped(t)
	b.wait(a("button", "Send"))
	b.once("I go on and on")
	b.send("Please play stopped.")
	p = world.model.plays(t, "stopped")
	p.text("Here again.")
	b.once("Here again.")
	b.wait(a("button", "Copy as CLI: firn stop "+string(id)))
	if output := s.run(t, "stop", string(id)); !strings.Contains(output, "the partial answer is kept") {
		t.Errorf("the command printed %q", output)
	}
	p.stopped(t)
	b.wait(a("button", "Send"))
	b.once("Here again.")
}

// TestQueue sends a message during an answer: it is queued and then answered.
func TestQueue(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", "Queueing")))
	b.send("Please play queue.")
	p := world.model.plays(t, "queue")
	p.text("Slowly ")
	b.once("Slowly")
	b.send("And play queued then.")
	b.wait(`webtest.text().includes("And play queued then.")`)
	p.text("done.")
	p.end()
	p = world.model.plays(t, "queued")
	p.text("That too.")
	p.end()
	b.once("Slowly done.")
	b.once("That too.")
	b.once("And play queued then.")
}

// TestTwoTabs opens one session in two tabs.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	first := s.login(t)
	id := s.newSessionFor(t, "player", "Two tabs")
	first.open(toSession(id))
	second := first.beside(t)
	second.open(toSession(id))
	second.wait(a("textbox", "Message"))
	first.send("Please play both.")
	p := world.model.plays(t, "both")
	p.text("To both ")
	first.once("To both")
	second.once("To both")
	p.text("of you.")
	p.end()
	second.once("To both of you.")
	second.send("Please play second.")
	p = world.model.plays(t, "second")
	p.text("Answered.")
	p.end()
	for _, b := range []*tab{first, second} {
		b.once("Please play both.")
		b.once("To both of you.")
		b.once("Please play second.")
		b.once("Answered.")
	}
	s.run(t, "rename", string(id), "Renamed meanwhile")
	first.wait(a("heading", "Renamed meanwhile"))
	second.wait(a("heading", "Renamed meanwhile"))
}

// TestFailure checks the error shown when the model does not answer, and retries.
func TestFailure(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", "Failing")))
	b.send("Please play failure.")
	p := world.model.plays(t, "failure")
	p.send(`data: {"error":{"message":"the model is out of breath","type":"invalid_request_error","code":400}}` + "\n\n")
	close(p.say)
	b.click("button", "Retry")
	p = world.model.plays(t, "failure")
	p.text("Now it works.")
	p.end()
	b.once("Now it works.")
	b.once("Please play failure.")
}
