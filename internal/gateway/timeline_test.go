package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// encoded formats a course, one line per turn: its first and last entry, its own tokens, and
// the window at its end.
func encoded(c wire.Course) string {
	var out []string
	for _, e := range c.Episodes {
		line := fmt.Sprintf("%d %s–%s #%d own %d window %d+%d+%d calls %d $%g", e.Turn, e.First, e.Last, e.N, e.Own, e.Window.Summary, e.Window.Kept, e.Window.Tools, e.Calls, e.Usage.Cost)
		for _, c := range e.Compactions {
			line += fmt.Sprintf(" ◆%s %v", c.ID, c.Current)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// weighing returns a message with the given number of tokens.
func weighing(e firn.Entry, tokens int) firn.Entry {
	e.Body.(*firn.Message).Parts = []firn.Part{firn.Text{Text: strings.Repeat("word", tokens)}}
	return e
}

func TestTimeline(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		call := answers("a2", "")
		call.Body.(*firn.Message).Parts = []firn.Part{firn.ToolCall{ID: "c1", Name: "ls", Arguments: json.RawMessage(`{}`)}}
		result := body("r2", &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "c1", Content: []firn.Part{firn.Text{Text: strings.Repeat("word", 100)}}}}})
		id := r.start(firn.Header{}, firn.Entry{ID: "t0", Body: &firn.Title{Name: "x"}},
			weighing(says("u1", ""), 10), weighing(answers("a1", ""), 20),
			weighing(says("u2", ""), 5), call, result, weighing(answers("b2", ""), 5),
			weighing(says("u3", ""), 7), weighing(answers("a3", ""), 3))
		c := got(r.Course(r.ctx, id, "", wire.TurnRange{}))(t)
		callTokens := c.Episodes[1].Own - 5 - 5 - 100
		if callTokens <= 0 || callTokens > 10 {
			t.Fatalf("a call weighs %d", callTokens)
		}
		want := []string{
			"1 t0–a1 #1 own 30 window 0+30+0 calls 0 $2",
			fmt.Sprintf("2 u2–b2 #4 own %d window 0+%d+100 calls 1 $4", 110+callTokens, 40+callTokens),
			fmt.Sprintf("3 u3–a3 #8 own 10 window 0+%d+100 calls 0 $2", 50+callTokens),
		}
		same(t, "the course", encoded(c), strings.Join(want, "\n"))
		if c.Turns != 3 || c.Step != 1 || c.Partial || c.Episodes[0].Window.System == 0 || !strings.HasPrefix(c.Episodes[0].Preview, "wordword") {
			t.Errorf("it is %+v", c)
		}

		// A compaction that keeps the last turn.
		r.write(id, body("c4", &firn.Compaction{Summary: strings.Repeat("word", 4), FirstKept: "u3", TokensBefore: 999}))
		want[2] = "3 u3–c4 #8 own 10 window 4+10+0 calls 0 $2 ◆c4 true"
		same(t, "compacted", encoded(got(r.Course(r.ctx, id, "", wire.TurnRange{}))(t)), strings.Join(want, "\n"))
		r.write(id, weighing(says("u5", ""), 1))
		same(t, "gone on", encoded(got(r.Course(r.ctx, id, "", wire.TurnRange{}))(t)), strings.Join(append(want, "4 u5–u5 #11 own 1 window 4+11+0 calls 0 $0"), "\n"))

		// Undoing it removes its effect; the cached result equals a new one.
		r.write(id, body("x6", &firn.Tombstone{Target: "c4"}))
		known := got(r.Course(r.ctx, id, "", wire.TurnRange{}))(t)
		if strings.Contains(encoded(known), "◆") || known.Episodes[3].Window.Kept != 51+callTokens || known.Episodes[3].Window.Summary != 0 {
			t.Errorf("undone it is\n%s", encoded(known))
		}
		r.Moved(id)
		same(t, "read again", encoded(got(r.Course(r.ctx, id, "", wire.TurnRange{}))(t)), encoded(known))

		// Another branch.
		r.write(id, under("a1", weighing(says("v2", ""), 2)))
		same(t, "another branch", encoded(got(r.Course(r.ctx, id, "", wire.TurnRange{}))(t)), want[0]+"\n2 v2–v2 #13 own 2 window 0+32+0 calls 0 $0")
		same(t, "the branch that was left", encoded(got(r.Course(r.ctx, id, "x6", wire.TurnRange{}))(t)), encoded(known))
		_, err := r.Course(r.ctx, id, "nothing", wire.TurnRange{})
		isKind(t, "no entry", err, wire.NotFound)
		_, err = r.Course(r.ctx, "missing", "", wire.TurnRange{})
		isKind(t, "no session", err, wire.NotFound)
		empty := r.start(firn.Header{})
		if c := got(r.Course(r.ctx, empty, "", wire.TurnRange{}))(t); c.Turns != 0 || c.Episodes == nil || len(c.Episodes) != 0 {
			t.Errorf("without messages it is %+v", c)
		}
	})
}

