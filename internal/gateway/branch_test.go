package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// branchOf returns the branch of a session as text.
func branchOf(t *testing.T, r *room, id firn.ID) string {
	t.Helper()
	return lineIDs(t, allEntries(t, r, id, view.EntryQuery{View: wire.ViewBranch}))
}

func TestRewind(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(3)
		moved := got(r.Rewind(r.ctx, id, wire.Move{Back: 1}))(t)
		if moved.To != "answer-2" || moved.From != "answer-3" || moved.Left != 2 || moved.Text != "question 3" || moved.Entry == "" || moved.Summary != "" {
			t.Errorf("it moved to %+v", moved)
		}
		end := got(r.Session(r.ctx, string(id)))(t).End
		if moved.End != end {
			t.Errorf("the end is reported as %d, it is %d", moved.End, end)
		}
		same(t, "the branch", branchOf(t, r, id), "user-1 answer-1 user-2 answer-2 "+string(moved.Entry))
		if w := got(r.Window(r.ctx, id, ""))(t); !strings.Contains(runsOf(w.Out), "#5–#6 ×2 other-branch") {
			t.Errorf("left out: %s", runsOf(w.Out))
		}
		// Moving back undoes it.
		back := got(r.Rewind(r.ctx, id, wire.Move{To: moved.From}))(t)
		same(t, "back again", branchOf(t, r, id), "user-1 answer-1 user-2 answer-2 user-3 answer-3 "+string(back.Entry))
		if back.To != "answer-3" || back.Left != 1 || back.Text != "" {
			t.Errorf("back it moved to %+v", back)
		}
		for _, ref := range []firn.EntryID{"#2", "answer-1", "HEAD~2"} {
			if moved := got(r.Rewind(r.ctx, id, wire.Move{To: ref}))(t); moved.To != "answer-1" {
				t.Errorf("%s moved it to %+v", ref, moved)
			}
			got(r.Rewind(r.ctx, id, wire.Move{To: "answer-3"}))(t)
		}
		root := got(r.Rewind(r.ctx, id, wire.Move{Back: 3}))(t)
		if root.To != "" || root.Text != "question 1" {
			t.Errorf("before everything it is %+v", root)
		}
		same(t, "before everything", branchOf(t, r, id), string(root.Entry))
		if w := got(r.Window(r.ctx, id, ""))(t); w.Count != 0 {
			t.Errorf("before everything the window has %d messages", w.Count)
		}
		if _, err := r.Turn(r.ctx, id, wire.Turn{Text: "anew"}); err != nil {
			t.Fatal(err)
		}
		if s := got(r.Session(r.ctx, string(id)))(t); s.State.Turns != 4 {
			t.Errorf("the state is %+v", s.State)
		}
		end = got(r.Session(r.ctx, string(id)))(t).End
		same1 := got(r.Rewind(r.ctx, id, wire.Move{To: "HEAD"}))(t)
		if same1.Entry != "" || same1.Left != 0 || same1.End != end || got(r.Session(r.ctx, string(id)))(t).End != end {
			t.Errorf("to move where it is did %+v", same1)
		}
	})
}

func TestRewindRefuses(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(2)
		for what, m := range map[string]wire.Move{"nothing": {}, "both": {To: "user-1", Back: 1}, "forwards": {Back: -1}, "nonsense": {To: "#x"}} {
			_, err := r.Rewind(r.ctx, id, m)
			isKind(t, what, err, wire.Invalid)
		}
		for what, m := range map[string]wire.Move{"too far": {Back: 3}, "no entry": {To: "nobody"}, "no number": {To: "#99"}} {
			_, err := r.Rewind(r.ctx, id, m)
			isKind(t, what, err, wire.NotFound)
		}
		_, err := r.Rewind(r.ctx, id, wire.Move{To: "user"})
		isKind(t, "two entries", err, wire.Ambiguous)
		_, err = r.Rewind(r.ctx, "nobody", wire.Move{Back: 1})
		isKind(t, "no session", err, wire.NotFound)
		rest := r.busy(id)
		defer rest()
		_, err = r.Rewind(r.ctx, id, wire.Move{Back: 1})
		isKind(t, "a turn is running", err, wire.Busy)
	})
}

