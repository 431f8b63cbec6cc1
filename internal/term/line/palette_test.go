package line

import (
	"strings"
	"testing"
)

func TestPalette(t *testing.T) {
	plain, light := Palette{NoColor: true}, Palette{Light: true}
	cases := []struct {
		p          Palette
		text, want string
	}{
		{Palette{}, "\x1b[31mred\x1b[0m …", "\x1b[31mred\x1b[0m …"},
		{plain, "\x1b[31mred\x1b[0m", "red\x1b[0m"},
		{plain, "\x1b[1;35mbold\x1b[0m \x1b[2mdim\x1b[m", "\x1b[1mbold\x1b[0m \x1b[2mdim\x1b[m"},
		{plain, "\x1b[38;5;99;1mx\x1b[48;2;1;2;3;4my\x1b[39;49m", "\x1b[1mx\x1b[4my"},
		{plain, "\x1b[38mx\x1b[38;5my\x1b[97;107mz", "xyz"},
		{plain, "\x1b[?2026h\x1b[3A\x1b[J\x1b[>4;1m\x1b[", "\x1b[?2026h\x1b[3A\x1b[J\x1b[>4;1m\x1b["},
		{light, "\x1b[1;33mx\x1b[0m\x1b[38;5;99my", "\x1b[1;38;5;94mx\x1b[0m\x1b[38;5;99my"},
		{Palette{ASCII: true}, "› “x” · ▰▱ … ✓ ─ é", `> "x" - #- ~ v - é`},
	}
	for _, c := range cases {
		if got := c.p.Apply(c.text); got != c.want {
			t.Errorf("%q is sent as %q, want %q", c.text, got, c.want)
		}
	}
	for _, symbol := range []string{"›", "❯", "…", "·", "⎇", "▰", "●", "✓", "─", "“", "→", "◆"} {
		if got := toASCII.Replace(symbol); Width(got) != Width(symbol) || got[0] >= 0x80 {
			t.Errorf("%s is replaced by %q", symbol, got)
		}
	}
	for values, want := range map[string]bool{"C||en_US.UTF-8": true, "|POSIX|": true, "||C.UTF-8": false, "||": false, "de_DE.utf8||C": false, "||de_DE.ISO-8859-1@euro": true, "||en_US": false} {
		if got := IsASCII(strings.Split(values, "|")...); got != want {
			t.Errorf("%s has only ASCII: %v", values, got)
		}
	}
}

// TestTheme follows the background that the terminal reports, unless it is fixed.
func TestTheme(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		s := newTerminalTest(t, Options{Extended: true, FixedColors: fixed})
		s.screen.Answer(s.keys, "")
		s.term.Prompt(true)
		s.types("\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?1cx")
		s.sees("› x\n")
		s.term.Print("\x1b[33myellow\x1b[0m")
		s.sees("yellow\n› x\n")
		if got := strings.Contains(s.screen.Raw(), "\x1b[38;5;94myellow"); got == fixed {
			t.Errorf("with fixed colors %v it was sent %q", fixed, s.screen.Raw())
		}
	}
}
