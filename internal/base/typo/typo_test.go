package typo

import (
	"strings"
	"testing"
)

// TestNearest checks that the closest name is found, and none if all are too far.
func TestNearest(t *testing.T) {
	names := []string{"cat", "ls", "list", "verify"}
	for name, want := range map[string]string{"lst": "ls", "verfiy": "verify", "lsit": "list", "x": "", "": "", "zzzzzz": ""} {
		if got := Nearest(name, names, 2); got != want {
			t.Errorf("%q is treated as %q, want %q", name, got, want)
		}
	}
}

// TestDistance checks that each kind of edit counts once, in both directions.
func TestDistance(t *testing.T) {
	long := strings.Repeat("x", maxLen+1)
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"model", "model", 0}, {"model", "modell", 1}, {"model", "modle", 1}, {"model", "moxel", 1},
		{"model", "odle", 2}, {"", "abc", 3}, {"abc", "xyz", 3}, {long, long[1:], maxLen + 1}, {long, "x", maxLen + 1},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("from %.9q to %.9q it is %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Distance(c.b, c.a); got != c.want {
			t.Errorf("from %.9q back to %.9q it is %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