func TestRewindWithSummary(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talkAtLength(3)
		moved := got(r.Rewind(r.ctx, id, wire.Move{To: "answer-1", Summary: true}))(t)
		if moved.To != "answer-1" || moved.Left != 4 || moved.Summary == "" || moved.End != got(r.Session(r.ctx, string(id)))(t).End {
			t.Errorf("it moved to %+v", moved)
		}
		same(t, "the branch", branchOf(t, r, id), "user-1 answer-1 "+string(moved.Entry))
		if w := got(r.Window(r.ctx, id, ""))(t); !strings.Contains(fmt.Sprint(w.Items), "summary of a branch") {
			t.Errorf("the window is %+v", w.Items)
		}
	})
}

func TestLabelHideShow(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(2)
		defer r.busy(id)() // all of it is allowed during a turn
		got(r.Label(r.ctx, id, wire.Label{Entry: "#3", Name: " the  start\n"}))(t)
		if entry := got(r.FindEntry(r.ctx, id, "the start"))(t); entry != "user-2" {
			t.Errorf("the label is on %s", entry)
		}
		got(r.Label(r.ctx, id, wire.Label{Entry: "the start", Name: ""}))(t)
		_, err := r.FindEntry(r.ctx, id, "the start")
		isKind(t, "a label that was taken away", err, wire.NotFound)

		hidden := got(r.Hide(r.ctx, id, wire.Hide{Entry: "answer-2", Reason: "wrong"}))(t)
		if len(hidden.IDs) != 1 || !strings.Contains(branchOf(t, r, id), "answer-2/tombstoned") {
			t.Errorf("hidden by %v the branch is %s", hidden.IDs, branchOf(t, r, id))
		}
		again := got(r.Hide(r.ctx, id, wire.Hide{Entry: "answer-2"}))(t)
		if len(again.IDs) != 0 || again.End != hidden.End {
			t.Errorf("hiding it again did %+v", again)
		}
		got(r.Show(r.ctx, id, wire.Hide{Entry: "answer-2"}))(t)
		if strings.Contains(branchOf(t, r, id), "answer-2/") {
			t.Errorf("shown again the branch is %s", branchOf(t, r, id))
		}
		if again = got(r.Show(r.ctx, id, wire.Hide{Entry: "answer-2"}))(t); len(again.IDs) != 0 {
			t.Errorf("showing it again did %+v", again)
		}
		// Hidden twice, it takes two tombstones to show it.
		r.write(id, firn.Hide("answer-1"), firn.Hide("answer-1"))
		if shown := got(r.Show(r.ctx, id, wire.Hide{Entry: "answer-1"}))(t); len(shown.IDs) != 2 || strings.Contains(branchOf(t, r, id), "answer-1/") {
			t.Errorf("showing an entry that was hidden twice did %+v", shown)
		}
		for what, l := range map[string]wire.Label{
			"a long label": {Entry: "HEAD", Name: strings.Repeat("x", 101)}, "a number": {Entry: "HEAD", Name: "#1"}, "the head": {Entry: "HEAD", Name: "HEAD"}, "no entry": {Name: "x"},
		} {
			_, err := r.Label(r.ctx, id, l)
			isKind(t, what, err, wire.Invalid)
		}
		for _, err := range []error{
			errOf(r.Label(r.ctx, id, wire.Label{Entry: "nobody", Name: "x"})), errOf(r.Hide(r.ctx, id, wire.Hide{Entry: "nobody"})),
			errOf(r.Show(r.ctx, id, wire.Hide{Entry: "HEAD~2"})), errOf(r.Hide(r.ctx, "nobody", wire.Hide{Entry: "HEAD"})),
		} {
			isKind(t, "what is not there", err, wire.NotFound)
		}
	})
}

func errOf[T any](_ T, err error) error { return err }

