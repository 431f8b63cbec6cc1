package webtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/wire"
)

// hold delays the page's requests that match a pattern until release.
func (b *tab) hold(pattern string) {
	b.t.Helper()
	get[bool](b, `(() => {
		const real = window.fetch.bind(window);
		window.held = [];
		window.fetch = (url, o) => window.held && (`+pattern+`).test((o?.method ?? "GET") + " " + url)
			? new Promise((done, fail) => window.held.push(() => real(url, o).then(done, fail)))
			: real(url, o);
		return true;
	})()`)
}

// holds waits until a request is held.
func (b *tab) holds() {
	b.t.Helper()
	b.wait(`window.held.length > 0`)
}

// release continues the held requests and holds no more.
func (b *tab) release() {
	b.t.Helper()
	get[bool](b, `(() => { const all = window.held; window.held = null; all.forEach((f) => f()); return true })()`)
}

// TestTypingWhileSending checks that text typed while a message is being sent is kept, and
// that a failed message is restored.
func TestTypingWhileSending(t *testing.T) {
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSession(t, "Typing")))
	b.settled()
	box := a("textbox", "Message")
	b.hold(`/POST .*\/turns/`)
	b.send("The first message.")
	b.holds()
	b.insert("The second one.")
	b.release()
	b.once("The first message.")
	b.wait(`!document.querySelector(".composer-send").disabled`)
	b.wait(box + `.value === "The second one."`)

	b.allow("/turns")
	b.hold(`/POST .*\/turns/`)
	get[bool](b, `(() => { const f = window.fetch; window.fetch = (u, o) => f(u, o).then((r) => { if (/turns/.test(u)) throw new TypeError("gone"); return r }); return true })()`)
	b.key("\r")
	b.holds()
	b.insert("A third.")
	b.release()
	b.wait(box + `.value === "The second one.\n\nA third."`)
}

// TestLogoutWhileSending checks that a message being sent during a logout is not kept as a
// draft for the next user.
func TestLogoutWhileSending(t *testing.T) {
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSession(t, "Leaving")))
	b.settled()
	b.hold(`/POST .*\/turns/`)
	get[bool](b, `(() => {
		const f = window.fetch;
		window.fetch = (u, o) => f(u, o).then((r) => {
			if (!/turns/.test(u)) return r;
			setTimeout(() => { window.delivered = true }); // after all that follows from it
			throw new TypeError("gone");
		});
		return true;
	})()`)
	b.send("My private note.")
	b.holds()
	const kept = `Object.values(sessionStorage).join().includes("private note")`
	b.wait(kept)
	b.click("button", "/^browser /")
	b.click("menuitem", "Log out")
	b.see("firn open")
	b.wait("!" + kept)
	b.allow("/turns")
	b.release()
	b.wait("window.delivered")
	if get[bool](b, kept) {
		t.Error("the message is there as a draft")
	}
}

// TestRefreshWhileLoadingOlder checks that a log refreshed while older entries are loading has
// neither gaps nor duplicates.
func TestRefreshWhileLoadingOlder(t *testing.T) {
	s := plainServer(t)
	id := firn.ID(strings.ReplaceAll(unlike("lines"), " ", "-"))
	w := newScribe(id, longAgo, firn.Header{})
	var last firn.EntryID
	for i := range 400 {
		last = w.user(fmt.Sprintf("Line %04d.", i))
	}
	s.keep(t, w)
	b := s.login(t)
	b.open(toSession(id))
	b.once("Line 0399.")
	b.settled()
	b.hold(`/entries\?.*(cursor|before)=/`)
	get[bool](b, `(webtest.scroller(webtest.find("article")).scrollTop = 0, true)`)
	b.holds()
	// A label changes other entries, so everything is requested again; the title arrives
	// after it.
	if _, err := s.client.Label(t.Context(), id, wire.Label{Entry: string(last), Name: "the-end"}); err != nil {
		t.Fatal(err)
	}
	title := unlike("Renamed")
	if _, err := s.client.Patch(t.Context(), id, wire.Patch{Title: &title}); err != nil {
		t.Fatal(err)
	}
	b.wait(a("heading", title))
	b.release()
	b.wait(`webtest.text().includes("the-end")`)
	b.settled()
	lines := get[[]string](b, `[...document.querySelectorAll("article")].map((el) => /Line (\d{4})/.exec(el.innerText)?.[0]).filter(Boolean)`)
	if len(lines) < 60 {
		t.Errorf("only %d lines are there", len(lines))
	}
	for i := 1; i < len(lines); i++ {
		var before, after int
		fmt.Sscanf(lines[i-1], "Line %d", &before)
		fmt.Sscanf(lines[i], "Line %d", &after)
		if after != before+1 {
			t.Errorf("after %q comes %q", lines[i-1], lines[i])
		}
	}
}

// TestReusedIDs checks that a file with a duplicate ID, once on an entry that is its own
// parent, neither hangs the tree nor hides an entry.
func TestReusedIDs(t *testing.T) {
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(reusedID) + "/tree?compare=a2,b1")
	b.see("Diverged after #1")
	rows := get[[]string](b, `[...document.querySelectorAll(".tree-row .tree-n")].map((el) => el.innerText)`)
	if !slices.Equal(rows, []string{"#4", "#3", "#2", "#1"}) {
		t.Errorf("the tree has the rows %q", rows)
	}
	if head := get[string](b, `document.querySelector(".tree-row:has(.tree-head-chip) .tree-n").innerText`); head != "#4" {
		t.Errorf("the head is %s", head)
	}
	b.open(toSession(reusedID))
	b.once("The left one.")
	b.once("The root again.")
}
