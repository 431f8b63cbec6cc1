package webtest

import (
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/wire"

	"github.com/chromedp/chromedp"
)

// TestFork forks a session at an entry.
func TestFork(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	id := s.newSession(t, "Forking", "My first question.", "My second question.")
	b := s.login(t)
	b.open(toSession(id))
	b.see("My second question.")
	b.menuOf("My first question.", "Fork here")
	b.wait(`!location.pathname.endsWith(` + quote(string(id)) + `)`)
	b.see("My first question.")
	b.gone("My second question.")
	b.click("link", "/forked from/")
	b.see("My second question.")
}

// TestRewind rewinds, edits the message, and checks that nothing was lost.
func TestRewind(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	id := s.newSessionFor(t, "player", "Rewinding", "My first question.", "My second question.")
	b := s.login(t)
	b.open(toSession(id))
	b.see("My second question.")
	b.menuOf("My first question.", "Rewind here")
	b.gone("My second question.")
	b.click("button", "Undo")
	b.see("My second question.")
	b.menuOf("My second question.", "Edit")
	b.wait(a("textbox", "Message") + `.value === "My second question."`)
	b.send("Please play otherwise.")
	p := world.model.plays(t, "otherwise")
	p.text("Another way.")
	p.end()
	b.once("Another way.")
	b.see("My first question.")
	b.wait(a("link", "2 branches"))
}

// TestLabelAndHide labels an entry and hides another from the model.
func TestLabelAndHide(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	id := s.newSession(t, "Labels", "A question to label.", "A question to hide.")
	b := s.login(t)
	b.open(toSession(id))
	b.see("A question to hide.")
	b.menuOf("A question to label.", "Label…")
	b.wait(a("dialog", "/Label/"))
	b.insert("milestone")
	b.key("\r")
	b.wait(entry("A question to label.") + `.innerText.includes("milestone")`)
	b.menuOf("A question to hide.", "Hide from the model")
	b.wait(entry("A question to hide.") + `.innerText.includes("hidden")`)
	b.clickOn(`webtest.all("button", "Undo").at(-1)`)
	b.wait(`!` + entry("A question to hide.") + `.innerText.includes("hidden")`)
	if tree := s.run(t, "tree", string(id)); !strings.Contains(tree, "milestone") {
		t.Errorf("the label is not in the session: %s", tree)
	}
}

// longTalk creates a session that is long enough to compact.
func (s *server) longTalk(t *testing.T, title string) firn.ID {
	t.Helper()
	w := newScribe(firn.ID(strings.ReplaceAll(unlike("talk"), " ", "-")), longAgo.AddDate(0, 4, 0), firn.Header{})
	for i := range 12 {
		w.user("Question " + string(rune('A'+i)) + ": " + strings.Repeat("what shall we do about it? ", 120))
		w.says("Answer " + string(rune('A'+i)) + ": " + strings.Repeat("we decided to wait and see. ", 120))
	}
	w.title(title)
	s.keep(t, w)
	return w.id
}

// TestCompaction compacts a session, shows the details, and undoes it.
func TestCompaction(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	id := s.longTalk(t, "Compacting")
	b := s.login(t)
	b.open(toSession(id))
	b.see("Question L")
	b.click("button", "Session actions")
	b.click("menuitem", "Compact…")
	b.wait(a("dialog", "/Compact/"))
	b.fill("textbox", "/^Recent tokens/", "3000")
	b.click("button", "Compact")
	b.wait(`!` + a("dialog", "/./"))
	marker := `webtest.find("section[aria-label=Compaction]")`
	b.wait(marker)
	b.wait(entry("Question A") + ` || true`)

	b.clickOn(marker + `.querySelector("button[aria-expanded]")`)
	b.wait(marker + `.innerText.length > 100`)
	b.click("button", "Diff")
	b.wait(a("dialog", "/Compaction details/"))
	b.see("no longer sent")
	b.key("\x1b")
	b.wait(`!` + a("dialog", "/./"))
	b.upTo("Question A")
	b.wait(entry("Question A") + `.innerText.includes("replaced by a summary")`)

	compactions, err := s.client.Compactions(t.Context(), id)
	if err != nil || len(compactions) != 1 || compactions[0].Undone {
		t.Fatalf("compactions: %+v, %v", compactions, err)
	}
	b.click("button", "/^Latest$|below$/")
	b.clickOn(`webtest.find("button", "Undo", ` + marker + `)`)
	b.wait(marker + `.innerText.includes("undone")`)
	b.upTo("Question A")
	b.wait(`!` + entry("Question A") + `.innerText.includes("replaced by a summary")`)
	if compactions, err = s.client.Compactions(t.Context(), id); err != nil || len(compactions) != 1 || !compactions[0].Undone {
		t.Fatalf("compactions: %+v, %v", compactions, err)
	}
}

