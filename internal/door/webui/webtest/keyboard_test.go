package webtest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestKeyboard uses the pages without a mouse.
func TestKeyboard(t *testing.T) {
	s := plainServer(t)
	name := unlike("By keys alone")
	s.newSession(t, name, "A question by keys.")
	b := s.login(t)
	b.open("/sessions")
	b.see(name)

	b.key("?")
	b.wait(a("dialog", "/./"))
	b.see("Global")
	b.key("\x1b")
	b.wait(`!` + a("dialog", "/./"))

	b.key("/")
	b.wait(`document.activeElement === ` + a("textbox", "/first message/"))
	b.insert(name)
	b.wait(`location.search.includes("keys")`)
	b.wait(`document.querySelectorAll(".vlist-row").length === 1`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	b.key("j")
	b.wait(`document.activeElement.innerText === ` + quote(name))
	b.key("\r")
	b.wait(entry("A question by keys."))
	b.key("j")
	b.wait(`document.activeElement.closest("[data-entry]")`)
	b.key("c")
	b.wait(`document.activeElement === ` + a("textbox", "Message"))
	b.key("\x1b")

	b.key("g")
	b.key("u")
	b.wait(`location.pathname === "/usage"`)
	b.key("k", chromedp.ModifierCtrl)
	b.wait(a("dialog", "/./"))
	b.insert(name)
	b.wait(`webtest.find("[role=option][aria-selected=true]", /^By keys alone/)`)
	b.key("\r")
	b.wait(`location.pathname.startsWith("/sessions/")`)
	b.see("A question by keys.")
}

// TestFocusAfterBrowserClose checks that the focus stays where a key moved it between the moment
// the browser closes a dialog and its report of it.
func TestFocusAfterBrowserClose(t *testing.T) {
	t.Parallel()
	b := openHelp(t)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("dialog").close(); webtest.find("textbox", /first message/).focus()`))
	b.wait(`!document.querySelector("dialog")`)
	b.mustFocusText()
}

// TestFocusAfterClose checks that a dialog gives the focus back at once: a key that is pressed
// after it disappeared, before the page is drawn, may move the focus.
func TestFocusAfterClose(t *testing.T) {
	t.Parallel()
	b := openHelp(t)
	b.do(chromedp.Evaluate[chromedp.Void](`new MutationObserver(() => document.querySelector("dialog") || webtest.find("textbox", /first message/).focus()).observe(document.body, { childList: true, subtree: true })`))
	b.press(`document.querySelector("dialog [aria-label=Close]")`)
	b.wait(`!document.querySelector("dialog")`)
	b.settled()
	b.mustFocusText()
}

// openHelp opens the dialog with the shortcuts.
func openHelp(t *testing.T) *tab {
	t.Helper()
	s := plainServer(t)
	b := s.login(t)
	b.open("/sessions")
	b.settled()
	b.key("?")
	b.wait(a("dialog", "/./"))
	return b
}

// mustFocusText checks that the text box has the focus.
func (b *tab) mustFocusText() {
	b.t.Helper()
	if !get[bool](b, `document.activeElement === webtest.find("textbox", /first message/)`) {
		b.t.Error("closing the dialog took the focus from the text box")
	}
}

// TestTabOrder walks through a page with the tab key without losing the focus.
func TestTabOrder(t *testing.T) {
	s := plainServer(t)
	b := s.login(t)
	b.open("/sessions")
	b.settled()
	b.key("\t")
	b.wait(`document.activeElement.innerText === "Skip to content"`)
	for range 12 {
		b.key("\t")
		b.wait(`document.activeElement !== document.body && webtest.visible(document.activeElement)`)
		if !get[bool](b, `(() => { const s = getComputedStyle(document.activeElement); return document.activeElement.matches(":focus-visible") && (s.outlineStyle !== "none" || s.boxShadow !== "none" || s.borderColor !== "") })()`) {
			t.Errorf("the focus of %s is not visible", get[string](b, `document.activeElement.outerHTML.slice(0, 100)`))
		}
	}
}

// TestThemes switches the theme manually and checks that it is remembered.
func TestThemes(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.dark(false)
	b.open("/sessions")
	b.settled()
	b.isDark(false)
	b.key("t")
	b.isDark(false)
	b.key("t")
	b.isDark(true)
	b.reload()
	b.settled()
	b.isDark(true)
	b.key("t")
	b.isDark(false)
	b.dark(true)
	b.isDark(true)
}

// TestReadOnly checks that pages offer no changes to a read-only login.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	id := s.newSession(t, "Only looking", "A question to look at.")
	b := s.login(t, "--read")
	const writing = `webtest.all("any", /^(Send|Stop|Queue|Retry|New session|Rename|Tags?…|Fork|Fork here|Rewind here|Rewind files…|Hide|Hide from.*|Compact…?|Undo|Redo|Label…|Archive|Restore|Continue here|Forget|Edit|Remember|Dream now|Reset|Point to.*|Verify|Run|Revoke|New token.*|Create.*|Message|Enforce|Delete|Remove)$/i).map(webtest.name)`
	for name, path := range pages {
		if name == "no session" || name == "no page" {
			continue
		}
		b.open(path)
		b.settled()
		if offers := get[[]string](b, writing); len(offers) > 0 {
			t.Errorf("%s offers %q to a read-only user", path, offers)
		}
	}
	b.open(toSession(id))
	b.see("A question to look at.")
	b.clickOn(entry("A question to look at.") + `.querySelector("button[aria-haspopup=menu]")`)
	b.wait(a("menuitem", "Copy link"))
	if offers := get[[]string](b, writing); len(offers) > 0 {
		t.Errorf("the menu of an entry offers %q to a read-only user", offers)
	}
	b.allow("403")
	if status := get[int](b, `fetch("/v1/sessions", {method: "POST", headers: {"X-Firn": "web", "Content-Type": "application/json"}, body: "{}"}).then((r) => r.status)`); status != 403 {
		t.Errorf("a read-only user created a session: status %d", status)
	}
}

// TestForeignPagesAreRefused sends a write as another site's page would, without the header
// that only our pages send.
func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open("/sessions")
	b.allow("403")
	if status := get[int](b, `fetch("/v1/sessions", {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"}).then((r) => r.status)`); status != 403 {
		t.Errorf("a session was made without the header: %d", status)
	}
}

// TestContrastAndDensity switches the contrast and the density, which are remembered, and
// follows the contrast of the system. Text grows on wide screens and pages do not.
func TestContrastAndDensity(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open("/sessions")
	b.settled()
	ink := get[string](b, `getComputedStyle(document.querySelector(".srow-time")).color`)
	row := get[float64](b, `document.querySelector(".srow:not(.heads)").getBoundingClientRect().height`)
	b.command("High contrast", `/^High contrast/`)
	b.command("Compact", `/^Compact density/`)
	check := func() {
		t.Helper()
		b.wait(`document.documentElement.dataset.contrast === "more"`)
		b.wait(`getComputedStyle(document.querySelector(".srow-time")).color !== ` + quote(ink))
		b.wait(fmt.Sprintf(`document.querySelector(".srow:not(.heads)").getBoundingClientRect().height < %f`, row-4))
	}
	check()
	b.reload()
	b.settled()
	check()
	b.command("Contrast of", `/^Contrast of the system/`)
	b.wait(`document.documentElement.dataset.contrast === "auto"`)
	b.prefer(false, true)
	b.wait(`document.documentElement.dataset.contrast === "more"`)

	size := `parseFloat(getComputedStyle(document.querySelector(".srow-name")).fontSize)`
	b.size(1280, 800)
	small := get[float64](b, size)
	b.size(3840, 2160)
	b.frames()
	if large := get[float64](b, size); large < small*1.25 {
		t.Errorf("text of %g px is %g px on a 4K screen", small, large)
	}
	const wrapped = `[...document.querySelectorAll(".srow .num")].filter((el) => webtest.visible(el) && el.getBoundingClientRect().height > 1.9 * parseFloat(getComputedStyle(el).fontSize)).map((el) => el.className + " " + el.innerText)`
	if cells := get[[]string](b, wrapped); len(cells) > 0 {
		t.Errorf("numbers are wrapped on a 4K screen: %q", cells)
	}
	if wide := get[float64](b, `document.querySelector(".page").getBoundingClientRect().width`); wide > 2300 {
		t.Errorf("a page is %g px wide", wide)
	}
	b.size(390, 844)
	b.open("/search")
	b.settled()
	const room = `(() => {
		const el = document.querySelector(".search-box input"), s = getComputedStyle(el), c = document.createElement("canvas").getContext("2d");
		c.font = s.font;
		return el.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight) - c.measureText(el.placeholder).width;
	})()`
	if left := get[float64](b, room); left < 0 {
		t.Errorf("the placeholder of the search is %g px too long on a phone", -left)
	}
}
