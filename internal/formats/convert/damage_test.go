package convert_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"firn.dev/internal/formats/dialects"
)

// variants is the number of damaged copies of the corpus.
const variants = 1000

// TestDamaged checks that the intact parts of a damaged file are read and restored, and
// that the rest is reported.
func TestDamaged(t *testing.T) {
	all := corpus(t)
	ours := dialects.All()[0]
	count := variants
	if testing.Short() {
		count /= 10
	}
	for n := range count {
		random := rand.New(rand.NewPCG(uint64(n), 7))
		s := all[n%len(all)]
		if len(s.text) > 200_000 {
			s.text = s.text[:200_000]
		}
		text := damage(random, bytes.Clone(s.text))
		kept, report := write(t, from(s.tool, s.name, text), ours)
		if report.Total() == 0 {
			continue // nothing was readable
		}
		back, _ := write(t, from(ours, "specimen.jsonl", kept), s.tool)
		if string(back) != string(text) {
			t.Fatalf("variant %d of %s %s: %s", n, s.tool.Name(), s.name, firstDifference(string(back), string(text)))
		}
		if broken(text) && report.Damaged == 0 {
			t.Errorf("variant %d of %s %s: the damage is not named", n, s.tool.Name(), s.name)
		}
	}
}

// damage damages a file.
func damage(random *rand.Rand, text []byte) []byte {
	for range 1 + random.IntN(4) {
		if len(text) == 0 {
			return text
		}
		at := random.IntN(len(text))
		switch random.IntN(7) {
		case 0: // truncated
			text = text[:at]
		case 1: // a changed byte
			text[at] = byte(random.IntN(256))
		case 2: // a hole
			text = append(text[:at], text[min(len(text), at+random.IntN(200)):]...)
		case 3: // zeros, as after a power failure
			for i := at; i < min(len(text), at+random.IntN(500)); i++ {
				text[i] = 0
			}
		case 4: // two lines joined
			if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
				text = append(text[:at+i], text[at+i+1:]...)
			}
		case 5: // a duplicated piece
			piece := bytes.Clone(text[at:min(len(text), at+random.IntN(2000))])
			text = append(text[:at:at], append(piece, text[at:]...)...)
		case 6: // random data
			text = append(text[:at:at], append([]byte("\xff\xfe{\"\\ud800\":[}\r\n"), text[at:]...)...)
		}
	}
	return text
}

// broken reports whether a file has lines that are not a single complete object.
func broken(text []byte) bool {
	return len(bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\r"), nil)) > 0 && hasGap(text)
}
