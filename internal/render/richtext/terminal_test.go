package richtext_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"firn.dev/internal/render/richtext"
)

func TestTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"a":                               "a",
		"\x1b[32mok\x1b[39m.":             `<span class="tf2">ok</span>.`,
		"\x1b[91;4mx\x1b[m":               `<span class="tf1 tline">x</span>`,
		"\x1b[38;5;196mx\x1b[0my":         `<span class="tf1">x</span>y`,
		"\x1b[38;2;0;200;10mx":            `<span class="tf2">x</span>`,
		"\x1b[41mx":                       `<span class="tb1">x</span>`,
		"\x1b[7mx":                        `<span class="tswap">x</span>`,
		"10%\r\x1b[1m20%\x1b[0m\r\ndone":  "<span class=\"tbold\">20%</span>\ndone",
		"\x1b]8;;http://x\x07<b>\x1b]8;;": "&lt;b&gt;",
		"\x1b[999999999999mx\x1b[":        "x",
		"\x1b[38;5mx":                     "x",
		"\x1b[2Jx\x1b[1;1Hy":              "xy",
		"a\x1b":                           "a",
	} {
		if got := richtext.Terminal(in); got != `<pre class="term">`+want+"</pre>" {
			t.Errorf("%q is %s", in, got)
		}
	}
}

// TestTerminalShowsTheText checks that colors change nothing else: the text is that without
// them.
func TestTerminalShowsTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "<", "&", "\n", "\x1b[31m", "\x1b[0m", "\x1b[1;48;5;9m", "\x1b[K", "ü", "\x1b[38;2;1m"})).Draw(t, "in"), "")
		if got, want := richtext.Text(richtext.Terminal(in)), richtext.Printed(in); got != want {
			t.Fatalf("%q is %q, want %q", in, got, want)
		}
	})
}

// TestTerminalIsLinear renders incomplete control sequences. Searching for the end of each in
// the rest of the text would take minutes.
func TestTerminalIsLinear(t *testing.T) {
	for _, one := range []string{"\x1b\x01", "\x1b[\x01"} {
		if got := richtext.Terminal(strings.Repeat(one, 200_000) + "end"); !strings.HasSuffix(got, "end</pre>") {
			t.Errorf("%q: the text after it is lost: %.80q", one, got[max(0, len(got)-80):])
		}
	}
}
