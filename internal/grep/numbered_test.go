package grep

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestNumberAt holds it against a plain search, for every place and every length of text.
func TestNumberAt(t *testing.T) {
	chance := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		text := make([]byte, chance.IntN(40))
		for i := range text {
			text[i] = `\u\nut]v[`[chance.IntN(9)]
		}
		if got, want := numberAt(text), bytes.Index(text, []byte(`\u`)); got != want {
			t.Fatalf("in %q it is at %d, want %d", text, got, want)
		}
	}
	for n := range 64 {
		for at := range n - 1 {
			text := []byte(strings.Repeat("\xff", n))
			copy(text[at:], `\u`)
			if got := numberAt(text); got != at {
				t.Fatalf("in %d bytes it is at %d, want %d", n, got, at)
			}
		}
	}
}

func TestNumbered(t *testing.T) {
	for text, want := range map[string]bool{
		`n\u0065edle`: true, `caf\u00e9 \u4e2d\u6587 \u001b[31m`: false, `\u`: false, `\u00`: false, `\u006`: false, `\u0065`: true,
		`\uzzzz\u0065`: true, `\u0165`: false, `\u004E`: false, `\\u006e`: true, ``: false, `\u\u006C`: true, `C:\\users\\ursula`: false,
	} {
		if got := numbered([]byte(text), []byte("needle")); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
