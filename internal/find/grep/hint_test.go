package grep

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPairAt compares pairAt with a naive search, for every position and length of text.
func TestPairAt(t *testing.T) {
	pair := []byte(`\u`)
	chance := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		text := make([]byte, chance.IntN(300))
		for i := range text {
			text[i] = `u\\\\]v[t`[min(chance.IntN(80), 8)]
		}
		if got, want := pairAt(text, '\\', 'u'), bytes.Index(text, pair); got != want {
			t.Fatalf("in %q it is at %d, want %d", text, got, want)
		}
	}
	for n := range 200 {
		for at := range n - 1 {
			for _, filling := range []string{"\xff", "\x00", "]", "v", "u"} {
				text := []byte(strings.Repeat(filling, n))
				copy(text[at:], pair)
				if got := pairAt(text, '\\', 'u'); got != at {
					t.Fatalf("in %d bytes of %q it is at %d, want %d", n, filling, got, at)
				}
			}
		}
	}
}

func TestHint(t *testing.T) {
	for text, want := range map[string]bool{
		`n\u0065edle`: true, `caf\u00e9 \u4e2d\u6587 \u001b[31m`: false, `\u`: false, `\u00`: false, `\u006`: false, `\u0065`: true,
		`\uzzzz\u0065`: true, `\u0165`: false, `\u004E`: false, `\\u006e`: true, ``: false, `\u\u006C`: true, `C:\\users\\ursula`: false,
		`needle`: true, `a needle in hay`: true, `needl`: false, `eedle`: false, `dle needl eedle dl`: false, `needneedle`: true, `neddle neeedle needle`: true,
	} {
		if got := newHint("needle").in([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// BenchmarkHint searches for common and rare words in text without them.
func BenchmarkHint(b *testing.B) {
	text := []byte(strings.Repeat(`{"type":"message","text":"an error: \"not found\"\nread the file, and return\n"},`, 1000))
	for _, word := range []string{"errors", "reader", "quokka"} {
		b.Run(word, func(b *testing.B) {
			h := newHint(word)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				h.in(text)
			}
		})
	}
}