func TestFork(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := sampleSession(r)
		got(r.Patch(r.ctx, id, wire.Patch{Title: new("counting")}))(t)
		old := lineIDs(t, allEntries(t, r, id, view.EntryQuery{}))
		fork := got(r.Fork(r.ctx, id, wire.Fork{}))(t)
		if fork.Parent != string(id) || fork.Title != "(fork of counting)" || fork.Agent != "main" || fork.ID == id || fork.Hidden {
			t.Errorf("the fork is %+v", fork)
		}
		if name := lastTitle(t, r, fork.ID); name.Source != firn.SourceAuto {
			t.Errorf("the name %+v was not chosen by a user, but would override all others", name)
		}
		branch := branchOf(t, r, fork.ID)
		if !strings.HasPrefix(branch, "user-1/compacted answer-1/compacted user-3/compacted answer-3/compacted user-4 answer-4/tombstoned comp-1 user-5 answer-5 failed-1/hidden ") {
			t.Errorf("its branch is %s", branch)
		}
		was, is := got(r.Window(r.ctx, id, ""))(t), got(r.Window(r.ctx, fork.ID, ""))(t)
		if fmt.Sprint(was.Items) != fmt.Sprint(is.Items) {
			t.Errorf("the model is sent\n%+v\nand was sent\n%+v", is.Items, was.Items)
		}
		if entry := got(r.FindEntry(r.ctx, fork.ID, "here"))(t); entry != "user-5" {
			t.Errorf("the label is on %s", entry)
		}
		if st := fork.State; st.Counters != (wire.Counters{}) || st.Turns != 4 || st.Compactions != 1 {
			t.Errorf("its counters are %+v", st)
		}
		same(t, "the old one", lineIDs(t, allEntries(t, r, id, view.EntryQuery{})), old)

		// Hidden entries can be shown in the fork without affecting the original.
		got(r.Show(r.ctx, fork.ID, wire.Hide{Entry: "answer-4"}))(t)
		if !strings.Contains(branchOf(t, r, fork.ID), "answer-4 comp-1") || !strings.Contains(branchOf(t, r, id), "answer-4/tombstoned") {
			t.Errorf("shown in the fork, the branches are %s and %s", branchOf(t, r, fork.ID), branchOf(t, r, id))
		}
		got(r.Undo(r.ctx, fork.ID, "comp-1"))(t)
		if strings.Contains(branchOf(t, r, fork.ID), "/compacted") {
			t.Errorf("undone, the branch is %s", branchOf(t, r, fork.ID))
		}
		if _, err := r.Turn(r.ctx, fork.ID, wire.Turn{Text: "six"}); err != nil {
			t.Fatal(err)
		}
		if s := got(r.Session(r.ctx, string(fork.ID)))(t); s.State.Counters.Cost != 2 || s.State.Turns != 5 {
			t.Errorf("with one turn more it has used %+v", s.State)
		}
	})
}

// lastTitle returns the latest title of a session.
func lastTitle(t *testing.T, r *room, id firn.ID) (name firn.Title) {
	t.Helper()
	for rec, err := range r.st.Read(r.ctx, id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if e, err := rec.Entry(); err != nil {
			t.Fatal(err)
		} else if b, ok := e.Body.(*firn.Title); ok {
			name = *b
		}
	}
	return name
}

func TestForkWithOptions(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := sampleSession(r)
		for _, ref := range []firn.EntryID{"answer-2", "#4"} {
			fork := got(r.Fork(r.ctx, id, wire.Fork{At: ref, Title: "the other way"}))(t)
			if branch := branchOf(t, r, fork.ID); !strings.HasPrefix(branch, "user-1 answer-1 user-2 answer-2 ") || fork.Title != "the other way" {
				t.Errorf("at %s the fork is %+v, its branch %s", ref, fork, branch)
			}
		}
		keyed := got(r.Fork(r.ctx, id, wire.Fork{Key: "agent:work:cli:direct:me"}))(t)
		if keyed.Key != "agent:work:cli:direct:me" || keyed.Agent != "work" || !keyed.Current {
			t.Errorf("with a key the fork is %+v", keyed)
		}
		if again := got(r.Fork(r.ctx, keyed.ID, wire.Fork{}))(t); again.Parent != string(keyed.ID) || strings.Count(again.Title, "fork of") != 1 || again.Key != "" {
			t.Errorf("the fork of a fork is %+v", again)
		}
		if empty := got(r.Fork(r.ctx, r.start(firn.Header{}), wire.Fork{}))(t); empty.State.Turns != 0 {
			t.Errorf("the fork of nothing is %+v", empty)
		}
		rest := r.busy(id)
		defer rest()
		got(r.Fork(r.ctx, id, wire.Fork{At: "answer-2"}))(t) // an earlier entry
		for what, f := range map[string]wire.Fork{"at the head": {}, "at HEAD": {At: "HEAD"}, "at the last entry": {At: "label-1"}} {
			_, err := r.Fork(r.ctx, id, f)
			isKind(t, what, err, wire.Busy)
		}
		for what, f := range map[string]wire.Fork{"no entry": {At: "nobody"}, "before everything": {At: "HEAD~4"}, "no agent": {At: "user-1", Key: "agent:nobody:x"}} {
			_, err := r.Fork(r.ctx, id, f)
			isKind(t, what, err, wire.NotFound)
		}
		_, err := r.Fork(r.ctx, id, wire.Fork{At: "user-1", Title: strings.Repeat("x", 300)})
		isKind(t, "a long title", err, wire.Invalid)
		_, err = r.Fork(r.ctx, "../x", wire.Fork{})
		isKind(t, "no id", err, wire.Invalid)
	})
}