// TestTimelineOfManyTurns checks that a long session has at most 400 episodes with the same
// sums.
func TestTimelineOfManyTurns(t *testing.T) {
	r := fileRoom(t)
	var entries []firn.Entry
	for i := range 1001 {
		entries = append(entries, weighing(says(fmt.Sprint("u", i), ""), 3), answers(fmt.Sprint("a", i), "abcd"))
	}
	id := r.start(firn.Header{}, entries...)
	c := got(r.Course(r.ctx, id, "", wire.TurnRange{}))(t)
	own, cost := int64(0), 0.0
	for _, e := range c.Episodes {
		own, cost = own+e.Own, cost+e.Usage.Cost
	}
	last := c.Episodes[len(c.Episodes)-1]
	if part := got(r.Course(r.ctx, id, "", wire.TurnRange{From: 4, To: 6}))(t); part.Turns != 1001 || part.Step != 1 || len(part.Episodes) != 3 || part.Episodes[0].Turn != 4 || part.Episodes[2].Turn != 6 {
		t.Errorf("turns 4 to 6 are %+v", part)
	}
	if part := got(r.Course(r.ctx, id, "", wire.TurnRange{From: 2000, To: 1}))(t); part.Turns != 1001 || len(part.Episodes) != 0 {
		t.Errorf("turns that do not exist are %+v", part)
	}
	if c.Turns != 1001 || c.Step != 3 || len(c.Episodes) != 334 || own != 4004 || cost != 2002 || last.Last != "a1000" || last.Window.Kept != 4004 {
		t.Errorf("%d turns in steps of %d are %d episodes of %d tokens and $%g, the last of them %+v", c.Turns, c.Step, len(c.Episodes), own, cost, last)
	}
	if c.Episodes[1].First != "u3" || c.Episodes[1].Last != "a5" || c.Episodes[1].Turn != 4 {
		t.Errorf("the second is %+v", c.Episodes[1])
	}
}

// TestTimelineAfterPurge checks that purged entries are dropped from the cache.
func TestTimelineAfterPurge(t *testing.T) {
	r := fileRoom(t)
	id := r.start(firn.Header{}, says("u1", "the secret is tulip"), answers("a1", "x"), says("u2", "more"))
	got(r.Course(r.ctx, id, "", wire.TurnRange{}))(t)
	got(r.Purge(r.ctx, id, wire.Erase{Sure: id, Entries: []firn.EntryID{"u1"}}))(t)
	if c := got(r.Course(r.ctx, id, "", wire.TurnRange{}))(t); strings.Contains(fmt.Sprintf("%+v", c), "tulip") {
		t.Errorf("it still returns %+v", c)
	}
}

