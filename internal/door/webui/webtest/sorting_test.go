package webtest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/wire"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// withoutViolation checks the open page with axe at two widths in both themes. Unlike
// accessible it accepts no violation of any impact.
func (b *tab) withoutViolation() {
	b.t.Helper()
	axe, err := os.ReadFile(filepath.Join("..", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, width := range []int64{390, 1280} {
		b.size(width, 800)
		for _, dark := range []bool{false, true} {
			b.dark(dark)
			b.settled()
			b.isDark(dark)
			b.do(chromedp.Evaluate[chromedp.Void]("if (!window.axe) {" + string(axe) + "}; 0"))
			text := get[string](b, `axe.run({resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations))`)
			var found []finding
			if err := json.Unmarshal([]byte(text), &found); err != nil {
				b.t.Fatal(err)
			}
			for _, f := range found {
				b.t.Errorf("%d px, dark %t: %s (%s): %s\n   %.300s\n   %s", width, dark, f.ID, f.Impact, f.Help, f.Nodes[0].HTML, strings.ReplaceAll(f.Nodes[0].FailureSummary, "\n", " "))
			}
		}
	}
	b.dark(false)
	b.size(1280, 800)
}

// titles are the titles in the list, in order.
const titles = `[...document.querySelectorAll(".srow-name")].map((a) => a.textContent)`

func (b *tab) lists(want ...string) {
	b.t.Helper()
	list, err := json.Marshal(want)
	if err != nil {
		b.t.Fatal(err)
	}
	b.wait(`JSON.stringify(` + titles + `) === ` + quote(string(list)))
}

// TestSortAndGroup sorts and groups the list by its headers and menus. The URL keeps it, and
// the columns have headers with their order.
func TestSortAndGroup(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	mark := unlike("Sorting")[8:]
	write := func(title, cwd string, day, turns int) {
		w := newScribe(firn.NewID(), longAgo.Add(time.Duration(day)*24*time.Hour), firn.Header{CWD: cwd})
		for range turns {
			w.user("A question.")
			w.says("An answer that takes space.")
		}
		w.title(title + " " + mark)
		s.keep(t, w)
	}
	write("Cherry", "/home/you/one", 1, 1)
	write("apple", "/home/you/two", 3, 3)
	write("Banana", "/home/you/one", 2, 2)
	s.run(t, "reindex")
	b := s.login(t)
	b.open("/sessions?q=" + url.QueryEscape(mark))
	apple, banana, cherry := "apple "+mark, "Banana "+mark, "Cherry "+mark
	b.lists(apple, banana, cherry)
	b.wait(`document.querySelector("[role=columnheader][aria-sort=descending]").textContent.trim() === "Updated"`)
	b.click("button", "Title")
	b.lists(apple, banana, cherry)
	b.wait(`document.querySelector("[role=columnheader][aria-sort=ascending]").textContent.trim() === "Title"`)
	b.click("button", "Title")
	b.lists(cherry, banana, apple)
	b.wait(`location.search.includes("sort=title") && location.search.includes("order=desc")`)
	b.reload()
	b.lists(cherry, banana, apple)
	b.click("button", "/^Sort: title/")
	b.click("menuitem", "size")
	b.lists(apple, banana, cherry)
	b.wait(`[...document.querySelectorAll("[role=columnheader]")].some((h) => h.textContent.trim() === "Size" && h.getAttribute("aria-sort") === "descending")`)

	b.click("button", "Group")
	b.click("menuitem", "project")
	b.lists(banana, cherry, apple)
	const groups = `[...document.querySelectorAll("[role=rowheader]")].map((g) => g.textContent).join()`
	b.wait(groups + ` === "~/one,~/two"`)
	b.withoutViolation()
	b.key("j")
	b.wait(`document.activeElement.textContent === ` + quote(banana))
	b.key("jj")
	b.wait(`document.activeElement.textContent === ` + quote(apple))
	b.click("button", "/^Group: project/")
	b.click("menuitem", "day")
	b.lists(apple, banana, cherry)
	b.see("Wednesday, March 4, 2026")
	b.click("button", "/^Group: day/")
	b.click("menuitem", "source")
	b.wait(groups + ` === "firn"`)

	// Every row has a cell for each header.
	b.open("/sessions?q=" + url.QueryEscape(mark))
	b.see(apple)
	b.wait(`(() => {
		const shown = (e) => e.checkVisibility();
		const heads = [...document.querySelectorAll("[role=columnheader]")].filter(shown).length;
		const rows = [...document.querySelectorAll("[role=table] .vlist-row[role=row]")];
		return heads > 7 && rows.length > 2 && rows.every((r) => [...r.querySelectorAll("[role=cell]")].filter(shown).length === heads);
	})()`)
}

// TestSortedListFollows checks that new sessions appear in their place in a sorted list with
// groups, and that events of sessions that are not in the list do not reload it.
func TestSortedListFollows(t *testing.T) {
	t.Parallel()
	s, err := serveWith() // no events of other tests
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	mark := unlike("Following")[10:]
	start := func(title, cwd string) firn.ID {
		session, err := s.client.NewSession(t.Context(), wire.NewSession{Title: title, CWD: cwd})
		if err != nil {
			t.Fatal(err)
		}
		return session.ID
	}
	turn := func(id firn.ID, text string) {
		if _, err := s.client.Turn(t.Context(), id, wire.Turn{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	one, two := t.TempDir(), t.TempDir()
	banana := start("Banana "+mark, one)
	turn(banana, "Something.")
	turn(start("Cherry "+mark, two), "Something.")
	other := start("Elsewhere", "")
	b := s.login(t)
	b.open("/sessions?sort=title&group=project&q=" + url.QueryEscape(mark))
	b.lists("Banana "+mark, "Cherry "+mark)
	b.settled()
	const requests = `performance.getEntriesByType("resource").filter((r) => new URL(r.name).pathname === "/v1/sessions" && r.name.includes("sort=title")).length`
	before, began := get[int](b, requests), time.Now()
	rename := func(id firn.ID, title string) {
		if _, err := s.client.Patch(t.Context(), id, wire.Patch{Title: &title}); err != nil {
			t.Fatal(err)
		}
	}
	// The next title of a session in the list comes after the events of the other session.
	for i := range 3 {
		turn(other, "Something else.")
		rename(banana, fmt.Sprint("Banana ", i, " ", mark))
		b.lists(fmt.Sprint("Banana ", i, " ", mark), "Cherry "+mark)
	}
	if n := get[int](b, requests) - before; n > 0 {
		t.Errorf("turns of a session that is not in the list reloaded it %d times", n)
	}
	for i := range 6 {
		rename(other, fmt.Sprint("Elsewhere ", i))
		rename(banana, fmt.Sprint("Banana ", i+3, " ", mark))
		b.lists(fmt.Sprint("Banana ", i+3, " ", mark), "Cherry "+mark)
	}
	rename(banana, "Banana "+mark)
	turn(start("Apricot "+mark, one), "Something.")
	b.lists("Apricot "+mark, "Banana "+mark, "Cherry "+mark)
	if n, took := get[int](b, requests)-before, time.Since(began); n > 2+int(took/(10*time.Second)) {
		t.Errorf("the list was reloaded %d times in %s", n, took)
	}
	// The state of the new session is loaded, and its group stays when the list changes.
	b.wait(`[...document.querySelectorAll(".srow")].some((r) => r.textContent.includes("Apricot") && r.querySelector(".srow-turns").textContent === "1")`)
	get[bool](b, `(() => { window.groups = new Set(); new MutationObserver(() => document.querySelectorAll("[role=rowheader]").forEach((e) => groups.add(e.textContent))).observe(document.querySelector(".stable"), {childList: true, subtree: true, characterData: true}); return true })()`)
	b.click("button", "Actions for Cherry "+mark)
	b.click("menuitem", "/^Archive/")
	b.lists("Apricot "+mark, "Banana "+mark)
	b.wait(`document.querySelectorAll("[role=rowheader]").length === 1`)
	b.wait(`groups.size > 0`)
	if seen := get[string](b, `[...groups].join()`); strings.Contains(seen, "No directory") {
		t.Errorf("the list had the groups %s", seen)
	}
	// The turns of a list that is sorted by them are those that it is sorted by.
	b.open("/sessions?sort=turns&q=" + url.QueryEscape(mark))
	b.wait(`[...document.querySelectorAll(".srow-turns[title]")].map((e) => e.title).join() === Array(2).fill("1 turn at the end of the latest turn").join()`)
}

// TestSourceBadges checks that the list shows the program that a session is from by name,
// color and shape, also as a group.
func TestSourceBadges(t *testing.T) {
	t.Parallel()
	s, err := serveWith(writeMirrored)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	s.newSession(t, "Our own", "Something.")
	b := s.login(t)
	b.open("/sessions?group=source")
	const badge = `document.querySelector(".srow-agent .source-mark[data-tool=claude]")`
	b.wait(badge + `?.textContent === "Claude Code" && ` + badge + `.querySelector("svg path") !== null`)
	b.wait(`getComputedStyle(` + badge + `.querySelector("svg")).fill !== getComputedStyle(` + badge + `).color`)
	b.wait(`[...document.querySelectorAll("[role=rowheader]")].map((g) => g.textContent).join() === "Claude Code,firn"`)
	b.withoutViolation()
}

// TestRecentSessions checks the sidebar: pinned sessions first, a search box, and a dot for a
// running turn.
func TestRecentSessions(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	mark := unlike("Recent")[7:]
	pinned := s.newSession(t, "Pinned "+mark, "Something.")
	s.run(t, "tag", string(pinned), "pinned")
	later := s.newSessionFor(t, "player", "Later "+mark)
	b := s.login(t)
	b.open("/usage")
	b.fill("textbox", "Search sessions", mark)
	const recent = `[...document.querySelectorAll(".recent-one")].map((a) => a.textContent.trim()).join()`
	b.wait(recent + ` === ` + quote("Pinned "+mark+",Later "+mark))
	other := b.beside(t)
	other.open(toSession(later))
	other.send("Please play recent-elsewhere.") // another name than in TestRecent: the model is shared
	b.wait(`document.querySelector(".recent-one[href*='` + string(later) + `'] .dot.on[aria-label='turn running']")`)
	b.withoutViolation()
	other.click("button", "/^Stop/")
	b.wait(`!document.querySelector(".recent-one[href*='` + string(later) + `'] .dot.on")`)
}

// TestHeadsAreAboveTheirColumns checks that the heads of the list have the width of its rows where
// a scroll bar takes space.
func TestHeadsAreAboveTheirColumns(t *testing.T) {
	t.Parallel()
	s := crowdServer(t)
	b := s.login(t)
	b.open("/sessions")
	b.wait(`document.querySelectorAll(".vlist-row").length > 5`)
	b.showScrollBars()
	b.wait(`((list) => list.offsetWidth - list.clientWidth > 4)(document.querySelector(".srows"))`)
	for _, class := range []string{"srow-agent", "srow-window", "srow-time"} {
		left := `.` + class + `").getBoundingClientRect().left`
		b.wait(`document.querySelector(".heads ` + left + ` === document.querySelector(".vlist-row ` + left)
	}
}

// showScrollBars gives the page scroll bars that take space, which a headless browser hides.
func (b *tab) showScrollBars() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScrollbarsHidden, emulation.SetScrollbarsHiddenParams{Hidden: false}); err != nil {
		b.fatalf("showing scroll bars: %v", err)
	}
}
