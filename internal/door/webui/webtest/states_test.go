package webtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// routes are all pages with their tabs and views, and the request that each of them needs.
var routes = []struct{ name, path, needs string }{
	{"sessions", "/sessions", "/v1/sessions?"},
	{"log", "/sessions/" + string(branchyID), "/entries"},
	{"session", "/sessions/" + string(branchyID), "/v1/sessions/" + string(branchyID) + "$"},
	{"tree", "/sessions/" + string(branchyID) + "/tree", "/tree"},
	{"window", "/sessions/" + string(branchyID) + "/window", "/window$"},
	{"session usage", "/sessions/" + string(branchyID) + "/usage", "/course"},
	{"raw", "/sessions/" + string(branchyID) + "/raw", "/entries"},
	{"live", "/live", "/v1/running"},
	{"found", "/search?q=Lisbon", "/v1/search"},
	{"memory", "/memory", "/v1/memory$"},
	{"memory found", "/memory?q=x", "/v1/memory/search"},
	{"memory changes", "/memory?view=changes", "/v1/memory/changes"},
	{"usage", "/usage", "/v1/usage/report"},
	{"keys", "/keys", "/v1/keys?"},
	{"key", "/keys/agent:main:states", "/v1/keys/"},
	{"sources", "/sources", "/v1/sources"},
	{"ops", "/ops", "/v1/ops"},
	{"settings", "/settings", "/v1/settings"},
}

// gate replaces fetch: requests whose address contains needs (at its end with $) wait for
// webtest.release, or get a status. Timers of a tenth of a second or less wait for
// webtest.ring if it is held.
const gate = `(() => {
	const real = window.fetch, needs = %s, hold = %t, later = window.setTimeout;
	const w = window.states = { status: %d, open: !hold, waiting: [], asked: 0, timers: [], holdTimers: false, skeletons: 0 };
	const fits = (url) => { url = new URL(url, location.href); const s = url.pathname + url.search; return needs.endsWith("$") ? url.pathname.endsWith(needs.slice(0, -1)) : s.includes(needs); };
	w.release = () => { w.open = true; for (const f of w.waiting.splice(0)) f(); };
	w.ring = () => { for (const f of w.timers.splice(0)) f(); };
	window.setTimeout = (f, ms, ...more) => ms >= 50 && ms <= 100 && w.holdTimers ? (w.timers.push(() => f(...more)), 0) : later(f, ms, ...more);
	window.fetch = async (url, o) => {
		if (!fits(url)) return real(url, o);
		w.asked++;
		if (w.status) return new Response(JSON.stringify({ error: { kind: "test", message: "it failed with " + w.status, hint: "", request: "r1" } }), { status: w.status });
		if (!w.open) await new Promise((done, fail) => { w.waiting.push(done); o?.signal?.addEventListener("abort", () => fail(o.signal.reason)); });
		return real(url, o);
	};
})()`

// gate sets how requests are answered in the next documents of a tab, and a script that runs
// before those of the page.
func (b *tab) gate(needs string, status int, hold bool, more string) {
	b.t.Helper()
	if b.gated != "" {
		if _, err := chromedp.Call(b.ctx, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: b.gated}); err != nil {
			b.fatalf("%v", err)
		}
	}
	source := fmt.Sprintf(gate, quote(needs), hold, status) + ";" + more
	added, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source})
	if err != nil {
		b.fatalf("%v", err)
	}
	b.gated = added.Identifier
}

const (
	skeleton = `[...document.querySelectorAll(".skeleton")].some(webtest.visible)`
	problem  = `[...document.querySelectorAll(".problem")].find(webtest.visible)`
)

// stateServer is the shared gateway with a key.
func stateServer(t *testing.T) *server {
	t.Helper()
	s := plainServer(t)
	s.run(t, "keys", "set", "agent:main:states", string(branchyID))
	return s
}

