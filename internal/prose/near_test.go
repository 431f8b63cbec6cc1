package prose

import "testing"

// TestNearest finds what was meant among names, and nothing if none is near.
func TestNearest(t *testing.T) {
	names := []string{"cat", "ls", "list", "verify"}
	for name, want := range map[string]string{"lst": "ls", "verfiy": "verify", "lsit": "list", "x": "", "": "", "zzzzzz": ""} {
		if got := Nearest(name, names, 2); got != want {
			t.Errorf("%q is taken for %q, want %q", name, got, want)
		}
	}
}
