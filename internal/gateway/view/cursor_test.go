package view

import (
	"testing"
)

func FuzzEntryCursor(f *testing.F) {
	for _, s := range []string{"", "disk.f.1", "branch.b.12.=abc", "branch.b.12.?", "window.f.3", "disk.b.", "a.b.c.d"} {
		f.Add(s, "branch", true)
	}
	f.Fuzz(func(t *testing.T, s, view string, back bool) {
		c, err := parseEntryCursor(s, view, back)
		if err != nil || s == "" {
			return
		}
		again, err := parseEntryCursor(c.encode(view, back), view, back)
		if err != nil || again != c {
			t.Errorf("%q is %+v, encoded %q, read as %+v (%v)", s, c, c.encode(view, back), again, err)
		}
	})
}