// upTo scrolls back until an entry is visible.
func (b *tab) upTo(text string) {
	b.t.Helper()
	b.wait(`(() => {
		const el = ` + entry(text) + `;
		if (el) { el.scrollIntoView({ block: "center" }); return true }
		webtest.scroller(webtest.find("article")).scrollTop = 0;
	})()`)
}

// TestTree shows a session with five branches and continues one of them.
func TestTree(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	id := firn.ID(strings.ReplaceAll(unlike("branches"), " ", "-"))
	s.keep(t, branches(id))
	b := s.login(t)
	b.open(toSession(id) + "/tree")
	b.settled()
	b.wait(a("heading", "/^5 branches/"))
	for _, label := range []string{"lisbon", "naples", "bergen"} {
		b.see(label)
	}
	if n := get[int](b, `new Set([...document.querySelectorAll("svg circle")].map((c) => c.getAttribute("cx"))).size`); n != 5 {
		t.Errorf("the tree has %d lanes, want 5", n)
	}
	row := func(text string) string {
		return `webtest.all("li").find((el) => el.innerText.includes(` + quote(text) + `))`
	}
	b.clickOn(row("Tell me more about Lisbon.") + `?.querySelector("button[aria-haspopup=menu]")`)
	b.click("menuitem", "Compare with head")
	b.wait(`location.search.includes("compare=")`)
	b.see("Let us go to Lisbon.")
	b.see("Let us go to Bergen.")
	b.open(toSession(id) + "/tree")
	b.settled()
	b.clickOn(row("Oslo is by the sea.") + `?.querySelector("button[aria-haspopup=menu]")`)
	b.click("menuitem", "Continue here")
	b.wait(row("Oslo is by the sea.") + `.innerText.includes("head")`)
	b.click("link", "Log")
	b.once("Oslo is by the sea.")
	b.wait(`webtest.times("Bergen") === 0`)
}

// TestSearch finds a message, opens it in its session, and forks from it.
func TestSearch(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	id := s.newSession(t, "Finding", "Where is the quixotic marmalade?", "And what of it?")
	for { // the index is updated asynchronously
		found, err := s.client.Search(t.Context(), wire.SearchQuery{Query: "quixotic"})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Items) > 0 {
			break
		}
	}
	b := s.login(t)
	b.open("/search")
	b.fill("textbox", "Search messages", "quixotic")
	b.see("marmalade")
	b.wait(`location.search.includes("quixotic")`)
	b.reload()
	b.see("marmalade")
	b.clickOn(`webtest.find("link", "Finding", document.querySelector("main"))`)
	b.wait(`location.pathname === ` + quote(toSession(id)) + ` && location.search.includes("at=")`)
	b.wait(`(() => { const r = ` + entry("quixotic") + `?.getBoundingClientRect(); return r && r.top >= 0 && r.bottom <= innerHeight })()`)
	b.do(chromedp.NavigateBack())
	b.see("marmalade")
	b.click("button", "Fork from here")
	b.wait(`location.pathname.startsWith("/sessions/") && location.pathname !== ` + quote(toSession(id)))
	b.wait(entry("quixotic marmalade"))
	b.wait(`webtest.times("And what of it?") === 0`)
}
