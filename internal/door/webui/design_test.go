package webui

import (
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateDesign = flag.Bool("update-design", false, "rewrite the tables of docs/design-pages.md")

const designPage = "../../../docs/design-pages.md"

// look is a set of color tokens: the light and the dark value by name.
type look map[string][2]string

var (
	colorToken  = regexp.MustCompile(`--([\w-]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\);`)
	lengthToken = regexp.MustCompile(`(?m)^  --([ts]\d|radius|gutter|control|row|cell|turn|measure): ([\d.]+)(rem|px);`)
)

// readLooks returns the colors of pages, and those in high contrast.
func readLooks(t *testing.T) (plain, high look) {
	t.Helper()
	css, err := os.ReadFile("src/style/base.css")
	if err != nil {
		t.Fatal(err)
	}
	_, root, ok := strings.Cut(string(css), ":root {")
	root, rest, _ := strings.Cut(root, "\n}")
	_, more, found := strings.Cut(rest, `:root[data-contrast="more"] {`)
	more, _, _ = strings.Cut(more, "\n}")
	if !ok || !found {
		t.Fatal("base.css has no tokens")
	}
	plain, high = look{}, look{}
	for _, m := range colorToken.FindAllStringSubmatch(root, -1) {
		plain[m[1]] = [2]string{m[2], m[3]}
		high[m[1]] = plain[m[1]]
	}
	for _, m := range colorToken.FindAllStringSubmatch(more, -1) {
		if _, known := plain[m[1]]; !known {
			t.Errorf("high contrast sets --%s, which no page uses", m[1])
		}
		high[m[1]] = [2]string{m[2], m[3]}
	}
	return plain, high
}

// luminance returns the relative luminance of a color as WCAG defines it.
func luminance(hex string) float64 {
	hex = strings.TrimPrefix(hex, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, _ := strconv.ParseUint(hex, 16, 32) // the expression of tokens has digits only
	channel := func(v uint64) float64 {
		c := float64(v&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(n>>16) + 0.7152*channel(n>>8) + 0.0722*channel(n)
}

// contrastOf returns the contrast ratio of two colors, from 1 to 21.
func contrastOf(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// grounds are the tokens that text stands on.
var grounds = []string{"paper", "side", "raised", "hover", "chosen", "here", "code"}

// inks are the tokens of text, with their use and their grounds.
var inks = []struct {
	name, use string
	on        []string
}{
	{"ink", "text", grounds},
	{"ink-2", "secondary text", grounds},
	{"ink-3", "notes, times, placeholders", grounds},
	{"accent", "links, the chosen place", grounds},
	{"bad", "errors", append([]string{"bad-paper"}, grounds...)},
	{"warn", "warnings", grounds},
	{"good", "success", grounds},
	{"accent-ink", "text of the main button", []string{"accent"}},
}

// lowest returns the lowest contrast of a text on its grounds, in one scheme.
func (l look) lowest(ink string, on []string, scheme int) float64 {
	least := math.Inf(1)
	for _, ground := range on {
		least = min(least, contrastOf(l[ink][scheme], l[ground][scheme]))
	}
	return least
}

// TestContrast checks that text has a contrast of 4.5 on every ground, and of 7 in high
// contrast.
func TestContrast(t *testing.T) {
	if got := contrastOf("#000", "#ffffff"); math.Abs(got-21) > 0.01 {
		t.Errorf("black on white has %f", got)
	}
	plain, high := readLooks(t)
	for _, ink := range inks {
		for scheme, name := range []string{"light", "dark"} {
			if c := plain.lowest(ink.name, ink.on, scheme); c < 4.5 {
				t.Errorf("--%s has a contrast of %.2f in %s, want 4.5", ink.name, c, name)
			}
			if c := high.lowest(ink.name, ink.on, scheme); c < 7 {
				t.Errorf("--%s has a contrast of %.2f in %s with high contrast, want 7", ink.name, c, name)
			}
		}
	}
}

// colorTable returns the table of colors.
func colorTable(plain, high look) string {
	var out strings.Builder
	out.WriteString("| Token | Use | Light | Dark | Lowest contrast: light | dark | high, light | high, dark |\n|---|---|---|---|---|---|---|---|\n")
	for _, ink := range inks {
		fmt.Fprintf(&out, "| `--%s` | %s | `%s` | `%s` | %.1f | %.1f | %.1f | %.1f |\n", ink.name, ink.use, plain[ink.name][0], plain[ink.name][1],
			plain.lowest(ink.name, ink.on, 0), plain.lowest(ink.name, ink.on, 1), high.lowest(ink.name, ink.on, 0), high.lowest(ink.name, ink.on, 1))
	}
	for _, ground := range append(slices.Clone(grounds), "bad-paper", "mark", "line", "line-strong") {
		fmt.Fprintf(&out, "| `--%s` | background or line | `%s` | `%s` | | | | |\n", ground, plain[ground][0], plain[ground][1])
	}
	return out.String()
}

// lengthTable returns the table of type sizes and lengths, in pixels at a width of at most
// 1920.
func lengthTable(t *testing.T) string {
	t.Helper()
	css, err := os.ReadFile("src/style/base.css")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString("| Token | px |\n|---|---|\n")
	for _, m := range lengthToken.FindAllStringSubmatch(string(css), -1) {
		px, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if m[3] == "rem" {
			px *= 16
		}
		fmt.Fprintf(&out, "| `--%s` | %g |\n", m[1], px)
	}
	return out.String()
}

// TestDesignPage checks that the tables of the design page are those of the style sheets
// (go test -update-design writes them).
func TestDesignPage(t *testing.T) {
	text, err := os.ReadFile(designPage)
	if err != nil {
		t.Fatal(err)
	}
	plain, high := readLooks(t)
	want := string(text)
	for name, table := range map[string]string{"colors": colorTable(plain, high), "lengths": lengthTable(t)} {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		before, rest, ok := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no table of %s", designPage, name)
		}
		want = before + begin + table + end + after
	}
	if want == string(text) {
		return
	}
	if !*updateDesign {
		t.Fatalf("%s is not what the style sheets say: go test ./internal/door/webui -run DesignPage -update-design", designPage)
	}
	if err := os.WriteFile(designPage, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTypeScale checks that every size of type is one of the scale, or relative to one.
func TestTypeScale(t *testing.T) {
	size := regexp.MustCompile(`font-size: ([^;}]+)`)
	files, err := filepath.Glob("src/style/*.css")
	if err != nil || len(files) < 5 {
		t.Fatalf("%q, %v", files, err)
	}
	scale := regexp.MustCompile(`^(var\(--t[1-7]\)|[\d.]+em|inherit)$`)
	for _, name := range files {
		if filepath.Base(name) == "code.css" { // shared with exported pages, which have no tokens
			continue
		}
		css, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(css), "\n") {
			m := size.FindStringSubmatch(line)
			if m == nil || scale.MatchString(m[1]) || strings.HasPrefix(line, "html {") || strings.HasPrefix(line, ".calendar text") {
				continue
			}
			t.Errorf("%s: %s is not in the type scale", name, m[0])
		}
	}
}

// TestIconsAreInTheSet checks that drawings are in the set of icons, but for charts and the
// marks of sources.
func TestIconsAreInTheSet(t *testing.T) {
	drawings := []string{"Icon.tsx", "SourceBadge.tsx", "Bar.tsx", "Stack.tsx", "calendar.tsx", "tree.tsx", "Empty.tsx"}
	err := filepath.WalkDir("src", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".tsx") || slices.Contains(drawings, filepath.Base(name)) {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), "<svg") {
			t.Errorf("%s has a drawing of its own: add it to ui/Icon.tsx", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
