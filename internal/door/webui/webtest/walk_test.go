package webtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// focusSign is an expression that is empty if the focus is on an element that shows it: by a
// caret, an outline, a shadow or a background of its own or of a box around it. The main
// element is the start of a page and has no sign.
const focusSign = `(() => {
	const el = document.activeElement;
	if (!el || el === document.body) return "the focus is lost";
	if (el.localName === "main") return "";
	if (!webtest.visible(el)) return "the focus is on a hidden element: " + el.outerHTML.slice(0, 120);
	const box = el.getBoundingClientRect();
	if (box.bottom < 0 || box.top > innerHeight) return "the focus is outside the window: " + el.outerHTML.slice(0, 120);
	if (el.matches("textarea, input:not([type=checkbox], [type=radio])")) return "";
	for (let e = el, n = 0; e && n < 4; e = e.parentElement, n++) {
		const s = getComputedStyle(e);
		if (e.matches(":focus-visible, :focus-within") && (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== "none")) return "";
		if (n === 0 && el.matches("[role^=menuitem]") && s.backgroundColor !== "rgba(0, 0, 0, 0)") return "";
	}
	return "the focus cannot be seen on " + el.outerHTML.slice(0, 120);
})()`

// hasFocus fails unless the focus can be seen after a step.
func (b *tab) hasFocus(step string) {
	b.t.Helper()
	b.frames()
	if fault := get[string](b, focusSign); fault != "" {
		b.t.Errorf("%s: %s", step, fault)
	}
}

// tabTo presses Tab, or Shift and Tab, until an element has the focus.
func (b *tab) tabTo(element string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	b.wait(element)
	for range 60 {
		b.key("\t", modifiers...)
		if get[bool](b, "document.activeElement === ("+element+")") {
			b.hasFocus("tab to " + element)
			return
		}
	}
	b.fatalf("60 times Tab do not reach %s", element)
}

// choose moves to an item of the open menu with the arrows and presses Enter.
func (b *tab) choose(item string) {
	b.t.Helper()
	b.wait(`document.activeElement?.closest("[role=menu]")`)
	for range 20 {
		if get[bool](b, "document.activeElement === "+a("menuitem", item)) {
			b.hasFocus("the item " + item)
			b.key("\r")
			b.wait(`!document.querySelector(".menu-list")`)
			return
		}
		b.key("\u0301") // ArrowDown
	}
	b.fatalf("the arrows do not reach %q", item)
}

// command chooses an item of the palette.
func (b *tab) command(text, item string) {
	b.t.Helper()
	b.key("k", chromedp.ModifierCtrl)
	b.wait(`document.activeElement?.matches(".palette-input")`)
	b.insert(text)
	b.wait(`webtest.find("[role=option][aria-selected=true]", ` + item + `)`)
	b.key("\r")
	b.wait(`!document.querySelector("dialog[open]")`)
}

