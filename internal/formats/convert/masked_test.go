package convert

import (
	"strings"
	"testing"
)

// TestMasked masks lines written in arbitrary chunks.
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
			t.Errorf("in writes of %d bytes: %d secrets masked, %q, %v", size, m.Places, b.String(), err)
		}
	}
}

// TestMaskedDrafts checks that a secret split between two draft pieces is in neither, nor
// in a torn one.
func TestMaskedDrafts(t *testing.T) {
	const head, tail = `{"type":"custom","customType":"firn.draft","data":{"answer":"0e7v4a9kpp46g",`, `},"id":"0e7v4a9kqq57h","parentId":null}` + "\n"
	const text = `{"type":"message","message":{"role":"user","content":[{"type":"text","text":"what is firn.draft?"}]}}` + "\n"
	in := head + `"text":"It is AKIAABCD"` + tail + head + `"thinking":"\"","text":"ABCDABCDABCD"` + tail + text + head + `"text":"AKIAAB`
	want := head + `"text":""` + tail + head + `"thinking":"","text":""` + tail + text + `{"type":"custom","customType":"firn.draft"`
	var b strings.Builder
	m := NewMasked(&b)
	if _, err := m.Write([]byte(in)); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil || b.String() != want || m.Places != 0 {
		t.Errorf("%d secrets masked, %v:\n%s\nwant\n%s", m.Places, err, b.String(), want)
	}
}
