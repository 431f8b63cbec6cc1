package webtest

import (
	"fmt"
	"testing"
	"time"

	"firn.dev/client"
	"firn.dev/wire"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// longestTask is the maximum time that a page may block, in units of [tab.unit]: about 300
// ms on an idle machine, where the pages take 40 ms.
const longestTask = 6

// TestManySessions scrolls through ten thousand sessions to the end, and filters them.
func TestManySessions(t *testing.T) {
	s := crowdServer(t)
	b := s.login(t)
	unit := b.unit()
	did := b.measure(func() {
		b.open("/sessions")
		b.see("Session number 09999")
		b.see("10,001")
		b.scrollThrough(12)
		b.see("Session number 00000")
	})
	t.Logf("scrolling: %v, a unit: %v", did, unit)
	if did.longest > longestTask*unit {
		t.Errorf("the page was busy for %v at once, want at most %d times %v", did.longest, longestTask, unit)
	}
	if rows := get[int](b, `document.querySelectorAll(".vlist-row").length`); rows > 200 {
		t.Errorf("%d rows are drawn at once", rows)
	}
	b.fill("textbox", "/first message/", "number 04321")
	b.see("Session number 04321")
	b.gone("Session number 00000")
	b.wait(`location.search.includes("04321")`)
	b.open("/sessions?tag=seventh")
	b.see("Session number 09996")
	b.gone("Session number 09999")
	b.see("1,429")
}

// scrollThrough scrolls the list from top to end in steps and waits after each until the
// visible rows are loaded.
func (b *tab) scrollThrough(steps int) {
	b.t.Helper()
	b.wait(`(window.list = webtest.scroller(webtest.find(".vlist-row"))) && list.scrollHeight > 10 * list.clientHeight`)
	for i := range steps {
		get[float64](b, fmt.Sprintf(`list.scrollTop = list.scrollHeight * %d / %d`, i+1, steps))
		b.frames()
		b.wait(inSight)
	}
	// Estimated row heights may have been too large.
	b.wait(`(() => { list.scrollTop = list.scrollHeight; return Math.abs(list.scrollHeight - list.clientHeight - list.scrollTop) < 2 && ` + inSight + ` })()`)
}

// inSight reports whether the visible rows of a list are loaded.
const inSight = `(() => {
	const box = list.getBoundingClientRect();
	const rows = [...list.querySelectorAll(".vlist-row")].filter((r) => { const b = r.getBoundingClientRect(); return b.bottom > box.top + 2 && b.top < box.bottom - 2 });
	return rows.length > 5 && rows.every((r) => r.querySelector("a")) && rows[0].getBoundingClientRect().top <= box.top + 60 && rows.at(-1).getBoundingClientRect().bottom >= box.bottom - 60;
})()`

// TestLongSession opens a session of fifty thousand entries at its end, scrolls back,
// and jumps into its middle.
func TestLongSession(t *testing.T) {
	s := crowdServer(t)
	b := s.login(t)
	b.open("/live")
	b.settled()
	b.watch.forget()
	open := func() {
		b.open(toSession(longID))
		b.see("Question 12493")
		b.settled()
	}
	unit := b.unit()
	did := b.measure(open)
	t.Logf("opening: %v, a unit: %v", did, unit)
	// The uncompressed size, since compression depends on the content.
	entries := get[int](b, `performance.getEntriesByType("resource").filter((r) => r.name.includes("/entries")).reduce((n, r) => n + r.decodedBodySize, 0)`)
	if t.Logf("the first page: %d bytes", entries); entries == 0 || entries > 256<<10 {
		t.Errorf("the first page has %d bytes, want at most 256 kB", entries)
	}
	back := b.measure(func() {
		open()
		b.backBy("Question 12400")
	})
	t.Logf("scrolling back: %v", back)
	for _, l := range []taskTime{did, back} {
		if l.longest > longestTask*unit {
			t.Errorf("the page was busy for %v at once, want at most %d times %v", l.longest, longestTask, unit)
		}
	}
	if n := get[int](b, `document.querySelectorAll("*").length`); n > 20_000 {
		t.Errorf("the page has %d elements", n)
	}
	b.open(toSession(longID) + "?at=" + b.firstEntry(s))
	b.see("Question 0:")
	b.see("Start of the session")
}

// unit measures how long the page takes for a fixed amount of work, as a reference for the
// speed and load of the machine.
func (b *tab) unit() time.Duration {
	b.t.Helper()
	b.open("/live")
	return b.measure(func() {
		b.do(chromedp.Evaluate[chromedp.Void](`window.unit = 0; setTimeout(() => { let x = 0; for (let i = 0; i < 5e7; i++) x += i % 7; window.unit = x })`))
		b.wait("window.unit")
	}).longest
}

// firstEntry returns the ID of the first entry of the long session.
func (b *tab) firstEntry(s *server) string {
	b.t.Helper()
	return get[string](b, `fetch("/v1/sessions/`+string(longID)+`/entries?view=branch&as=html&limit=2").then((r) => r.json()).then((p) => p.items.map((i) => i.card.id).find((id) => id))`)
}

// backBy scrolls back one screen at a time until a text is visible. The visible content
// must not move when older entries are loaded.
func (b *tab) backBy(text string) {
	b.t.Helper()
	b.wait(`window.list = webtest.scroller(webtest.find("article"))`)
	for range 400 {
		if get[bool](b, `[...list.querySelectorAll("article")].some((el) => el.innerText.includes(`+quote(text)+`) && el.getBoundingClientRect().bottom > 0)`) {
			return
		}
		get[float64](b, `list.scrollTop -= list.clientHeight * 0.8`)
		b.frames()
		b.wait(`list.scrollTop > 0 || webtest.text().includes("Start of the session")`)
	}
	b.fatalf("scrolling back never came to %q", text)
}

// firstLoads are the budgets of what a browser fetches and builds until a page is shown first:
// 1.2 times what the pages needed when this was written. They are counts, so they do not depend on
// the machine, and none depends on how many sessions and entries there are.
var firstLoads = []struct {
	name, path, see           string
	requests, bytes, elements int
}{
	{"10,000 sessions", "/sessions", "Session number 09999", 13, 138_000, 1_170},
	{"50,000 entries", toSession(longID), "Question 12493", 16, 165_000, 5_430},
	{"a short session", toSession("crowd-00042"), "Number 42 is fine.", 16, 137_000, 370},
}

// TestFirstLoad counts what a browser needs before the first paint of a page, with ten thousand
// sessions and with one of fifty thousand entries.
func TestFirstLoad(t *testing.T) {
	s := crowdServer(t)
	b := s.login(t)
	if _, err := chromedp.Call(b.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
		t.Fatal(err)
	}
	for _, c := range firstLoads {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.open("/live")
			b.settled()
			b.watch.forget()
			b.open(c.path)
			b.see(c.see)
			b.settled()
			bytes, requests := 0.0, 0
			for _, r := range b.watch.all() {
				bytes += r.bytes
				requests++
				t.Logf("%8.0f %s", r.bytes, r.url)
			}
			elements := get[int](b, `document.querySelectorAll("*").length`)
			paint := get[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
			t.Logf("%d requests, %.0f bytes, %d elements; first paint after %.0f ms on this machine", requests, bytes, elements, paint)
			if bytes < 10<<10 || requests > c.requests || int(bytes) > c.bytes || elements > c.elements {
				t.Errorf("%d requests, %.0f bytes, %d elements; want at most %d, %d, %d", requests, bytes, elements, c.requests, c.bytes, c.elements)
			}
		})
	}
	b.t = t
}

// BenchmarkFirstPage measures the gateway's time for the first page of a session of
// fifty thousand entries and for the other data of the page. Each should take less than
// 200 ms.
func BenchmarkFirstPage(b *testing.B) {
	s := crowdServer(b)
	query := client.EntryQuery{View: wire.ViewBranch, Back: true, HTML: true, Limit: 60}
	b.Run("entries", func(b *testing.B) {
		for b.Loop() {
			if page, err := s.client.EntriesPage(b.Context(), longID, query); err != nil || len(page.Items) != 60 {
				b.Fatalf("%d entries, %v", len(page.Items), err)
			}
		}
	})
	b.Run("session", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.client.Session(b.Context(), string(longID)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sessions", func(b *testing.B) {
		for b.Loop() {
			if page, err := s.client.SessionsPage(b.Context(), client.Query{Limit: 40}); err != nil || len(page.Items) != 40 {
				b.Fatalf("%d sessions, %v", len(page.Items), err)
			}
		}
	})
}