// TestStates opens every page with slow, fast and failing answers, one after the other in one
// tab.
func TestStates(t *testing.T) {
	s := stateServer(t)
	first := s.login(t)
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := first.beside(t)
			if r.name != "session" { // the log does not wait for it
				b.slowly(r.path, r.needs)
				b.quickly(r.path, r.needs)
			}
			b.failing(r.path, r.needs)
		})
	}
	t.Run("login", func(t *testing.T) {
		b := first.beside(t)
		b.gate("/v1/me", 0, true, "")
		b.open("/sessions")
		b.wait(skeleton)
		get[bool](b, `(states.release(), true)`)
		b.wait(`!` + skeleton + ` && webtest.find("heading", "Sessions")`)
	})
}

// slowly holds the answer of a page: a skeleton is shown, it is accessible, and the content
// replaces it.
func (b *tab) slowly(path, needs string) {
	b.t.Helper()
	b.gate(needs, 0, true, "")
	b.open(path)
	b.wait(skeleton)
	b.injectAxe()
	b.violations("main", path, allRules) // a skeleton has no text and so no contrast
	if get[bool](b, `!!`+problem) {
		b.t.Error("a slow answer is an error")
	}
	get[bool](b, `(states.release(), true)`)
	b.wait(`!` + skeleton)
	b.settled()
	if get[bool](b, `!!`+problem) {
		b.t.Error("the content is an error")
	}
}

// countSkeletons holds the timers from the start and counts skeletons.
const countSkeletons = `states.holdTimers = true; new MutationObserver(() => { if (document.querySelector(".skeleton")) states.skeletons++; }).observe(document, { childList: true, subtree: true, attributes: true })`

// quickly delays the timers instead of the answers: an answer that comes first leaves no
// skeleton, however late the timer.
func (b *tab) quickly(path, needs string) {
	b.t.Helper()
	b.gate(needs, 0, true, countSkeletons)
	b.open(path)
	b.wait(`states.asked > 0 && states.timers.length > 0`)
	get[bool](b, `(states.release(), true)`)
	b.wait(`!document.querySelector("main .skeleton-place")`)
	get[bool](b, `(states.ring(), true)`)
	b.frames()
	if n := get[int](b, `states.skeletons`); n != 0 {
		b.t.Errorf("%d skeletons of an answer that came in time", n)
	}
}

// failing answers a page with errors. The page says what failed and has a way on: it can be
// tried again, or left.
func (b *tab) failing(path, needs string) {
	b.t.Helper()
	b.gate(needs, 500, false, "")
	b.open(path)
	b.failed(path, 500)
	b.injectAxe()
	b.violations("html", path, allRules)
	if path == "/sessions" { // the colors of all are the same
		b.inBothLights()
	}
	again := func(status int) {
		get[bool](b, fmt.Sprintf(`(states.status = %d, true)`, status))
		b.clickOn(problem + `?.querySelector("button")`)
	}
	again(404)
	b.failed(path, 404)
	again(0)
	b.wait(`!` + problem)
	b.gate(needs, 403, false, "")
	b.open(path)
	b.failed(path, 403)
}

// failed checks a page whose request failed.
func (b *tab) failed(path string, status int) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`%s?.innerText.includes("It failed with %d.")`, problem, status))
	b.wait(`!` + skeleton)
	if get[bool](b, `!!document.querySelector("main .empty")`) {
		b.t.Errorf("%d: the page is empty and failed", status)
	}
	again := get[bool](b, `[...`+problem+`.querySelectorAll("button")].some((e) => e.textContent === "Try again")`)
	if again == (status == 403) {
		b.t.Errorf("%d: try again: %t", status, again)
	}
	if path != "/sessions" && !get[bool](b, `!!`+problem+`.querySelector("a[href]")`) {
		b.t.Errorf("%d: there is no way back", status)
	}
	if path == "/sessions" && status == 403 && !get[bool](b, `!!`+problem+`.querySelector("a[href='/login']")`) {
		b.t.Error("there is no way to another login")
	}
}

