package webtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/wire"
)

const composer = `document.querySelector(".composer-text")`

// hasText waits until the composer has the focus and a text.
func (b *tab) hasText(text string) {
	b.t.Helper()
	b.wait(`document.activeElement === ` + composer + ` && ` + composer + `.value === ` + quote(text))
}

// TestComposerFocus types into a new session before its page is there: nothing is lost, and
// no letter is taken for a shortcut.
func TestComposerFocus(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open("/sessions")
	b.settled()
	b.key("ngs l?o")
	b.wait(`location.pathname.startsWith("/sessions/")`)
	b.hasText("gs l?o")
	b.settled()
	b.key(" and more")
	b.hasText("gs l?o and more")
	b.inBothLights()

	// A session with messages keeps its shortcuts, even those pressed while it loads.
	id := s.newSession(t, unlike("With messages"), "A first question.")
	b.open(toSession(id))
	b.key("c")
	b.hasText("")
}

// TestPickers chooses the agent and the model of a session, also one that a local server
// offers.
func TestPickers(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	id := s.newSession(t, unlike("Choosing"))
	b.open(toSession(id))
	b.click("button", "/^Model: /")
	b.wait(a("dialog", "Choose a model"))
	b.wait(a("option", "/^play.quick local/"))
	b.inBothLights()
	b.insert("quick")
	b.wait(`webtest.all("option").length === 1`)
	b.key("\r")
	b.wait(a("button", "/^Model: quick/"))
	b.send("A question for the quick one.")
	b.once("At once.")
	session, err := s.client.Session(t.Context(), string(id))
	if err != nil || session.State.Model != "quick" {
		t.Errorf("the model is %+v (%v), want quick", session.State, err)
	}

	b.click("button", "Agent: main")
	b.click("menuitem", "/^player/")
	b.wait(a("button", "Agent: player"))
	b.send("Please play picked.")
	p := world.model.plays(t, "picked")
	p.text("The player answers.")
	p.end()
	b.once("The player answers.")
}

// TestSlash runs slash commands, and sends a message with a leading slash.
func TestSlash(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", unlike("Slashes"))))
	b.hasText("")
	b.key("/")
	b.wait(a("option", "/^.rename TITLE/"))
	b.inBothLights()
	b.key("ren\t")
	b.hasText("/rename ")
	name := unlike("Renamed by a slash")
	b.insert(name)
	b.key("\r")
	b.wait(a("heading", name))
	b.hasText("")
	b.insert("/nope")
	b.key("\r")
	b.see("unknown command /nope")
	b.hasText("/nope")
	b.fill("textbox", "Message", "//etc is a directory")
	b.key("\r")
	b.wait(entry("/etc is a directory"))
	b.gone("//etc")
	b.once("At once.")
	b.insert("/win")
	b.key("\r")
	b.wait(`location.pathname.endsWith("/window")`)
	// The header and the tab show the same share of the window.
	b.wait(`document.querySelector(".window-sum b")?.innerText === document.querySelector(".session-head .window-bar .num")?.innerText`)
}

// TestAttach attaches an image by the button.
func TestAttach(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", unlike("Attaching"))))
	b.hasText("")
	get[bool](b, `(document.querySelector("input[type=file]").addEventListener("click", (e) => { e.preventDefault(); window.asked = true }), true)`)
	b.click("button", "Attach images")
	b.wait(`window.asked`)
	get[bool](b, `(() => { const d = new DataTransfer(); d.items.add(new File([Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (c) => c.charCodeAt(0))], "dot.png", { type: "image/png" })); const i = document.querySelector("input[type=file]"); i.files = d.files; i.dispatchEvent(new Event("change", { bubbles: true })); return true })()`)
	b.wait(a("button", "/^Remove dot.png/"))
	b.inBothLights()
	b.send("Please play seen.")
	p := world.model.plays(t, "seen")
	if !strings.Contains(string(p.asked), "iVBORw0KGgo") {
		t.Error("the model does not get the image")
	}
	p.text("A dot.")
	p.end()
	b.once("A dot.")
}

// TestEscapeStops stops a turn with Escape, from the composer and from the log.
func TestEscapeStops(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", unlike("Escaping"))))
	b.send("Please play escape.")
	p := world.model.plays(t, "escape")
	p.text("On and on ")
	b.once("On and on")
	b.key("\x1b")
	p.stopped(t)
	b.wait(a("button", "Send"))
	b.send("Please play escaped.")
	p = world.model.plays(t, "escaped")
	p.text("Again and again ")
	b.once("Again and again")
	b.clickOn(entry("Please play escaped."))
	b.wait(`document.activeElement !== ` + composer)
	b.key("\x1b")
	p.stopped(t)
	b.wait(a("button", "Send"))
}

