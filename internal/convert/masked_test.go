package convert

import (
	"strings"
	"testing"
)

// TestMasked masks lines however they are cut into pieces.
func TestMasked(t *testing.T) {
	const in = `{"text":"PASSWORD=hunter22"}` + "\n" + `{"n":1}` + "\n\n" + `{"password":"hunter22"}`
	want := strings.ReplaceAll(in, "hunter22", "[secret]")
	for size := 1; size <= len(in); size++ {
		var b strings.Builder
		m := NewMasked(&b)
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			if got, err := m.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
		}
		if err := m.Close(); err != nil || b.String() != want || m.Places != 2 {
			t.Errorf("in pieces of %d: %d places, %q, %v", size, m.Places, b.String(), err)
		}
	}
}
