package tool_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/tool"
)

func texts(s ...string) []firn.Part {
	parts := make([]firn.Part, len(s))
	for i, text := range s {
		parts[i] = firn.Text{Text: text}
	}
	return parts
}

// numbered returns n lines with their numbers, from 1.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestBoundKeepsWhatFits(t *testing.T) {
	for name, parts := range map[string][]firn.Part{
		"nothing":     nil,
		"a line":      texts("hello"),
		"most chars":  texts(strings.Repeat("é", 50_000)),
		"most lines":  texts(strings.Repeat("a\n", 2000)),
		"with images": {firn.Text{Text: "a", Signature: "s"}, firn.Image{Data: strings.Repeat("A", 1<<20)}},
	} {
		shown, cut := tool.Bound(parts, tool.Limits{})
		if cut || !reflect.DeepEqual(shown, parts) {
			t.Errorf("%s: cut", name)
		}
	}
}

func TestBoundKeepsBeginningAndEnd(t *testing.T) {
	shown, cut := tool.Bound(texts(numbered(10_000)), tool.Limits{})
	if !cut || len(shown) != 1 {
		t.Fatalf("cut is %v, there are %d parts", cut, len(shown))
	}
	text := firn.JoinText(shown)
	has(t, text, "line 1\nline 2\n", "line 998\n[", "left out here]\nline 9003\n", "line 10000\n")
	lacks(t, text, "line 999\n", "line 9002\n")
	has(t, text, "8,004 lines left out here]") // 998 at each end are kept
}

func TestBoundCountsOmissions(t *testing.T) {
	whole := numbered(500)
	shown, _ := tool.Bound(texts(whole), tool.Limits{Chars: 1000})
	text := firn.JoinText(shown)
	before, rest, _ := strings.Cut(text, "[")
	notice, after, _ := strings.Cut(rest, "]\n")
	var chars, lines int
	if _, err := fmt.Sscanf(strings.ReplaceAll(notice, ",", ""), "%d characters and %d lines left out here", &chars, &lines); err != nil {
		t.Fatalf("the notice is %q: %v", notice, err)
	}
	if !strings.HasPrefix(whole, before) || !strings.HasSuffix(whole, after) {
		t.Fatalf("%q and %q are not its beginning and end", before, after)
	}
	missing := whole[len(before) : len(whole)-len(after)]
	if chars != len(missing) || lines != strings.Count(missing, "\n") {
		t.Errorf("reported %d and %d, missing are %d and %d", chars, lines, len(missing), strings.Count(missing, "\n"))
	}
}

func TestBoundCutsALongLineBetweenCharacters(t *testing.T) {
	shown, _ := tool.Bound(texts("first\n"+strings.Repeat("é😀", 100_000)+"\nlast"), tool.Limits{})
	text := firn.JoinText(shown)
	if !utf8.ValidString(text) {
		t.Error("half a character is left")
	}
	has(t, text, "first\né😀", "é😀\nlast", "150,111 characters and 0 lines left out here")
	if n := utf8.RuneCountInString(text); n < 49_900 || n > 50_000 {
		t.Errorf("%d characters are shown", n)
	}
}

func TestBoundKeepsImagesInTheirPlaces(t *testing.T) {
	image := func(n string) firn.Part { return firn.Image{MimeType: "image/png", Data: n} }
	parts := []firn.Part{
		firn.Text{Text: "small\n"}, image("1"), firn.Text{Text: numbered(3000)}, image("2"), firn.Text{Text: "middle\n"},
		image("3"), firn.Text{Text: numbered(3000)}, image("4"), firn.Text{Text: "end\n"},
	}
	shown, cut := tool.Bound(parts, tool.Limits{})
	if !cut || len(shown) != 8 {
		t.Fatalf("cut is %v, %d parts are shown", cut, len(shown))
	}
	for i, want := range map[int]string{1: "1", 3: "2", 4: "3", 6: "4"} {
		if got, ok := shown[i].(firn.Image); !ok || got.Data != want {
			t.Errorf("part %d is %v, want image %s", i, shown[i], want)
		}
	}
	has(t, firn.JoinText(shown), "small\n", "4,007 lines left out here]", "end\n")
	lacks(t, firn.JoinText(shown), "middle")
	if parts[2].(firn.Text).Text != numbered(3000) {
		t.Error("the input was modified")
	}
}

// TestBoundInvariants checks for many shapes that the output is within the limits, begins and
// ends like the input, and is not truncated again.
func TestBoundInvariants(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "\n", "bc", "é", "😀", "\n\n", "\xff", strings.Repeat("x", 150), strings.Repeat("y\n", 30), ""}
	for range 3000 {
		var parts []firn.Part
		for range random.IntN(5) + 1 {
			if random.IntN(4) == 0 {
				parts = append(parts, firn.Image{Data: "x"})
				continue
			}
			var b strings.Builder
			for range random.IntN(60) {
				b.WriteString(pieces[random.IntN(len(pieces))])
			}
			parts = append(parts, firn.Text{Text: b.String()})
		}
		limits := tool.Limits{Chars: 1 + random.IntN(1500), Lines: 1 + random.IntN(80)}
		checkBound(t, parts, limits)
	}
}

func checkBound(t *testing.T, parts []firn.Part, limits tool.Limits) {
	t.Helper()
	shown, cut := tool.Bound(parts, limits)
	chars, lines := 0, 0
	for _, part := range shown {
		if text, ok := part.(firn.Text); ok {
			chars += utf8.RuneCountInString(text.Text)
			lines += strings.Count(text.Text, "\n")
			if text.Text != "" && !strings.HasSuffix(text.Text, "\n") {
				lines++
			}
		}
	}
	if chars > max(limits.Chars, 200) || lines > max(limits.Lines, 5) {
		t.Fatalf("%d characters and %d lines are shown, the limits are %+v", chars, lines, limits)
	}
	if images(shown) != images(parts) {
		t.Fatal("an image was lost")
	}
	if cut != strings.Contains(firn.JoinText(shown), "left out here]") {
		t.Fatalf("cut is %v but the text is %q", cut, firn.JoinText(shown))
	}
	if again, cut := tool.Bound(shown, limits); cut || !reflect.DeepEqual(again, shown) {
		t.Fatalf("cut again: %q", firn.JoinText(again))
	}
}

func images(parts []firn.Part) int {
	n := 0
	for _, part := range parts {
		if _, ok := part.(firn.Image); ok {
			n++
		}
	}
	return n
}
