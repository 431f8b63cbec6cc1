package webtest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"firn.dev"

	"github.com/chromedp/chromedp"
)

// press clicks an element as soon as it exists, also if another one covers it.
func (b *tab) press(element string) {
	b.t.Helper()
	b.wait(element)
	get[bool](b, "("+element+".click(), true)")
}

// overlay is a dialog, a menu or a bar, and how it is opened.
type overlay struct {
	// title is the title of a dialog, or the name of another element.
	title string
	// element is its element, if it is not a dialog.
	element string
	open    func(b *tab)
	// close closes it; without it Escape does.
	close func(b *tab)
	// to is the maximum width of the window, if there is one.
	to int64
}

// pressed opens an overlay by clicks.
func pressed(elements ...string) func(*tab) {
	return func(b *tab) {
		for i, e := range elements {
			if i > 0 {
				b.wait(`document.activeElement?.closest("[role=menu]")`)
			}
			b.press(e)
		}
	}
}

// written opens an overlay from the composer.
func written(text string, enter bool) func(*tab) {
	return func(b *tab) {
		b.press(a("textbox", "Message"))
		get[bool](b, "("+a("textbox", "Message")+".focus(), true)")
		b.insert(text)
		if enter {
			b.wait(a("textbox", "Message") + ".value === " + quote(text))
			b.key("\r")
		}
	}
}

const overlayID = firn.ID("session-with-overlays")

// writeOverlaid writes a session with tools, a compaction and a branch.
func writeOverlaid(home string) error {
	s := newScribe(overlayID, longAgo, firn.Header{Key: "agent:main:overlays"})
	s.title("Overlays")
	s.tags("plain")
	s.user("A first question.")
	s.uses("bash", `{"command":"ls"}`, "a file")
	s.says("A first answer.")
	kept := s.user("A second question.")
	s.compaction("## Goal\n\nAnswer questions.", kept, 150_000)
	s.says(strings.Repeat("A second answer. ", 200))
	s.user("A third question.")
	s.says("A third answer.")
	return s.keep(home)
}

const (
	sessionMenu = `document.querySelector(".session-menu button")`
	entryMenu   = `[...document.querySelectorAll(".message.assistant .entry-menu")].at(-1)`
)

// overlays returns the overlays by the path of their page.
func overlays(note string) map[string][]overlay {
	ctrl := func(key string) func(*tab) { return func(b *tab) { b.key(key, chromedp.ModifierCtrl) } }
	toList := func(what string) func(*tab) {
		return pressed(`document.querySelector(".srow-more")`, a("menuitem", what))
	}
	return map[string][]overlay{
		"/sessions": {
			{title: "Command palette", open: ctrl("k")},
			{title: "Keyboard shortcuts", open: func(b *tab) { b.key("?") }},
			{title: "Rename session", open: toList("Rename…")},
			{title: "Tag ", open: toList("Tag…")},
			{title: "Export ", open: toList("Export…")},
		},
		toSession(overlayID): {
			{title: "Tag ", open: pressed(sessionMenu, a("menuitem", "Tags…"))},
			{title: "Export ", open: pressed(sessionMenu, a("menuitem", "Export…"))},
			{title: "Compact", open: pressed(sessionMenu, a("menuitem", "Compact…"))},
			{title: "CLI commands", open: pressed(sessionMenu, a("menuitem", "Copy as CLI…"))},
			{title: "Retry with another model", open: pressed(entryMenu, a("menuitem", "Retry with another model…"))},
			{title: "Timeline", open: pressed(entryMenu, a("menuitem", "/^Timeline/"))},
			{title: "Rewind files", open: pressed(entryMenu, a("menuitem", "Rewind files…"))},
			{title: "Label", open: pressed(entryMenu, a("menuitem", "Label…"))},
			{title: "CLI commands", open: pressed(entryMenu, a("menuitem", "Copy as CLI…"))},
			{title: "Choose a model", open: pressed(a("button", "/^Model:/"))},
			{title: "Choose an agent", open: written("/agent ", true)},
			{title: "Commands", element: `.slash`, open: written("/", false), close: func(b *tab) { b.key("\b") }},
			{title: "This session", element: `.find`, open: ctrl("f")},
			{title: "Outline", element: `.outline`, to: 1239, open: pressed(`document.querySelector(".outline-toggle")`), close: pressed(`document.querySelector(".outline .icon-button")`)},
			{title: "Compaction details", open: pressed(a("button", "Diff"))},
		},
		"/keys/" + url.PathEscape("agent:main:overlays"): {
			{title: "Point ", open: pressed(a("button", "Point to…"))},
		},
		"/memory?note=" + url.QueryEscape(note): {
			{title: "Add a note", open: pressed(a("button", "/^Add/"))},
			{title: "Edit ", open: pressed(a("button", "Edit…"))},
		},
		"/memory": {
			{title: "Delete all listed notes?", open: pressed(a("button", "Delete all…"))},
		},
		"/ops": {
			{title: "Create a token", open: pressed(a("button", "Create"))},
			{title: "Secret of ", open: func(b *tab) {
				pressed(a("button", "Create"))(b)
				b.wait(a("dialog", "Create a token"))
				get[bool](b, "("+a("textbox", "/^Name/")+".focus(), true)")
				b.insert(unlike("overlay"))
				b.press(`document.querySelector("dialog[open] button[type=submit]:not(:disabled)")`)
			}},
			{title: "Revoke ", open: pressed(a("button", "/^Revoke /"))},
			{title: "Run maintenance?", open: pressed(a("button", "Enforce…"))},
		},
	}
}