// serveAsking runs a gateway whose agents ask before they write files.
func serveAsking(t *testing.T) *server {
	t.Helper()
	home, err := newHome()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "firn.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "\n[defaults]\nworkspace = '"+t.TempDir()+"'\nworkspace_write = true\n[defaults.approvals]\nmode = \"ask\"\n"...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := serve(home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// TestKeyboardOnly uses the pages from a new session to the theme with the keyboard alone.
// After each step the focus is on an element that shows it.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	s := serveAsking(t)
	s.newSession(t, "Another session", "A question about marmalade.")
	b := s.login(t)
	b.open("/sessions")
	b.settled()
	b.tabTo(a("link", "Skip to content"))
	b.walkTalk(t)
	b.walkSession(t)

	b.key("g")
	b.key("f")
	b.wait(`location.pathname === "/search"`)
	b.hasFocus("search")
	b.key("/")
	b.wait(`document.activeElement?.matches("input")`)
	b.insert("marmalade")
	b.key("\r")
	b.wait(`document.querySelector(".hit-title")`)
	b.tabTo(`document.querySelector(".hit-title")`)
	b.key("\r")
	b.wait(entry("marmalade"))
	b.hasFocus("a hit")

	b.command("Dark theme", `/^Dark theme/`)
	b.isDark(true)
	b.hasFocus("theme")
}

// walkTalk creates a session, stops an answer, and allows a call.
func (b *tab) walkTalk(t *testing.T) {
	b.command("New session", `/^New session/`)
	b.hasText("")
	b.hasFocus("new session")
	b.insert("/agent player")
	b.key("\r")
	b.hasText("")
	b.insert("Please play walk now.")
	b.key("\r")
	p := world.model.plays(t, "walk")
	p.text("On and on ")
	b.once("On and on")
	b.hasFocus("an answer")
	b.key("\x1b")
	p.stopped(t)
	b.wait(a("button", "Send"))
	b.hasFocus("stop")

	b.insert("/agent main")
	b.key("\r")
	b.hasText("")
	b.insert("write hello to hello.txt")
	b.key("\r")
	b.see("+hello")
	b.hasFocus("a question about a call")
	b.tabTo(a("button", "Allow"), chromedp.ModifierShift)
	b.key("\r")
	b.see("Done: created hello.txt")
	b.wait(`!document.querySelector(".approval")`)
	b.hasFocus("allow")

	b.key("\x1b")
	b.wait(`document.activeElement?.matches("[data-entry]")`)
	b.hasFocus("leave the composer")
	for range 10 {
		if get[bool](b, `!!document.activeElement.querySelector(".tool-line")`) {
			break
		}
		b.key("k")
		b.frames()
	}
	line := `document.activeElement.querySelector(".tool-line")`
	was := get[string](b, line+`.getAttribute("aria-expanded")`)
	b.key("\r")
	b.wait(line + `.getAttribute("aria-expanded") !== ` + quote(was))
	b.hasFocus("a tool card")
}

// walkSession finds words, opens another session and back, renames, pins and branches.
func (b *tab) walkSession(t *testing.T) {
	b.key("f", chromedp.ModifierCtrl)
	b.wait(`document.activeElement?.matches(".find input")`)
	b.insert("walk")
	b.wait(`/^1 of/.test(document.querySelector(".find-count").innerText)`)
	b.hasFocus("find")
	b.key("\x1b")
	b.wait(`!document.querySelector(".find")`)
	b.hasFocus("close find")

	b.command("Another session", `/^Another session/`)
	b.wait(entry("marmalade"))
	b.settled()
	b.hasFocus("another session")

	menu := `document.querySelector(".session-menu button")`
	b.tabTo(menu)
	b.key("\r")
	b.choose("Rename")
	b.wait(`document.activeElement?.matches(".session-name")`)
	b.insert("Renamed by keys")
	b.key("\r")
	b.wait(a("heading", "Renamed by keys"))
	b.hasFocus("rename")
	b.wait(`document.activeElement === ` + menu)
	b.key("\r")
	b.choose("Pin")
	b.wait(`[...document.querySelectorAll(".session-title .chip")].some((c) => c.innerText === "pinned")`)
	b.hasFocus("pin")

	b.key("c")
	b.hasText("")
	b.key("\x1b")
	for range 10 {
		if get[bool](b, `document.activeElement.matches(".user[data-entry]")`) {
			break
		}
		b.key("k")
		b.frames()
	}
	b.key(".")
	b.choose("Edit")
	b.wait(`document.activeElement === ` + composer + ` && ` + composer + `.value.includes("marmalade")`)
	b.hasFocus("edit")
	b.insert(" And honey.")
	b.key("\r")
	b.wait(`document.querySelector(".entry-arrows")?.innerText.includes("2/2")`)
	b.wait(a("button", "Send"))
	b.hasFocus("branch")
	b.tabTo(a("button", "Previous branch"), chromedp.ModifierShift)
	b.key("\r")
	b.wait(`document.querySelector(".log-aside")`)
	b.settled()
	b.hasFocus("another branch")
	if text := get[string](b, "webtest.text()"); strings.Contains(text, "And honey.") {
		t.Error("the other branch shows the edited message")
	}
}
