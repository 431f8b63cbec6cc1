//go:build linux

package main

import (
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestAuditorFinds checks that the auditor accepts a correct ledger of a session and
// detects errors in a wrong one.
func TestAuditorFinds(t *testing.T) {
	home := t.TempDir()
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	say := func(id firn.ID, entries ...firn.Entry) {
		t.Helper()
		if _, err := st.Append(t.Context(), id, store.Any, entries...); err != nil {
			t.Fatal(err)
		}
	}
	one, two, note := firn.NewEntry(firn.UserText("one").Body), firn.NewEntry(firn.UserText("two").Body), firn.NewEntry(&firn.Custom{Type: "note", Data: []byte(`{"text":"n"}`)})
	answer := firn.NewEntry(firn.AssistantText("yes").Body)
	say("s", one, answer, note, two)
	branch := firn.NewEntry(firn.UserText("elsewhere").Body)
	branch.Parent = one.ID
	say("b", one, answer)
	say("b", branch)
	waits := firn.NewEntry(&firn.Custom{Type: "firn.queued", Data: []byte(`{"id":"q","text":"later"}`)})
	say("w", waits)
	is := func(session firn.ID, id firn.EntryID) spoken { return spoken{session, id, "it", "c"} }
	for name, c := range map[string]struct {
		reported expected
		end      bool
		want     string
	}{
		"as it is":          {expected{sent: []spoken{is("s", one.ID), is("s", two.ID)}, noted: []spoken{{session: "s", text: "n"}}, lost: []spoken{{session: "s", text: "m"}}, made: []firn.ID{"s"}}, true, ""},
		"lost":              {expected{sent: []spoken{is("s", "gone")}}, true, "is there 0 times"},
		"out of order":      {expected{sent: []spoken{is("s", two.ID), is("s", one.ID)}}, true, "precedes an earlier"},
		"a lost note":       {expected{noted: []spoken{{session: "s", text: "m"}}}, true, "is not there once"},
		"a lost session":    {expected{made: []firn.ID{"x"}}, true, "session x was acknowledged and is not there"},
		"in no session":     {expected{sent: []spoken{is("x", one.ID)}}, true, "is not there"},
		"waits":             {expected{sent: []spoken{is("w", "q")}}, false, ""},
		"never answered":    {expected{sent: []spoken{is("w", "q")}}, true, "is there 0 times"},
		"too many moves":    {expected{moves: map[firn.ID]int{"s": 1}, moved: map[firn.ID]int{"s": 1}}, true, "was moved 0 times, 1 were acknowledged"},
		"unexpected branch": {expected{}, true, "session b is forked"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &auditor{home: home, strict: []firn.ID{"s"}}
			if c.want == "" || !strings.Contains(c.want, "forked") {
				c.reported.moves = merge(c.reported.moves, "b")
			}
			if strings.Contains(name, "moves") {
				a.strict = nil
			}
			wrong, err := a.audit(t.Context(), c.reported, c.end)
			if err != nil {
				t.Fatal(err)
			}
			// The same message is in two sessions, neither of which is a copy.
			all := strings.Join(wrong, "\n")
			if !strings.Contains(all, "message "+string(one.ID)+" is in session b and in session s") {
				t.Errorf("a message in two sessions was not found: %s", all)
			}
			if c.want == "" && len(wrong) != 1 || !strings.Contains(all, c.want) {
				t.Errorf("found %q, want %q", wrong, c.want)
			}
		})
	}
}

// merge counts a requested head move of a session.
func merge(moves map[firn.ID]int, id firn.ID) map[firn.ID]int {
	if moves == nil {
		moves = make(map[firn.ID]int)
	}
	moves[id] = 1
	return moves
}

func TestGrown(t *testing.T) {
	var s samples
	for i := range 100 {
		s.add(sample{At: float64(10 * i), RSS: 220 + 2*float64(i%7), Own: 60 + float64(i%7), Files: 50 + float64(i), Goroutines: 80})
	}
	for i, want := range []bool{true, false, true, false} {
		if got := s.trends()[i]; got.OK != want {
			t.Errorf("%s: %+v, want %v", got.What, got, want)
		}
	}
}

// TestSyncDifferences checks that machines that differ are noticed.
func TestSyncDifferences(t *testing.T) {
	a := map[string]string{"session x": "e1", "notes": "- one\n"}
	for _, c := range []struct {
		b    map[string]string
		want int
	}{
		{map[string]string{"session x": "e1", "notes": "- one\n"}, 0}, {map[string]string{"session x": "e1"}, 1},
		{map[string]string{"session x": "e2", "notes": "- one\n"}, 1}, {map[string]string{"session x": "e1", "notes": "- one\n", "session y": "e3"}, 1},
	} {
		if got := differences(a, c.b); len(got) != c.want {
			t.Errorf("%v: %q", c.b, got)
		}
	}
}