// titlesInSource returns the titles of all dialogs in the sources, up to their first variable
// part.
func titlesInSource(t *testing.T) []string {
	t.Helper()
	use := regexp.MustCompile("<(?:Dialog|\\w*Picker)\\b[^>]*?\\stitle=(?:\"([^\"]*)\"|\\{`([^`$]*))")
	var titles []string
	err := filepath.WalkDir(filepath.Join("..", "src"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".tsx") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range use.FindAllStringSubmatch(string(text), -1) {
			titles = append(titles, m[1]+m[2])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(titles) < 18 {
		t.Fatalf("the sources have the dialogs %q", titles)
	}
	return titles
}

// TestOverlays checks every dialog, menu and bar with axe on every screen.
// The sources have no dialog that it does not open. Then it runs a command of each form that
// pages, menus and dialogs offer.
func TestOverlays(t *testing.T) {
	t.Parallel()
	s, err := serveWith(writeOverlaid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	s.run(t, "memory", "add", "--name", "rules", "--type", "constraint", "Never deploy on Mondays.")
	table := overlays("agent/rules")
	var known []string
	for _, list := range table {
		for _, o := range list {
			known = append(known, o.title)
		}
	}
	for _, title := range titlesInSource(t) {
		if !slices.Contains(known, title) {
			t.Errorf("the dialog %q is not checked", title)
		}
	}
	first := s.login(t)
	offered := &hints{byForm: make(map[string]string)}
	t.Run("open", func(t *testing.T) {
		for path, list := range table {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				first.beside(t).checkOverlays(path, list, offered)
			})
		}
	})
	for _, path := range []string{"/live", "/search?q=question", "/usage?since=all", "/sources", "/settings", "/keys", "/memory?view=changes", "/memory?view=dream",
		toSession(overlayID) + "/tree", toSession(overlayID) + "/window", toSession(overlayID) + "/usage", toSession(overlayID) + "/raw"} {
		first.open(path)
		first.settled()
		offered.collect(first)
		offered.menus(first)
	}
	first.allow("401 (Unauthorized)") // its token is one of those that are revoked
	offered.run(t, s)
}

// checkOverlays checks the overlays of a page on every screen, and collects the commands that
// they offer.
func (b *tab) checkOverlays(path string, list []overlay, offered *hints) {
	b.t.Helper()
	b.dark(looks[0].dark)
	b.size(screens[0][0], screens[0][1]) // a wide window opens the outline
	b.open(path)
	b.settled()
	b.injectAxe()
	// An overlay stays open while the window gets wider.
	for _, pair := range [][][2]int64{screens[:2], screens[2:]} {
		for i, o := range list {
			if o.to == 0 || pair[1][0] <= o.to {
				b.size(pair[0][0], pair[0][1])
				b.settled()
				b.checkOverlay(o, pair, i == 0, offered)
			}
		}
	}
	offered.collect(b)
	offered.menus(b)
}

// checkOverlay opens an overlay, checks it on screens, and closes it.
func (b *tab) checkOverlay(o overlay, screens [][2]int64, colors bool, offered *hints) {
	b.t.Helper()
	o.open(b)
	element := o.element
	if element == "" {
		element = "dialog[open]"
		b.wait(fmt.Sprintf(`document.activeElement?.closest("dialog[open]")?.querySelector("h2").innerText.startsWith(%s)`, quote(strings.TrimSpace(o.title))))
	}
	b.wait(fmt.Sprintf("document.querySelector(%s)", quote(element)))
	b.settled()
	offered.collect(b)
	for _, screen := range screens {
		b.size(screen[0], screen[1])
		b.frames()
		b.inLooks(element, fmt.Sprintf("%s at %d px", o.title, screen[0]), runsAt(screen[0], colors))
	}
	if o.close != nil {
		o.close(b)
	} else {
		b.key("\x1b")
	}
	b.wait(fmt.Sprintf("!document.querySelector(%s)", quote(element)))
}

// checkedMenus are the kinds of menus that were checked, by their class and the width of the
// window.
var checkedMenus sync.Map

// checkMenus opens a menu of each kind on the page and checks it, once for all pages.
func (b *tab) checkMenus(width int64) {
	b.t.Helper()
	kinds := get[[]string](b, `[...new Set(webtest.all("button[aria-haspopup=menu]").map((el) => el.className))]`)
	for _, kind := range kinds {
		if _, done := checkedMenus.LoadOrStore([2]any{kind, width}, true); done {
			continue
		}
		button := fmt.Sprintf(`webtest.all("button[aria-haspopup=menu]").find((el) => el.className === %s)`, quote(kind))
		b.press(button)
		b.wait(`document.querySelector(".menu-list")`)
		b.inLooks(".menu-list", fmt.Sprintf("menu %q at %d px", kind, width), runsAt(width, true))
		b.key("\x1b")
		b.wait(`!document.querySelector(".menu-list")`)
	}
}
