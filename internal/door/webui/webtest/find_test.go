package webtest

import (
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/wire"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestFind finds words in the whole of a session, of which only the end is loaded, goes to
// its start, and back to where it was.
func TestFind(t *testing.T) {
	t.Parallel()
	id := firn.ID("find-in-me")
	s, err := serveWith(func(home string) error {
		w := newScribe(id, longAgo, firn.Header{})
		for n := range 400 {
			w.user(fmt.Sprintf("Question %d.", n))
			if n == 7 {
				w.says("Here is the **vermilion** gherkin.")
			} else {
				w.says(fmt.Sprintf("Answer %d.", n))
			}
		}
		w.title("To be searched")
		return w.keep(home)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	for { // the index is updated asynchronously
		found, err := s.client.Search(t.Context(), wire.SearchQuery{Query: "vermilion"})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Items) > 0 {
			break
		}
	}
	inView := func(text string) string {
		return `(() => { const r = ` + entry(text) + `?.getBoundingClientRect(); return r && r.bottom > 0 && r.top < innerHeight })()`
	}
	b := s.login(t)
	b.size(1400, 900)
	b.open(toSession(id))
	b.wait(inView("Answer 399."))
	b.wait(`!webtest.text().includes("vermilion")`)
	b.key("f", chromedp.ModifierCtrl)
	b.wait(`document.activeElement === ` + a("textbox", "Find in this session"))
	b.insert("vermilion")
	b.see("1 of 1")
	b.wait(inView("vermilion gherkin"))
	b.see("1 hit")
	b.settled()
	b.inBothLights()
	b.key("\x1b")
	b.wait(`!` + a("textbox", "Find in this session"))
	b.gone("1 hit")

	b.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	b.key(kb.Home)
	b.wait(inView("Question 0."))
	b.see("Start of the session")
	b.do(chromedp.NavigateBack())
	b.wait(inView("vermilion gherkin"))
}

// TestFindLiterally finds questions word for word, more hits than are loaded at first, and
// shows what is wrong with a query in the bar.
func TestFindLiterally(t *testing.T) {
	t.Parallel()
	id := firn.ID("find-all-of-it")
	s, err := serveWith(func(home string) error {
		w := newScribe(id, longAgo, firn.Header{})
		for n := range 1100 {
			w.user(fmt.Sprintf("Turn %d: what did the quick fox say?", n))
			w.says(fmt.Sprintf("To turn %d: the fox did not say what is quick.", n))
		}
		w.title("Many foxes")
		return w.keep(home)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	basetest.Eventually(t, "the session can be searched", func() bool {
		found, err := s.client.Search(t.Context(), wire.SearchQuery{Query: "what did the quick fox say", Literal: true, Session: string(id)})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Items) > 0
	})
	b := s.login(t)
	b.size(1400, 900)
	b.open(toSession(id))
	b.wait(entry("Turn 1099:"))
	b.key("f", chromedp.ModifierCtrl)
	b.wait(`document.activeElement === ` + a("textbox", "Find in this session"))
	b.insert("what did the quick fox say")
	b.see("1 of 1,000+ (from the end)")
	at := func(n int) string {
		return `(() => { const r = ` + entry(fmt.Sprintf("Turn %d:", n)) + `?.getBoundingClientRect(); return r && r.bottom > 0 && r.top < innerHeight })()`
	}
	b.wait(at(1099))
	b.key("\r")
	b.see("2 of 1,000+ (from the end)")
	b.wait(at(1098))
	b.key("\r", chromedp.ModifierShift)
	b.key("\r", chromedp.ModifierShift) // from the latest to the oldest that is loaded
	b.see("1,000 of 1,000+ (from the end)")
	b.wait(at(100))
	hold := func() { // holds searches until release is called
		get[bool](b, `(() => { const real = fetch; const held = new Promise((r) => (window.release = r)); window.searches = 0; window.fetch = async (url, o) => { if (String(url).includes("/v1/search")) { searches++; await held } return real(url, o) }; return true })()`)
	}
	// Enter loads the others. Another Enter meanwhile does not go to the latest hit.
	hold()
	b.key("\r")
	b.wait(`searches === 1`)
	b.key("\r")
	b.settled()
	b.see("1,000 of 1,000+ (from the end)")
	get[bool](b, `(release(), true)`)
	b.see("100 of 1,100")
	b.wait(at(99))
	b.settled()
	b.inBothLights()
	// While another text is searched for, the page stays where it is.
	hold()
	b.fill("textbox", "Find in this session", "the quick fox say")
	b.wait(`searches === 1`)
	b.settled()
	if !get[bool](b, at(99)) {
		t.Error("the page went to another hit of the text before")
	}
	get[bool](b, `(release(), true)`)
	b.see("1 of 1,000+ (from the end)")
	b.wait(at(1099))

	b.allow("400 (Bad Request)")
	b.fill("textbox", "Find in this session", "(((")
	b.see("No words in")
	b.wait(`!document.querySelector(".toast") && document.querySelector(".find").innerText.includes("No words in")`)
	b.inLooks(".find", "a wrong query", runsAt(1280, false))
	b.fill("textbox", "Find in this session", "quick AND NOT (fox")
	b.see("none")
	b.gone("No words in")
}

// TestRecent finds sessions in the sidebar: pinned ones come first, those with a running turn
// have a dot.
func TestRecent(t *testing.T) {
	t.Parallel()
	s := queueServer(t)
	old := s.newSessionFor(t, "player", "An old friend", "A question.")
	for _, name := range []string{"Second", "Third"} {
		s.newSessionFor(t, "player", name, "A question.")
	}
	b := s.login(t)
	list := `[...document.querySelectorAll(".recent-one")].map((e) => e.innerText.trim()).join()`
	b.open(toSession(old))
	b.wait(list + ` === "Third,Second,An old friend"`)
	b.click("button", "Session actions")
	b.click("menuitem", "Pin")
	b.see("Pinned")
	b.open("/search")
	b.wait(list + ` === "An old friend,Third,Second"`)
	b.settled()
	b.inBothLights()
	b.fill("textbox", "Search sessions", "Sec")
	b.wait(list + ` === "Second"`)
	b.click("link", "Second")
	b.send("Please play recent.")
	p := world.model.plays(t, "recent")
	b.wait(`document.querySelector(".recent-one[aria-current] .dot.on")`)
	p.text("Done.")
	p.end()
	b.wait(`document.querySelector(".recent-one[aria-current]") && !document.querySelector(".recent-one .dot.on")`)
}

// TestLostConnection kills the gateway: a bar says so, on pages with and without a stream and
// at every width, nothing can be sent, and all of it ends by itself.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	s := queueServer(t)
	b := s.login(t)
	b.allowLostConnection()
	b.open(toSession(s.newSessionFor(t, "player", "Losing", "A question.")))
	b.fill("textbox", "Message", "Not yet sent")
	b.wait(`!` + a("button", "Send") + `.disabled`)
	s.cmd.Process.Kill()
	<-s.done
	b.see("Connection lost.")
	b.wait(a("button", "Send") + `.disabled`)
	b.inBothLights()
	b.size(390, 800)
	b.wait(`webtest.visible(document.querySelector(".lost-bar"))`)
	b.size(1280, 800)
	again, err := serveAt(s.home, strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.stop)
	b.gone("Connection lost.")
	b.wait(`!` + a("button", "Send") + `.disabled`)
	b.key("\r")
	b.once("Not yet sent")
}

// TestOutlineOfManyTurns checks that the outline of many turns says how many turns a line
// has, and shows each turn of a line on request.
func TestOutlineOfManyTurns(t *testing.T) {
	t.Parallel()
	srv := plainServer(t)
	w := newScribe("thinned-outline", longAgo, firn.Header{})
	first := w.user("The first question.")
	w.says("Yes.")
	other := w.user("Another branch.")
	w.rewind(first)
	w.says("Yes.")
	for n := range 1299 {
		w.user(fmt.Sprintf("Turn number %d.", n+1))
		w.says("Yes.")
	}
	srv.keep(t, w)
	b := srv.login(t)
	b.size(1400, 900)
	b.open("/sessions/thinned-outline")
	b.see("One line for every 4 turns")
	b.wait(`document.querySelectorAll(".outline-turn").length === 325`)
	b.click("button", "Show each turn from 1,297")
	b.see("Turns 1,297 to 1,300")
	b.wait(`document.activeElement === ` + a("button", "Show all turns"))
	lines := `[...document.querySelectorAll(".outline-n")].map((e) => e.innerText).join(" ")`
	b.wait(lines + ` === "1,297 1,298 1,299 1,300"`)
	b.settled()
	b.inBothLights()
	b.click("button", "/^1,298 /")
	b.wait(`location.search.startsWith("?at=")`)
	b.click("button", "Show all turns")
	b.wait(`document.querySelectorAll(".outline-turn").length === 325`)
	b.wait(`document.activeElement === ` + a("button", "Show each turn from 1,297"))
	// Another branch, or another head, has other turns: the range ends.
	b.click("button", "Show each turn from 1,297")
	b.see("Turns 1,297 to 1,300")
	get[bool](b, `(history.pushState(null, "", "?at=`+string(other)+`"), dispatchEvent(new PopStateEvent("popstate")), true)`)
	b.see("Another branch.")
	b.gone("Show all turns")
	b.wait(lines + ` === "1 2"`)
	b.open("/sessions/thinned-outline")
	b.click("button", "Show each turn from 1,297")
	b.see("Turns 1,297 to 1,300")
	srv.run(t, "rewind", "thinned-outline", string(first))
	b.wait(lines + ` === "1"`)
	b.gone("Show all turns")
}

// TestHomeOfFoldedStart checks that Home leads to the first message and stays there, also if the
// first page of entries is folded to a few lines, so that the next ones are loaded at once.
func TestHomeOfFoldedStart(t *testing.T) {
	t.Parallel()
	srv := plainServer(t)
	s := newScribe("folded-start", longAgo, firn.Header{})
	s.user("The very first question.")
	for range 150 {
		s.uses("read_file", `{"path":"a.go"}`, "ok")
	}
	for n := range 80 {
		s.user(fmt.Sprintf("Question %d.", n))
		s.says(strings.Repeat("A long answer.\n\n", 10))
	}
	srv.keep(t, s)
	b := srv.login(t)
	b.open("/sessions/folded-start")
	b.see("Question 79.")
	b.key(kb.Home)
	b.wait(`document.activeElement.innerText?.includes("The very first question.")`)
	b.settled()
	b.wait(`((log) => log.scrollTop < 300 && log.scrollHeight > 2 * log.clientHeight)(document.querySelector(".log-scroll"))`)
	b.settled()
	if top := get[float64](b, `document.querySelector(".log-scroll").scrollTop`); top >= 300 {
		t.Errorf("the log is scrolled to %v after Home", top)
	}
}
