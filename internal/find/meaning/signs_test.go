package meaning

import "testing"

// TestSigns compares the signs of all words with those of single components.
func TestSigns(t *testing.T) {
	table := Builtin()
	for w, got := range table.signs() {
		var want signs
		for i, c := range []byte(table.vector(Word(w))) {
			if int8(c) > 0 {
				want[i/64] |= 1 << (i % 64)
			}
		}
		if got != want {
			t.Fatalf("%s has the signs %x, want %x", table.Text(Word(w)), got, want)
		}
	}
	for i := range 256 {
		v := string([]byte{byte(i), 0, 1, 127, 128, 255, 0, byte(i)})
		for n := range len(v) + 1 {
			want := uint64(0)
			for k := range n {
				if int8(v[k]) > 0 {
					want |= 1 << k
				}
			}
			if got := positive(v[:n]); got != want {
				t.Fatalf("%v: got %b, want %b", []byte(v[:n]), got, want)
			}
		}
	}
}
