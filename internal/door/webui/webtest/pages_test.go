package webtest

import (
	"fmt"
	"testing"
)

// pages are all pages by name. Their sessions have branches and attacks.
var pages = map[string]string{
	"start":          "/",
	"sessions":       "/sessions",
	"filtered":       "/sessions?tag=none",
	"log":            "/sessions/" + string(branchyID),
	"tree":           "/sessions/" + string(branchyID) + "/tree",
	"window":         "/sessions/" + string(branchyID) + "/window",
	"session usage":  "/sessions/" + string(branchyID) + "/usage",
	"raw":            "/sessions/" + string(branchyID) + "/raw",
	"hostile log":    "/sessions/" + string(hostileID),
	"hostile tree":   "/sessions/" + string(hostileID) + "/tree",
	"hostile window": "/sessions/" + string(hostileID) + "/window",
	"hostile raw":    "/sessions/" + string(hostileID) + "/raw",
	"live":           "/live",
	"search":         "/search",
	"found":          "/search?q=alert",
	"memory":         "/memory",
	"usage":          "/usage",
	"keys":           "/keys",
	"sources":        "/sources",
	"ops":            "/ops",
	"settings":       "/settings",
	"no session":     "/sessions/there-is-none",
	"no page":        "/there/is/none",
}

// colorful are pages that together have all colors; their high contrast is checked too.
var colorful = map[string]bool{"sessions": true, "hostile log": true, "found": true, "usage": true, "settings": true, "no session": true}

// TestEveryPage checks that no page runs injected scripts, and that all are accessible and
// usable on a phone, in both themes.
func TestEveryPage(t *testing.T) {
	s := plainServer(t)
	first := s.login(t) // the profile shared by all
	for name, path := range pages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := first.beside(t)
			if name == "no session" {
				b.allow("404")
			}
			b.inEveryLight(path, colorful[name])
			b.onAPhone()
		})
	}
	t.Run("login", func(t *testing.T) {
		b := newTab(t, s.url)
		b.inEveryLight("/login", false)
		b.onAPhone()
	})
}

// inEveryLight checks a page in both themes.
func (b *tab) inEveryLight(path string, colors bool) {
	b.t.Helper()
	b.dark(false)
	b.open(path)
	for _, dark := range []bool{false, true} {
		b.dark(dark)
		b.settled()
		for _, foul := range get[[]string](b, "webtest.foul()") {
			b.t.Errorf("%s has what no page has: %s", path, foul)
		}
		b.isDark(dark)
	}
	if path != "/" { // the same page as /sessions
		b.accessible(colors)
	}
}

// isDark waits until the page is dark, or light.
func (b *tab) isDark(want bool) {
	b.t.Helper()
	const light = `(() => {
		const of = (color) => { const c = document.createElement("canvas").getContext("2d"); c.fillStyle = color; c.fillRect(0, 0, 1, 1); const [r, g, b] = c.getImageData(0, 0, 1, 1).data; return (r * 3 + g * 6 + b) / 2550 };
		const opaque = [document.querySelector("main"), document.body, document.documentElement].map((e) => getComputedStyle(e)).find((s) => !/^rgba.*, 0\)$|transparent/.test(s.backgroundColor));
		return [opaque ? of(opaque.backgroundColor) : 1, of(getComputedStyle(document.querySelector("main")).color)];
	})()`
	b.wait(fmt.Sprintf(`(([ground, ink]) => (ground < 0.3 && ink > 0.6) === %t)(%s)`, want, light))
}

// onAPhone checks the open page on a small screen.
func (b *tab) onAPhone() {
	b.t.Helper()
	b.size(360, 640)
	b.settled()
	if wide := get[[]string](b, "webtest.wide()"); len(wide) > 0 {
		b.t.Errorf("on a phone the page must be moved sideways to read %q", wide)
	}
}
