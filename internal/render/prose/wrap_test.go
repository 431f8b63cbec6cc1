package prose

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestWrap(t *testing.T) {
	cases := []struct {
		line  string
		width int
		want  []string
	}{
		{"short", 10, []string{"short"}},
		{"one two three", 0, []string{"one two three"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"  · one two three four", 12, []string{"  · one two", "    three", "    four"}},
		{"https://example.org/long and more", 12, []string{"https://example.org/long", "and more"}},
		{"\x1b[2mone two three\x1b[0m", 8, []string{"\x1b[2mone two\x1b[0m", "\x1b[2mthree\x1b[0m"}},
		{"a  b   c d", 6, []string{"a  b", "c d"}},
		{"雪は 氷に なる", 9, []string{"雪は 氷に", "なる"}},
		{"", 10, []string{""}},
		{"   ", 2, []string{"   "}},
	}
	for _, c := range cases {
		if got := Wrap(c.line, c.width); !slices.Equal(got, c.want) && strings.TrimSpace(c.line) != "" {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

// FuzzWrap checks that wrapping loses no word, and that only a row with a single word is
// wider than the screen.
func FuzzWrap(f *testing.F) {
	f.Add("· one \x1b[2mtwo\x1b[0m three", uint8(9))
	f.Fuzz(func(t *testing.T, line string, columns uint8) {
		width := int(columns) + 4
		line = strings.Map(func(r rune) rune {
			if r != ' ' && (unicode.IsMark(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)) {
				return -1
			}
			return r
		}, Clean(strings.ToValidUTF8(line, "")))
		rows := Wrap(line, width)
		if got, want := strings.Fields(strings.Join(rows, " ")), strings.Fields(line); !slices.Equal(got, want) {
			t.Fatalf("the words %q became %q", want, got)
		}
		for _, r := range rows {
			if Width(r) > width && len(strings.Fields(strings.TrimLeft(r, "·⚠✓✗- "))) > 1 && strings.Contains(strings.TrimLeft(r, "·⚠✓✗- "), " ") {
				t.Fatalf("%q has %d columns, more than %d", r, Width(r), width)
			}
		}
	})
}

func TestFitFields(t *testing.T) {
	fields := []Field{{Text: "title", Drop: 1}, {Text: "▰▰▱ 50%", Short: "50%", Drop: 2}, {Text: "model", Drop: 3}, {Text: "#4 on disk"}}
	for width, want := range map[int]string{
		0: "title · ▰▰▱ 50% · model · #4 on disk", 80: "title · ▰▰▱ 50% · model · #4 on disk",
		30: "title · ▰▰▱ 50% · #4 on disk", 25: "title · 50% · #4 on disk", 20: "title · #4 on disk", 18: "title · #4 on disk", 17: "50% · #4 on disk", 12: "#4 on disk", 6: "#4 on…",
	} {
		if got := FitFields(fields, " · ", width); got != want {
			t.Errorf("FitFields with %d columns = %q, want %q", width, got, want)
		}
	}
}
