package webtest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestMemoryActions edits a note, forgets it, and undoes both.
func TestMemoryActions(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	name := unlike("House rules")
	s.run(t, "memory", "add", "--name", name, "--type", "constraint", "Never deploy on Mondays.")
	b := s.login(t)
	b.open("/memory")
	note := a("link", "/^"+name+"/")
	b.clickOn(note)
	b.see("Never deploy on Mondays.")
	b.click("button", "Edit…")
	b.wait(a("dialog", "/^Edit/"))
	b.wait(a("button", "/^Copy as CLI: firn memory edit agent/"))
	b.fill("textbox", "/^Markdown text/", "Never deploy on Fridays.")
	b.click("button", "Save")
	b.wait("!" + a("dialog", "/^Edit/"))
	b.see("Never deploy on Fridays.")
	if output := s.run(t, "memory", "search", name); !strings.Contains(output, "Fridays") {
		t.Errorf("the command line printed %s", output)
	}
	b.click("button", "Undo")
	b.see("Never deploy on Mondays.")
	b.gone("Never deploy on Fridays.")

	b.click("button", "Delete")
	b.wait("!" + note)
	b.wait(`!location.search.includes("note=")`)
	b.click("button", "Undo")
	b.clickOn(note)
	b.see("Never deploy on Mondays.")
}

// TestKeyActions points a key to another session and undoes it.
func TestKeyActions(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	first, second := unlike("The first talk"), unlike("The second talk")
	one, two := s.newSessionFor(t, "player", first), s.newSessionFor(t, "player", second)
	key := "agent:main:desk-" + string(one)[len(one)-8:]
	s.run(t, "keys", "set", key, string(one))
	b := s.login(t)
	b.open("/keys/" + url.PathEscape(key))
	b.wait(a("link", first))
	b.click("button", "Point to…")
	b.fill("textbox", "/^Session title/", second)
	b.wait(`document.querySelectorAll(".pick-list input").length === 1`)
	b.click("radio", "/^"+second+"/")
	b.click("button", "Point")
	b.wait("!" + a("dialog", "/./"))
	b.wait(a("link", second))
	b.points(s, key, string(two))
	b.click("button", "Undo")
	b.wait(a("link", first))
	b.points(s, key, string(one))
}

// points fails unless a key points to a session.
func (b *tab) points(s *server, key, id string) {
	b.t.Helper()
	b.settled()
	if k, err := s.client.Keys.Get(b.t.Context(), key); err != nil || string(k.Session) != id {
		b.t.Errorf("the key points at %s, %v; want %s", k.Session, err, id)
	}
}

// TestOpsActions runs a maintenance preview and a full verification.
func TestOpsActions(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open("/ops")
	b.click("button", "Dry run")
	b.see("Nothing to remove in ")
	b.click("button", "Verify all sessions")
	b.wait(`/\d sessions?, no fault\.|\d faults? in \d+ session/.test(webtest.text())`) // other tests create damaged sessions
	b.wait(a("button", "Verify all sessions") + `.disabled === false`)
}

// claudeLine is a line of a Claude Code transcript.
const claudeLine = `{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/home/you/shop","sessionId":"%[1]s","version":"2.0.1","gitBranch":"main","type":"user","message":{"role":"user","content":"Count the parcels."},"uuid":"7f0c1c7e-0001-4000-8000-000000000001","timestamp":"2026-03-01T10:00:00.000Z"}
`

// writeMirrored creates a folder of another tool and mirrors it.
func writeMirrored(home string) error {
	const id = "0b0f9a52-5f0c-4c2e-9d0e-3a3e4b9f7c11"
	dir := filepath.Join(home, "user", ".claude", "projects", "-home-you-shop")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), fmt.Appendf(nil, claudeLine, id), 0o600); err != nil {
		return err
	}
	_, err := runIn(home, "adopt", filepath.Join(home, "user", ".claude"), "--yes")
	return err
}

// TestSources shows a mirrored directory and opens its sessions.
func TestSources(t *testing.T) {
	t.Parallel()
	s, err := serveWith(writeMirrored)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	b := s.login(t)
	b.open("/sources")
	b.see("1 mirrored directory")
	b.see("byte for byte")
	b.clickOn(`webtest.find("summary")`)
	b.wait(`webtest.find("details[open] li")`)
	b.wait(a("button", "/^Copy as CLI: firn adopt /"))
	b.click("link", "/^claude/")
	b.wait(`location.search.startsWith("?source=claude")`)
	b.see("Count the parcels.")
	b.wait(`document.querySelectorAll(".vlist-row a").length === 1`)
	// The session names the program that it is from.
	b.clickOn(`document.querySelector(".vlist-row a")`)
	b.wait(`document.querySelector(".source-badge")?.textContent === "Claude Code"`)
}

