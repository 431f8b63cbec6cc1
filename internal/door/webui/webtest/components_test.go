package webtest

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// componentShare is the share of blocks of a component's picture that may differ. It has few.
const componentShare = 0.1

// componentBytes is the maximum size of all pictures of components.
const componentBytes = 300_000

// component is a part of the pages with a picture in docs/design-pages.md.
type component struct {
	name, path, element string
	open                func(b *tab)
}

var components = []component{
	{name: "buttons", path: "/ops", element: ".section-actions"},
	{name: "filters", path: "/sessions", element: ".filters"},
	{name: "row", path: "/sessions", element: ".srow:not(.heads, .coming)"},
	{name: "navigation", path: "/sessions", element: ".room[aria-current]"},
	{name: "menu", path: "/sessions/golden-main", element: ".menu-list", open: pressed(sessionMenu)},
	{name: "dialog", path: "/sessions/golden-main", element: "dialog[open]", open: pressed(sessionMenu, a("menuitem", "Tags…"))},
	{name: "palette", path: "/sessions", element: "dialog[open]", open: func(b *tab) {
		b.key("k", chromedp.ModifierCtrl)
		b.wait(`document.querySelectorAll(".palette-item").length > 4`)
	}},
	{name: "tabs", path: "/sessions/golden-main", element: ".tabs"},
	{name: "message", path: "/sessions/golden-main", element: ".message.user"},
	{name: "tool", path: "/sessions/golden-main", element: ".tool", open: pressed(`document.querySelector(".tool-line")`)},
	{name: "composer", path: "/sessions/golden-main", element: ".composer"},
	{name: "hit", path: "/search?q=trains", element: ".hit"},
	{name: "table", path: "/usage?since=all", element: ".table"},
}

// TestComponents takes a picture of each component (go test -pictures writes them) and
// compares it with that of the design page, which shows all of them.
func TestComponents(t *testing.T) {
	t.Parallel()
	s := goldenServer(t)
	docs := filepath.Join("..", "..", "..", "..", "docs")
	text, err := os.ReadFile(filepath.Join(docs, "design-pages.md"))
	if err != nil {
		t.Fatal(err)
	}
	b := s.login(t)
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: frozen}); err != nil {
		t.Fatal(err)
	}
	b.dark(false)
	b.size(1000, 700)
	for _, c := range components {
		if !strings.Contains(string(text), "](pictures/design/"+c.name+".png)") {
			t.Errorf("docs/design-pages.md does not show %s", c.name)
		}
		b.open(c.path)
		b.settled()
		if c.open != nil {
			c.open(b)
		}
		b.component(c, filepath.Join(docs, "pictures", "design", c.name+".png"))
	}
	checkSizes(t, filepath.Join(docs, "pictures", "design"), componentBytes)
}

// component takes a picture of a component and compares it with the one in the repository.
func (b *tab) component(c component, path string) {
	b.t.Helper()
	at := await[struct{ X, Y, Width, Height float64 }](b, fmt.Sprintf(`(() => {
		const el = document.querySelector(%s);
		if (!el || !webtest.visible(el)) return null;
		el.scrollIntoView({ block: "nearest" });
		const r = el.getBoundingClientRect();
		return { x: r.x, y: r.y, width: Math.min(r.width, 620), height: Math.min(r.height, 360) };
	})()`, quote(c.element)))
	b.settled()
	b.useFonts()
	raw, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: &page.Viewport{X: at.X, Y: at.Y, Width: at.Width, Height: at.Height, Scale: 1}})
	if err != nil {
		b.fatalf("taking a picture of %s: %v", c.name, err)
	}
	seen, err := png.Decode(bytes.NewReader(raw.Data))
	if err != nil {
		b.t.Fatal(err)
	}
	if *takePictures {
		writePicture(b.t, path, seen)
	}
	kept := readGray(b.t, path)
	size := kept.Bounds().Size()
	if d := size.Sub(seen.Bounds().Size()); d.X > 40 || d.X < -40 || d.Y > 24 || d.Y < -24 {
		b.t.Errorf("%s is %v large, its picture %v; go test -pictures takes it again", c.name, seen.Bounds().Size(), size)
		return
	}
	both := kept.Bounds().Intersect(seen.Bounds())
	if share, first := difference(shrink(grayOf(kept, both), goldenScale), shrink(grayOf(seen, both), goldenScale)); share > componentShare {
		b.t.Errorf("%.0f%% of the blocks of %s differ from its picture, the first at %s; go test -pictures takes it again", 100*share, c.name, first)
	}
}
