package pattern

import "testing"

func TestNew(t *testing.T) {
	invalid := New(`(`) // not compiled yet
	defer func() {
		if recover() == nil {
			t.Error("an invalid expression did not panic on first use")
		}
	}()
	p := New(`(a)(b+)`)
	if got := p().FindString("xabby"); got != "abb" {
		t.Errorf("the match is %q, want abb", got)
	}
	first := p()
	if p() != first {
		t.Error("the expression was compiled twice")
	}
	invalid()
}