// setVisible sets the visibility of the page, as when a tab is in the background.
func (b *tab) setVisible(on bool) {
	b.t.Helper()
	get[bool](b, fmt.Sprintf(`(() => {
		Object.defineProperty(document, "hidden", { configurable: true, get: () => %t });
		return document.dispatchEvent(new Event("visibilitychange"));
	})()`, !on))
}

// TestHiddenTab hides a tab during an answer. It must close its streams, and after it is
// shown again nothing is missing or duplicated.
func TestHiddenTab(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", "Out of sight")))
	b.send("Please play hidden.")
	p := world.model.plays(t, "hidden")
	p.text("Before ")
	b.once("Before")
	b.setVisible(false)
	b.noStream()
	p.text("meanwhile ")
	b.setVisible(true)
	b.once("Before meanwhile")
	b.setVisible(false)
	b.noStream()
	p.text("after.")
	p.end()
	b.setVisible(true)
	b.once("Before meanwhile after.")
	b.once("Please play hidden.")
	b.wait(a("button", "Send"))
}

// noStream waits until the page has no open stream.
func (b *tab) noStream() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for ctx.Err() == nil {
		if !b.watch.listens() {
			return
		}
		get[int](b, "1") // browser events arrive with its responses
	}
	b.t.Fatalf("the page still listens: %+v", b.watch.all())
}

// TestImages drops images into the composer, removes one, and sends the message.
func TestImages(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	b.open(toSession(s.newSessionFor(t, "player", "Pictures")))
	b.drop(picture(t, "dot.png"), picture(t, "other.png"))
	b.wait(`webtest.all("form img").filter((el) => el.src.startsWith("data:image/png") && el.naturalWidth === 8).length === 2`)
	b.click("button", "/^Remove other.png/")
	b.wait("!" + a("button", "/^Remove other.png/"))
	b.send("Please play images.")
	p := world.model.plays(t, "images")
	if !bytes.Contains(p.asked, []byte("data:image/png;base64,")) {
		t.Errorf("the model was sent %.300s", p.asked)
	}
	p.text("A red square.")
	p.end()
	b.once("A red square.")
	b.wait(`webtest.all("article img").filter((el) => el.src.endsWith("/images/1") && el.naturalWidth === 8).length === 1`)
	b.reload()
	b.wait(`webtest.all("article img").filter((el) => el.src.endsWith("/images/1") && el.naturalWidth === 8).length === 1`)
}

// picture writes a small image file.
func picture(t *testing.T, name string) string {
	t.Helper()
	p := image.NewRGBA(image.Rect(0, 0, 8, 8))
	for i := range 64 {
		p.Set(i%8, i/8, color.RGBA{200, 30, 30, 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, p); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// drop drags files from outside and drops them on the composer.
func (b *tab) drop(files ...string) {
	b.t.Helper()
	box := a("textbox", "Message")
	await[struct{ X, Y float64 }](b, "webtest.aim("+box+")")
	at := await[struct{ X, Y float64 }](b, "webtest.aim("+box+")")
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: files, DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		if _, err := chromedp.Call(b.ctx, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: at.X, Y: at.Y, Data: data}); err != nil {
			b.fatalf("dragging files: %v", err)
		}
	}
}

// TestMenusHaveCommands walks through a menu with the arrow keys, including the equivalent
// commands.
func TestMenusHaveCommands(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	id := s.newSession(t, unlike("Menus"), "What is 1 plus 1?")
	b.open(toSession(id))
	b.wait(entry("What is 1 plus 1?"))
	b.settled()
	b.click("button", "Session actions")
	b.focused("Rename")
	b.key(kb.ArrowDown)
	b.focused("Tags…")
	b.key(kb.ArrowDown)
	b.focused("Fork")
	b.key(kb.ArrowRight)
	b.focused("Copy as CLI: firn fork " + string(id))
	b.key("\r")
	b.see("Copied the command")
	b.wait(`!webtest.find("[role=menu]")`)
}

// focused waits until the focused element has a name.
func (b *tab) focused(name string) {
	b.t.Helper()
	b.wait(`webtest.name(document.activeElement) === ` + quote(name))
}