// queueServer is a gateway that queues messages instead of adding them to the running turn.
func queueServer(t *testing.T) *server {
	t.Helper()
	s, err := serveWith(func(home string) error {
		f, err := os.OpenFile(filepath.Join(home, "firn.toml"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString("\n[session.queue]\nmode = \"followup\"\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// TestQueueChanges reorders, edits and removes queued messages.
func TestQueueChanges(t *testing.T) {
	t.Parallel()
	s := queueServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", unlike("Queueing"))))
	b.send("Please play busy.")
	p := world.model.plays(t, "busy")
	p.text("Slowly ")
	b.once("Slowly")
	queue := func(want string) {
		t.Helper()
		b.wait(`[...document.querySelectorAll(".composer-queue .one-line")].map((e) => e.innerText).join() === ` + quote(want))
	}
	for _, text := range []string{"play qa", "play qb", "play qc"} {
		b.send(text)
	}
	queue("play qa,play qb,play qc")
	b.inBothLights()
	b.click("button", "Move up: play qb")
	queue("play qb,play qa,play qc")
	b.click("button", "Remove: play qa")
	queue("play qb,play qc")
	b.click("button", "Edit: play qb")
	queue("play qc")
	b.hasText("play qb")
	b.insert(" now")
	b.key("\r")
	queue("play qc,play qb now")
	b.reload()
	queue("play qc,play qb now")
	p.end()
	for _, name := range []string{"qc", "qb"} {
		p = world.model.plays(t, name)
		p.text("Answer " + name)
		p.end()
		b.once("Answer " + name)
	}
	b.gone("play qa")
}

// TestStopKeepsQueue stops a turn with queued messages: their texts return to the composer.
func TestStopKeepsQueue(t *testing.T) {
	t.Parallel()
	s := queueServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", unlike("Stopping"))))
	b.send("Please play stopping.")
	p := world.model.plays(t, "stopping")
	p.text("Slowly ")
	b.once("Slowly")
	b.send("First queued.")
	b.send("Second queued.")
	b.wait(`document.querySelectorAll(".composer-queue li").length === 2`)
	b.insert("A draft.")
	b.key("\x1b")
	p.stopped(t)
	b.hasText("First queued.\n\nSecond queued.\n\nA draft.")
	b.see("Stopped. 2 queued messages are back in the message box.")
	b.wait(`!document.querySelector(".composer-queue")`)
	b.inBothLights()
	b.reload() // the draft survives
	b.wait(composer + `.value === "First queued.\n\nSecond queued.\n\nA draft."`)
}

// TestStopOthers stops a turn with a queued message of another sender: only the user's own
// message returns to the message box.
func TestStopOthers(t *testing.T) {
	t.Parallel()
	s := queueServer(t)
	b := s.login(t)
	id := s.newSessionFor(t, "player", unlike("Stopping others"))
	b.open(toSession(id))
	b.send("Please play stopping-others.")
	p := world.model.plays(t, "stopping-others")
	p.text("Slowly ")
	b.once("Slowly")
	b.send("Of mine.")
	b.wait(`document.querySelectorAll(".composer-queue li").length === 1`)
	wait := false
	if _, err := s.client.Turn(t.Context(), id, wire.Turn{Text: "Of Bob.", Sender: "Bob", Wait: &wait}); err != nil {
		t.Fatal(err)
	}
	b.wait(`document.querySelectorAll(".composer-queue li").length === 2`)
	b.click("button", "/^Stop/")
	p.stopped(t)
	b.see("Stopped. 1 queued message is back in the message box. 1 message of others was removed from the queue.")
	b.hasText("Of mine.")
}

// TestMessageIDs fails to send a message, and sends the same text in another session: it is
// another message, and both are answered.
func TestMessageIDs(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	first, second := s.newSessionFor(t, "player", unlike("First")), s.newSessionFor(t, "player", unlike("Second"))
	b.open(toSession(first))
	b.hasText("")
	// Records the keys of messages. The first response is lost on its way.
	get[bool](b, `(() => { window.keys = []; const real = fetch; window.fetch = async (url, o) => { const key = o?.headers?.["Idempotency-Key"]; if (!key) return real(url, o); keys.push(key); const reply = await real(url, o); if (keys.length === 1) throw new TypeError("lost"); return reply }; return true })()`)
	b.insert("The same words.")
	b.key("\r")
	b.see("the gateway does not answer")
	b.hasText("The same words.")
	get[bool](b, `(history.pushState({}, "", `+quote(toSession(second))+`), dispatchEvent(new PopStateEvent("popstate")), true)`)
	b.wait(composer + `?.value === ""`)
	b.fill("textbox", "Message", "The same words.")
	b.key("\r")
	b.once("At once.")
	b.wait(`keys.length === 2 && keys[0] !== keys[1]`)
}

// TestComposerFitsItsText checks that the box has no scroll bar of its own after the window, and
// with it the text, has another size.
func TestComposerFitsItsText(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	id := s.newSession(t, "composer fits", "Hello.")
	b := s.login(t)
	b.open(toSession(id))
	b.wait(a("textbox", "Message"))
	for _, screen := range [][2]int64{{390, 844}, {3840, 2160}, {1280, 800}} {
		b.size(screen[0], screen[1])
		b.wait(`((el) => el.scrollHeight <= el.clientHeight)(` + a("textbox", "Message") + `)`)
	}
}