// TestForkSkipsEntriesAboutTheOriginal checks that entries about the old session only are not
// copied.
func TestForkSkipsEntriesAboutTheOriginal(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		custom := func(id, kind, data string) firn.Entry {
			return body(id, &firn.Custom{Type: kind, Data: json.RawMessage(data)})
		}
		accepted := says("user-1", "hello")
		accepted.Extra = firn.Fields{{Name: acceptedField, Value: json.RawMessage("true")}, {Name: "sender", Value: json.RawMessage(`"zoe"`)}}
		id := r.start(firn.Header{},
			custom("reset-1", resetType, `{"previous":"x"}`), accepted, body("title-1", &firn.Title{Name: "chosen", Source: firn.SourceUser}),
			custom("draft-1", firn.DraftType, `{"answer":"answer-1","text":"re"}`), answers("answer-1", "re: hello"),
			custom("counters-1", countersType, `{"input":9,"turns":1}`), custom("usage-1", usageType, `{"usage":{"input":7,"cost":{"total":7}}}`),
			custom("queued-1", queuedType, `{"id":"x","text":"later"}`), custom("mine-1", "my.state", `{"x":1.0}`),
			// The first kept entry is one of those.
			body("comp-1", &firn.Compaction{Summary: "said hello", FirstKept: "counters-1"}),
			says("user-2", "and?"), custom("draft-2", firn.DraftType, `{"answer":"never","text":"half a w"}`),
		)
		fork := got(r.Fork(r.ctx, id, wire.Fork{}))(t)
		if branch := branchOf(t, r, fork.ID); !strings.HasPrefix(branch, "user-1/compacted answer-1/compacted mine-1 comp-1 user-2 draft-2 ") {
			t.Errorf("the branch is %s", branch)
		}
		disk := allEntries(t, r, fork.ID, view.EntryQuery{})
		text := ""
		for _, e := range disk {
			text += string(e.Line)
		}
		if strings.Contains(text, acceptedField) || !strings.Contains(text, "zoe") || !strings.Contains(text, `"x":1.0`) {
			t.Errorf("the fork contains %s", text)
		}
		path := got(r.Path(r.ctx, fork.ID))(t)
		if agent.PartialAnswer(path) != "half a w" || fork.State.Counters != (wire.Counters{}) {
			t.Errorf("the part that was cut off is %q", agent.PartialAnswer(path))
		}
	})
}