// TestEmptyPages opens every page of an empty home: each has a picture and one action.
func TestEmptyPages(t *testing.T) {
	s, err := serveWith()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	id := string(s.newSession(t, "Empty"))
	b := s.login(t)
	for i, c := range []struct{ name, path, title string }{
		{"log", "/sessions/" + id, "No messages yet"},
		{"session usage", "/sessions/" + id + "/usage", "No usage yet"},
		{"live", "/live", "No running turns"},
		{"search", "/search?q=nothing", "No hits"},
		{"search all", "/search?q=nothing&in=all", "No hits"},
		{"memory", "/memory", "No notes yet"},
		{"memory found", "/memory?q=nothing", "No matching notes"},
		{"memory changes", "/memory?view=changes", "No changes yet"},
		{"usage", "/usage", "No usage in the last 30 days"},
		{"usage ever", "/usage?since=all", "No usage yet"},
		{"keys", "/keys", "No keys yet"},
		{"keys found", "/keys?q=nothing", "No matching keys"},
		{"sources", "/sources", "No mirrored directories"},
		{"filtered", "/sessions?tag=nothing", "No matching sessions"},
		{"archived", "/sessions?show=archived", "No archived sessions"},
		{"no page", "/there/is/none", "Page not found"},
		{"sessions", "/sessions", "No sessions yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "sessions" {
				s.run(t, "rm", id)
			}
			b.t = t
			b.open(c.path)
			b.wait(`document.querySelector("main .empty-title")?.textContent === ` + quote(c.title))
			b.settled()
			b.injectAxe()
			b.inLooks("html", c.name, runsAt(390, false))
			if i == 0 { // the colors of all are the same
				b.inLooks("html", c.name, runsAt(1280, true))
			}
			if n := get[int](b, `document.querySelectorAll("main .empty").length`); n != 1 {
				t.Errorf("%d empty states", n)
			}
			if !get[bool](b, `!!document.querySelector("main .empty-picture svg path")`) {
				t.Error("there is no picture")
			}
			if n := get[int](b, `document.querySelectorAll("main .empty-act > :is(.button.primary, .cli:not(.small))").length`); n != 1 {
				t.Errorf("%d actions, want one", n)
			}
		})
	}
	b.t = t
}

// alike are pages that listen and load like another one.
var alike = map[string]bool{"session": true, "window": true, "session usage": true, "raw": true, "memory found": true, "memory changes": true, "key": true}

// TestGatewayRestart kills the gateway while a page of each kind is open and opens a page meanwhile: all
// of it heals by itself.
func TestGatewayRestart(t *testing.T) {
	s := queueServer(t)
	id := s.newSessionFor(t, "player", "Going", "A question.")
	s.run(t, "keys", "set", "agent:main:states", string(id))
	var tabs []*tab
	var paths []string
	for _, r := range routes {
		if alike[r.name] {
			continue
		}
		paths = append(paths, r.path)
		b := s.login(t) // a profile of its own: browsers limit the streams of one
		b.allowLostConnection()
		b.open(strings.ReplaceAll(r.path, string(branchyID), string(id)))
		b.settledBut()
		tabs = append(tabs, b)
	}
	s.cmd.Process.Kill()
	<-s.done
	for i, b := range tabs {
		if path := paths[i]; path == "/usage" || path == "/sources" {
			b.click("link", "Ops") // pages without a stream notice with their next request
		}
		b.see("Connection lost.")
		for _, width := range []int64{390, 1280} {
			b.size(width, 800)
			b.wait(`webtest.visible(document.querySelector(".lost-bar"))`)
		}
	}
	// A page that is opened meanwhile says so too.
	tabs[0].click("link", "Usage")
	tabs[0].wait(problem)
	again, err := serveAt(s.home, strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.stop)
	for _, b := range tabs {
		b.gone("Connection lost.")
		b.wait(`!` + problem + ` && !document.querySelector(".toast.bad")`)
	}
}

// settledBut waits until the page is drawn; streams and polls may go on.
func (b *tab) settledBut() {
	b.t.Helper()
	b.wait(`webtest.find("main") && ![...document.querySelectorAll("[aria-busy=true]")].some(webtest.visible)`)
}
