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

// rules are the rules of a run of axe.
type rules string

const (
	allRules rules = `{resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}`
	// colorRules depend on the look.
	colorRules rules = `{resultTypes: ["violations"], runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}}`
	// sizeRules depend on the width, even if the elements are the same.
	sizeRules rules = `{resultTypes: ["violations"], runOnly: {type: "rule", values: ["target-size", "scrollable-region-focusable"]}}`
)

// repeated are the rows of lists after the first ones, the same elements with other texts, and
// the middle of an exported page.
const repeated = `[[".vlist-row:nth-child(n+7)"], [".recent-list > li:nth-child(n+4)"], [".hit:nth-child(n+6)"], [".settings-table tr:nth-child(n+6)"],
	[".tree > li:nth-child(n+12)"], [".outline-list > li:nth-child(n+8)"], ["main > article:nth-of-type(n+8):nth-last-of-type(n+20)"]]`

// axeRun is a run of axe in a look.
type axeRun struct {
	look  look
	rules rules
}

// runsAt returns the runs of axe at a width. A phone and a usual screen have elements of their
// own, the widths between and above differ only in sizes. Colors do not depend on the width, and
// high contrast replaces the same few colors everywhere: it is checked if colors is set. With
// FIRN_AXE=all everything is checked at every width, and every row of lists.
func runsAt(width int64, colors bool) []axeRun {
	all := []axeRun{{looks[0], allRules}, {looks[1], colorRules}, {looks[2], colorRules}, {looks[3], colorRules}}
	switch {
	case os.Getenv("FIRN_AXE") == "all":
		return all
	case width == 1280 && colors:
		return all
	case width == 1280:
		return all[:2]
	case width == 390:
		return all[:1]
	}
	return []axeRun{{looks[0], sizeRules}}
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
func (b *tab) accessible(colors bool) {
	b.t.Helper()
	b.injectAxe()
	for _, screen := range screens {
		b.size(screen[0], screen[1])
		b.settled()
		b.inLooks("html", fmt.Sprintf("%d px", screen[0]), runsAt(screen[0], colors))
		b.checkMenus(screen[0])
	}
}

// inBothLights checks the open page with axe as it is, in light and dark.
func (b *tab) inBothLights() {
	b.t.Helper()
	b.injectAxe()
	b.inLooks("html", get[string](b, "location.pathname"), runsAt(1280, false))
}

// inLooks runs axe on an element.
func (b *tab) inLooks(element, where string, runs []axeRun) {
	b.t.Helper()
	for _, run := range runs {
		b.prefer(run.look.dark, run.look.high)
		b.frames()
		b.violations(element, where+", "+run.look.name, run.rules)
	}
	b.dark(false)
}

// violations runs axe once and reports each violation.
func (b *tab) violations(element, where string, rules rules) {
	b.t.Helper()
	except := repeated
	if os.Getenv("FIRN_AXE") == "all" {
		except = "[]"
	}
	text := get[string](b, `axe.run({include: [[`+quote(element)+`]], exclude: `+except+`}, `+string(rules)+`).then((r) => JSON.stringify(r.violations))`)
	var found []finding
	if err := json.Unmarshal([]byte(text), &found); err != nil {
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

// TestCompactIsAccessible checks pages in the compact density, which has other sizes, with axe.
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
			b.violations("html", fmt.Sprintf("%s, compact at %d px", name, screen[0]), sizeRules)
		}
	}
}
