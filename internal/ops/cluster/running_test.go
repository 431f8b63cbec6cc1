package cluster_test

import (
	"testing"

	"firn.dev"
	"firn.dev/wire"
)

// TestRunningTurnsOfAllGateways checks that each gateway lists the running turns of all
// gateways.
func TestRunningTurnsOfAllGateways(t *testing.T) {
	o := space(t)
	a, b := join(t, o, long), join(t, o, long)
	runs := func(m *member) []firn.ID {
		t.Helper()
		var page wire.Page[wire.Session]
		m.get("GET", "/v1/running", nil, &page)
		var all []firn.ID
		for _, s := range page.Items {
			all = append(all, s.ID)
		}
		return all
	}
	if got := append(runs(a), runs(b)...); len(got) != 0 {
		t.Errorf("nothing was started, but %v run", got)
	}
	one, two := a.newSession(), b.newSession()
	first := a.later(one, wire.Turn{Text: "wait one"})
	<-a.asked
	second := b.later(two, wire.Turn{Text: "wait two"})
	<-b.asked
	for _, m := range []*member{a, b} {
		got := runs(m)
		for len(got) < 2 { // the lease of the other is visible after a moment
			got = runs(m)
		}
		if len(got) != 2 || got[0] != one || got[1] != two {
			t.Errorf("%v run, want %v and %v", got, one, two)
		}
	}
	close(a.gate)
	<-first
	for len(runs(b)) > 1 { // its lane ends a moment after the answer
	}
	if got := runs(b); len(got) != 1 || got[0] != two {
		t.Errorf("%v run, want %v", got, two)
	}
	close(b.gate)
	<-second
}
