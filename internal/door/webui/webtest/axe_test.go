package webtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// screens are the window sizes of the accessibility checks, from a phone to a large screen.
var screens = [][2]int64{{390, 844}, {768, 1024}, {1280, 800}, {2560, 1440}}

// look is a color scheme.
type look struct {
	name       string
	dark, high bool
}

// looks are the color schemes of the accessibility checks.
var looks = []look{{"light", false, false}, {"dark", true, false}, {"light, high contrast", false, true}, {"dark, high contrast", true, true}}

// looksAt returns the looks that are checked at a width. Colors hardly depend on the width:
// dark is checked on a phone and on a usual screen, high contrast on the latter. With
// FIRN_AXE=all every look is checked at every width.
func looksAt(width int64) []look {
	switch {
	case os.Getenv("FIRN_AXE") == "all", width == 1280:
		return looks
	case width == 390:
		return looks[:2]
	}
	return looks[:1]
}

// finding is a result of axe: a rule and the elements that violate it.
type finding struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string `json:"failureSummary"`
	}
}

// injectAxe loads axe into the document.
func (b *tab) injectAxe() {
	b.t.Helper()
	axe, err := os.ReadFile(filepath.Join("..", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		b.t.Fatalf("%v (tools/setup.sh installs it)", err)
	}
	b.do(chromedp.Evaluate[chromedp.Void]("if (!window.axe) {" + string(axe) + "}; 0"))
}

// accessible checks the open page and a menu of each kind with axe on every screen.
func (b *tab) accessible() {
	b.t.Helper()
	b.injectAxe()
	for _, screen := range screens {
		b.size(screen[0], screen[1])
		b.settled()
		b.inLooks("html", fmt.Sprintf("%d px", screen[0]), looksAt(screen[0]))
		b.checkMenus(screen[0])
	}
}

// inBothLights checks the open page with axe as it is, in light and dark.
func (b *tab) inBothLights() {
	b.t.Helper()
	b.injectAxe()
	b.inLooks("html", get[string](b, "location.pathname"), looks[:2])
}

// inLooks checks an element with axe: with all rules in the first look, and with the rules
// about colors in the others.
func (b *tab) inLooks(element, where string, looks []look) {
	b.t.Helper()
	for i, look := range looks {
		b.prefer(look.dark, look.high)
		b.frames()
		b.violations(element, where+", "+look.name, i > 0)
	}
	b.dark(looks[0].dark)
}

// violations runs axe once and reports each violation.
func (b *tab) violations(element, where string, colors bool) {
	b.t.Helper()
	options := `{resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}`
	if colors {
		options = `{resultTypes: ["violations"], runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}}`
	}
	said := get[string](b, `axe.run(`+quote(element)+`, `+options+`).then((r) => JSON.stringify(r.violations))`)
	var found []finding
	if err := json.Unmarshal([]byte(said), &found); err != nil {
		b.t.Fatal(err)
	}
	for _, f := range found {
		var at strings.Builder
		for i, n := range f.Nodes {
			if i == 4 {
				fmt.Fprintf(&at, "\n   and %d more", len(f.Nodes)-i)
				break
			}
			fmt.Fprintf(&at, "\n   %.160s\n      %s", n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", " "))
		}
		b.t.Errorf("%s: %s (%s): %s%s", where, f.ID, f.Impact, f.Help, at.String())
	}
}

// source returns a file of the pages' sources.
func source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "src", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// entriesOf returns the first strings of the entries of a table in a source.
func entriesOf(t *testing.T, text, table string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "const "+table+":")
	rest, _, end := strings.Cut(rest, "\n];")
	if !ok || !end {
		t.Fatalf("there is no table %q", table)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\s*\["([^"]*)"`).FindAllStringSubmatch(rest, -1) {
		names = append(names, m[1])
	}
	if len(names) < 3 {
		t.Fatalf("the table %q has the entries %q", table, names)
	}
	return names
}

// routePattern returns an expression for the paths of a route.
func routePattern(route string) *regexp.Regexp {
	p := regexp.MustCompile(`/:\w+\?`).ReplaceAllString(route, `(/[^/]+)?`)
	p = regexp.MustCompile(`/:\w+`).ReplaceAllString(p, `/[^/]+`)
	return regexp.MustCompile(`^` + p + `(\?.*)?$`)
}

// TestEveryRouteIsInTheTable checks that the table of pages has each route of the router and
// each view of a session.
func TestEveryRouteIsInTheTable(t *testing.T) {
	routes := entriesOf(t, source(t, "app.tsx"), "pages")
	for _, view := range entriesOf(t, source(t, "pages/session/index.tsx"), "tabs") {
		routes = append(routes, strings.TrimSuffix("/sessions/:id/"+view, "/"))
	}
	for _, route := range routes {
		if !covered(routePattern(route)) {
			t.Errorf("the table of pages lacks %s", route)
		}
	}
	if covered(routePattern("/there/:is/no/such")) {
		t.Error("a route without a page is found")
	}
}

func covered(route *regexp.Regexp) bool {
	for _, path := range pages {
		if route.MatchString(path) {
			return true
		}
	}
	return false
}

// TestCompactIsAccessible checks pages in the compact density with axe.
func TestCompactIsAccessible(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := s.login(t)
	get[bool](b, `(localStorage.setItem("firn.density", "compact"), true)`)
	for _, screen := range [][2]int64{screens[0], screens[2]} {
		b.size(screen[0], screen[1])
		for _, name := range []string{"sessions", "log", "found", "usage", "keys", "ops"} {
			b.open(pages[name])
			b.settled()
			b.wait(`document.documentElement.dataset.density === "compact"`)
			b.injectAxe()
			b.violations("html", fmt.Sprintf("%s, compact at %d px", name, screen[0]), false)
		}
	}
}
