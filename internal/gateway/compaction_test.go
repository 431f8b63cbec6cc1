package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/wire"
)

func TestCompactUndoRedo(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talkAtLength(6)
		before := got(r.Window(r.ctx, id, ""))(t)
		plan := got(r.Compact(r.ctx, id, wire.Compact{KeepRecent: 300, Plan: true}))(t)
		if plan.Plan == nil || plan.Plan.Summarised == 0 || plan.Plan.Kept == 0 || plan.Plan.Summarised+plan.Plan.Kept != 12 || plan.ID != "" {
			t.Errorf("the plan is %+v", plan.Plan)
		}
		if all := got(r.Compactions(r.ctx, id))(t); len(all) != 0 {
			t.Errorf("planning made %+v", all)
		}
		short := r.start(firn.Header{}, says("", "hello"), answers("", "hello"))
		if plan := got(r.Compact(r.ctx, short, wire.Compact{Plan: true}))(t).Plan; plan == nil || plan.Nothing == "" || plan.Summarised != 0 {
			t.Errorf("the plan of a short session is %+v", plan)
		}
		_, err := r.Compact(r.ctx, short, wire.Compact{})
		isKind(t, "nothing to compact", err, wire.Invalid)
		made := got(r.Compact(r.ctx, id, wire.Compact{KeepRecent: 300, Hint: "numbers"}))(t)
		if made.ID == "" || !strings.Contains(made.Summary, "all of it was said") || made.After >= made.Before || made.Count != 1 || made.Strategy != "model" || made.Model != "scripted/scripted" || made.Plan != nil {
			t.Errorf("the compaction is %+v", made)
		}
		small := got(r.Window(r.ctx, id, ""))(t)
		if small.Count >= before.Count || small.Compactions != 1 || runsOf(small.Out) == "" {
			t.Errorf("the window has %d messages, before it had %d", small.Count, before.Count)
		}
		all := got(r.Compactions(r.ctx, id))(t)
		if len(all) != 1 || all[0].ID != made.ID || !all[0].Current || all[0].Undone || all[0].Reason != "manual" || all[0].At == "" {
			t.Errorf("there are %+v", all)
		}

		undone := got(r.Undo(r.ctx, id, ""))(t)
		if undone.ID != made.ID || !undone.Undone || undone.Current {
			t.Errorf("undone it is %+v", undone)
		}
		if w := got(r.Window(r.ctx, id, ""))(t); w.Count != before.Count || w.Compactions != 0 {
			t.Errorf("the window is not restored: %d messages of %d", w.Count, before.Count)
		}
		_, err = r.Undo(r.ctx, id, "")
		isKind(t, "undo nothing", err, wire.NotFound)
		_, err = r.Undo(r.ctx, id, made.ID)
		isKind(t, "undo twice", err, wire.NotFound)

		redone := got(r.Redo(r.ctx, id, "latest"))(t)
		if redone.ID != made.ID || redone.Undone || !redone.Current {
			t.Errorf("redone it is %+v", redone)
		}
		if w := got(r.Window(r.ctx, id, ""))(t); w.Count != small.Count {
			t.Errorf("the window has %d messages, not %d", w.Count, small.Count)
		}
		_, err = r.Redo(r.ctx, id, "")
		isKind(t, "redo nothing", err, wire.NotFound)
		got(r.Undo(r.ctx, id, "#13"))(t)
		got(r.Redo(r.ctx, id, made.ID))(t)
		_, err = r.Undo(r.ctx, id, "user-1")
		isKind(t, "undo a message", err, wire.NotFound)
	})
}

func TestCompactRefuses(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talkAtLength(4)
		rest := r.busy(id)
		_, err := r.Compact(r.ctx, id, wire.Compact{})
		isKind(t, "compact", err, wire.Busy)
		_, err = r.Undo(r.ctx, id, "")
		isKind(t, "undo", err, wire.Busy)
		_, err = r.Redo(r.ctx, id, "")
		isKind(t, "redo", err, wire.Busy)
		if _, err = r.Compactions(r.ctx, id); err != nil {
			t.Errorf("looking is refused: %v", err)
		}
		rest()
		_, err = r.Compact(r.ctx, r.talk(1), wire.Compact{})
		isKind(t, "a short one", err, wire.Invalid)
		_, err = r.Compact(r.ctx, r.start(firn.Header{}), wire.Compact{})
		isKind(t, "an empty one", err, wire.Invalid)
		_, err = r.Compact(r.ctx, id, wire.Compact{KeepRecent: -1})
		isKind(t, "less than nothing", err, wire.Invalid)
		_, err = r.Compact(r.ctx, id, wire.Compact{Model: "other"})
		isKind(t, "no provider", err, wire.Invalid)
		_, err = r.Compact(r.ctx, id, wire.Compact{Model: "scripted/none"})
		isKind(t, "no model", err, wire.NotFound)
		_, err = r.Compact(r.ctx, r.start(firn.Header{Agent: "retired"}, says("", "x")), wire.Compact{})
		isKind(t, "an agent that is gone", err, wire.NotFound)
		for _, no := range []firn.ID{"nobody", "../x"} {
			_, err = r.Compact(r.ctx, no, wire.Compact{})
			if kind := wire.KindOf(err); kind != wire.NotFound && kind != wire.Invalid {
				t.Errorf("session %s: %v", no, err)
			}
		}
	})
}

// TestCompactByAnotherModel checks that the summarizing model can be chosen and that hooks
// can refuse.
func TestCompactByAnotherModel(t *testing.T) {
	r := fileRoom(t)
	id := r.talkAtLength(6)
	setup := *r.setup.Load()
	setup.Models = func(from, name string) (provider.Model, error) {
		return scripted.New(provider.Info{Provider: from, Name: name}, scripted.Forever(scripted.Reply("## Goal\nto test\n\n## Progress\nsummed up by another"))), nil
	}
	if err := r.Reload(setup); err != nil {
		t.Fatal(err)
	}
	made := got(r.Compact(r.ctx, id, wire.Compact{KeepRecent: 300, Model: "far/away"}))(t)
	if made.Model != "far/away" || !strings.Contains(made.Summary, "summed up by another") {
		t.Errorf("the compaction is %+v", made)
	}
	a := setup.Agents["main"]
	a.Hooks.BeforeCompaction = func(context.Context, agent.Run, compact.Plan) (compact.Decision, error) {
		return compact.Decision{Cancel: true}, nil
	}
	for i := range 6 {
		r.write(id, says("", strings.Repeat(fmt.Sprintf("more %d. ", i), 200)))
	}
	_, err := r.Compact(r.ctx, id, wire.Compact{KeepRecent: 300})
	isKind(t, "a hook that does not want it", err, wire.NotAllowed)
}
