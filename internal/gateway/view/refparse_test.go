package view

import (
	"firn.dev/wire"
	"strings"
	"testing"
)

func TestParseReference(t *testing.T) {
	good := map[string]reference{
		"HEAD": {kind: byTurns}, "HEAD~0": {kind: byTurns}, "HEAD~": {kind: byTurns, n: 1}, "HEAD~12": {kind: byTurns, n: 12},
		"#1": {kind: byNumber, n: 1}, "#007": {kind: byNumber, n: 7},
		"head": {name: "head"}, "HEADS": {name: "HEADS"}, "abcd": {name: "abcd"}, "a label": {name: "a label"}, "-": {name: "-"},
	}
	for s, want := range good {
		if got, err := parseReference(s); err != nil || got != want {
			t.Errorf("%q is read as %+v (%v), want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "#", "#0", "#-1", "#+1", "#1x", "# 1", "#99999999999999999999", "HEAD~x", "HEAD~-1", "HEAD~+1", "HEAD~1~1", "HEAD~99999999999", strings.Repeat("x", MaxReference+1)} {
		_, err := parseReference(s)
		if wire.KindOf(err) != wire.Invalid {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzParseReference(f *testing.F) {
	for _, s := range []string{"HEAD", "HEAD~3", "#12", "abcd", "", "#", "HEAD~~", "#18446744073709551616", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := parseReference(s)
		if err != nil {
			if wire.KindOf(err) != wire.Invalid {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		again, err := parseReference(ref.String())
		if err != nil || again != ref {
			t.Errorf("%q is %+v, which is encoded %q and read as %+v (%v)", s, ref, ref, again, err)
		}
		if ref.n < 0 || ref.kind == byName && ref.name != s {
			t.Errorf("%q is read as %+v", s, ref)
		}
	})
}