// TestForkOfALongSession checks that a long path is copied in several appends and hidden
// until it is complete.
func TestForkOfALongSession(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(copyEntries + 100)
		fork := got(r.Fork(r.ctx, id, wire.Fork{}))(t)
		if fork.Hidden || fork.State.Turns != copyEntries+100 {
			t.Errorf("the fork is %+v, %+v", fork, fork.State)
		}
		was := allEntries(t, r, id, view.EntryQuery{View: wire.ViewBranch, Limit: 1000})
		is := allEntries(t, r, fork.ID, view.EntryQuery{View: wire.ViewBranch, Limit: 1000})
		for i := range was {
			if lineIDs(t, was[i:i+1]) != lineIDs(t, is[i:i+1]) {
				t.Fatalf("entry %d is %s and was %s", i, is[i].Line, was[i].Line)
			}
		}
		if page := got(r.Sessions(r.ctx, SessionQuery{}))(t); len(page.Items) != 2 {
			t.Errorf("%d sessions are listed", len(page.Items))
		}
	})
	// A partial copy is hidden.
	r := newRoom(t, &halting{Store: memRoomStore(), after: 2}, "")
	id := r.talk(copyEntries + 100)
	if _, err := r.Fork(r.ctx, id, wire.Fork{}); err == nil {
		t.Fatal("the store failed and the fork did not")
	}
	plain, hidden := got(r.Sessions(r.ctx, SessionQuery{}))(t), got(r.Sessions(r.ctx, SessionQuery{Hidden: true}))(t)
	if len(plain.Items) != 1 || len(hidden.Items) != 1 {
		t.Errorf("%d sessions are listed, %d are hidden", len(plain.Items), len(hidden.Items))
	}
}

// TestForkSendsSameWindow checks on random sessions that a fork of the head sends the same
// window.
func TestForkSendsSameWindow(t *testing.T) {
	r := newRoom(t, memRoomStore(), "")
	for seed := range 40 {
		id := r.talk(2)
		rnd := newDice(seed)
		for range 30 {
			randomChange(t, r, id, rnd)
		}
		fork := got(r.Fork(r.ctx, id, wire.Fork{}))(t)
		was, is := got(r.Window(r.ctx, id, ""))(t), got(r.Window(r.ctx, fork.ID, ""))(t)
		if a, b := fmt.Sprintf("%+v", was.Items), fmt.Sprintf("%+v", is.Items); a != b {
			t.Fatalf("seed %d: the fork is sent\n%s\nthe session\n%s", seed, b, a)
		}
		// Both directions of a branch agree, and so do numbers and IDs.
		forth := allEntries(t, r, id, view.EntryQuery{View: wire.ViewBranch, Limit: 7})
		back := allEntries(t, r, id, view.EntryQuery{View: wire.ViewBranch, Limit: 5, Back: true})
		slices.Reverse(back)
		same(t, fmt.Sprint("branch of seed ", seed), lineIDs(t, back), lineIDs(t, forth))
	}
}

func randomChange(t *testing.T, r *room, id firn.ID, rnd *dice) {
	t.Helper()
	all := allEntries(t, r, id, view.EntryQuery{})
	some := firn.EntryID(lineIDs(t, all[1+rnd.n(len(all)-1):][:1]))
	switch rnd.n(7) {
	case 0, 1:
		r.write(id, says("", "more"), answers("", "yes"))
	case 2:
		if _, err := r.Rewind(r.ctx, id, wire.Move{To: some}); err != nil {
			t.Fatal(err)
		}
	case 3:
		got(r.Hide(r.ctx, id, wire.Hide{Entry: string(some)}))(t)
	case 4:
		got(r.Show(r.ctx, id, wire.Hide{Entry: string(some)}))(t)
	case 5:
		r.write(id, firn.NewEntry(&firn.Compaction{Summary: "so far", FirstKept: some}))
	case 6:
		got(r.Label(r.ctx, id, wire.Label{Entry: string(some), Name: fmt.Sprint("name ", rnd.n(3))}))(t)
	}
}

// TestRewindDuringTurnElsewhere checks that a turn that another process runs keeps its branch.
func TestRewindDuringTurnElsewhere(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(2)
		runs, left := true, 0
		r.core.Enter = func(ctx context.Context, _ firn.ID, waits func()) (func(), error) {
			if !runs {
				return func() { left++ }, nil
			}
			waits()
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		if _, err := r.Rewind(r.ctx, id, wire.Move{Back: 1}); wire.KindOf(err) != wire.Busy {
			t.Errorf("rewound: %v", err)
		}
		runs = false
		if moved := got(r.Rewind(r.ctx, id, wire.Move{Back: 1}))(t); moved.To != "answer-1" || left != 1 {
			t.Errorf("it moved to %+v, and released the session %d times", moved, left)
		}
	})
}