func TestCompactionDetail(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talkAtLength(6)
		made := got(r.Compact(r.ctx, id, wire.Compact{KeepRecent: 300}))(t)
		d := got(r.Compacted(r.ctx, id, string(made.ID)))(t)
		if d.ID != made.ID || !d.Current || d.Undone || d.Summary != made.Summary || d.Head != "answer-6" || d.FirstKept == "" || d.Earlier != "" {
			t.Errorf("it is %+v", d)
		}
		if len(d.Replaced) != 1 || len(d.Stayed) != 1 || d.Replaced[0].First != "user-1" || d.Stayed[0].Last != "answer-6" || d.Stayed[0].First != d.FirstKept || d.Replaced[0].Count+d.Stayed[0].Count != 12 {
			t.Errorf("replaced: %+v, stayed: %+v", d.Replaced, d.Stayed)
		}
		if d.Replaced[0].From != 1 || d.Replaced[0].To != d.Replaced[0].Count || d.Stayed[0].From != d.Replaced[0].To+1 || d.Stayed[0].To != 12 {
			t.Errorf("the numbers are %+v and %+v", d.Replaced, d.Stayed)
		}
		if d.Was.Summary != 0 || d.Is.Summary == 0 || d.Is.Kept >= d.Was.Kept || d.Is.Kept == 0 {
			t.Errorf("the window was %+v and is %+v", d.Was, d.Is)
		}
		// Later entries do not change the result.
		r.write(id, says("later", strings.Repeat("much is said. ", 400)), answers("again", "yes"))
		second := got(r.Compact(r.ctx, id, wire.Compact{KeepRecent: 10}))(t)
		got(r.Undo(r.ctx, id, second.ID))(t)
		again := got(r.Compacted(r.ctx, id, string(made.ID)))(t)
		if runsOf(again.Replaced) != runsOf(d.Replaced) || again.Was != d.Was || again.Is != d.Is || !again.Current {
			t.Errorf("later it is %+v", again)
		}
		late := got(r.Compacted(r.ctx, id, string(second.ID)))(t)
		if late.Earlier != made.ID || !late.Undone || late.Current || late.Was.Summary == 0 {
			t.Errorf("the second is %+v", late)
		}
		if named := got(r.Compacted(r.ctx, id, "latest"))(t); named.ID != made.ID {
			t.Errorf("the latest in force is %s", named.ID)
		}
		for _, name := range []string{"user-1", "nowhere"} {
			_, err := r.Compacted(r.ctx, id, name)
			isKind(t, name, err, wire.NotFound)
		}
		_, err := r.Compacted(r.ctx, r.talk(1), "latest")
		isKind(t, "none", err, wire.NotFound)
	})
}

// TestTagsSurviveAppends checks that lists keep the tags of a session while entries are
// appended.
func TestTagsSurviveAppends(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(2)
		tags := []string{"urgent", "billing"}
		s := got(r.Patch(r.ctx, id, wire.Patch{Tags: &tags}))(t)
		if store.JoinTags(s.Tags) != "billing,urgent" {
			t.Fatalf("the tags are %q", s.Tags)
		}
		has := func(when string, want int) {
			t.Helper()
			page := got(r.Sessions(r.ctx, SessionQuery{Tag: "urgent"}))(t)
			if len(page.Items) != want || page.Total != want {
				t.Errorf("%s: %d of %d are listed", when, len(page.Items), page.Total)
			}
		}
		has("at first", 1)
		for i := range 3 {
			got(r.Turn(r.ctx, id, wire.Turn{Text: strings.Repeat("much is said. ", 1000)}))(t)
			has(fmt.Sprint("after turn ", i), 1)
		}
		end := got(r.Session(r.ctx, string(id)))(t).End
		for range 3 {
			a := got(r.Append(r.ctx, id, end, wire.NewEntries{User: strings.Repeat("more. ", 3000)}))(t)
			end = a.End // the next append expects this end
		}
		has("after words", 1)
		if b := got(r.Session(r.ctx, string(id)))(t); b.State.Branches != 1 || b.End != end {
			t.Errorf("it has %d branches and ends at %d, not %d", b.State.Branches, b.End, end)
		}
		none := []string{}
		got(r.Patch(r.ctx, id, wire.Patch{Tags: &none}))(t)
		has("taken off", 0)
		got(r.Turn(r.ctx, id, wire.Turn{Text: strings.Repeat("much is said. ", 1000)}))(t)
		has("later", 0)
		for _, bad := range [][]string{{"a b"}, {""}, {"-x"}} {
			_, err := r.Patch(r.ctx, id, wire.Patch{Tags: &bad})
			isKind(t, fmt.Sprint(bad), err, wire.Invalid)
		}
	})
}
