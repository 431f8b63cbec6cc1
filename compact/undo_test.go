package compact

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestUndoRedo(t *testing.T) {
	const size = 16_000
	st := open(t, talk(20, 1000)...)
	j := job(st, echo(size), size)
	w0 := build(t, st)
	first, err := Run(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	w1 := build(t, st)
	if diff := diffWindows(w0, w1); len(diff.In) != 1 || diff.In[0] != first.Entry.ID || len(diff.Out) == 0 || diff.Out[0] != w0.Items[0].From[0] ||
		diff.After >= diff.Before || diff.After != w1.Tokens.Total {
		t.Errorf("the difference is %+v", diff)
	}
	more := talk(20, 1000)
	for i := range more {
		more[i].ID = ""
	}
	add(t, st, more...)
	w2 := build(t, st)
	second, err := Run(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	w3 := build(t, st)
	tombstone, err := Undo(t.Context(), st, session, "")
	if err != nil || tombstone.Body.(*firn.Tombstone).Target != second.Entry.ID {
		t.Fatalf("undone %+v, error %v", tombstone.Body, err)
	}
	sameWindow(t, w2, build(t, st))
	if _, err := Undo(t.Context(), st, session, second.Entry.ID); !errors.Is(err, ErrNothing) {
		t.Errorf("undone twice: %v", err)
	}
	if _, err := Redo(t.Context(), st, session, ""); err != nil {
		t.Fatal(err)
	}
	sameWindow(t, w3, build(t, st))
	if _, err := Redo(t.Context(), st, session, ""); !errors.Is(err, ErrNothing) {
		t.Errorf("redone twice: %v", err)
	}
	if _, err := Redo(t.Context(), st, session, first.Entry.ID); !errors.Is(err, ErrNothing) {
		t.Errorf("redo of a compaction that is not undone: %v", err)
	}
	for range 2 {
		if _, err := Undo(t.Context(), st, session, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Undo(t.Context(), st, session, ""); !errors.Is(err, ErrNothing) {
		t.Errorf("undo with nothing left to undo: %v", err)
	}
	past, err := List(t.Context(), st, session)
	if err != nil || len(past) != 2 || !past[0].Undone || !past[1].Undone || past[0].Counts || past[1].Counts {
		t.Errorf("past is %+v, error %v", past, err)
	}
	if redone, err := Redo(t.Context(), st, session, first.Entry.ID); err != nil || len(redone) != 1 {
		t.Errorf("redo of the first: %v, %v", redone, err)
	}
	sameWindow(t, w2, build(t, st))
	for _, do := range []func() error{
		func() error { _, err := Undo(t.Context(), st, session, "nobody"); return err },
		func() error { _, err := Redo(t.Context(), st, session, more[0].ID+"x"); return err },
	} {
		if err := do(); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("a missing compaction: %v", err)
		}
	}
}

func TestList(t *testing.T) {
	const size = 16_000
	st := open(t, talk(20, 1000)...)
	j := job(st, echo(size), size)
	result, err := Run(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	// Two tombstones on one compaction, and a compaction on another branch.
	add(t, st, firn.Hide(result.Entry.ID), firn.Hide(result.Entry.ID))
	foreign := firn.NewEntry(&firn.Compaction{Summary: "# Title\n\nFirst words.\nMore.", FirstKept: all(t, st)[1].ID, TokensBefore: 7})
	add(t, st, foreign)
	c := compaction(t, result.Entry)
	past, err := List(t.Context(), st, session)
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{
		{
			ID: result.Entry.ID, At: result.End - 1, Time: result.Entry.Time, FirstKept: c.FirstKept,
			Before: result.Before, After: result.After, Strategy: ByModel, Reason: Threshold, Model: "scripted/scripted",
			Line: "Make the parser whole.", Undone: true, By: past[0].By,
		},
		{ID: foreign.ID, At: result.End + 2, Time: past[1].Time, FirstKept: all(t, st)[1].ID, Before: 7, Line: "First words.", Counts: true},
	}
	if diff := cmp.Diff(want, past); diff != "" || len(past[0].By) != 2 {
		t.Errorf("past (-want +got):\n%s", diff)
	}
	add(t, st, firn.Hide(foreign.ID))
	if redone, err := Redo(t.Context(), st, session, result.Entry.ID); err != nil || len(redone) != 2 {
		t.Errorf("both tombstones must be removed: %v, %v", redone, err)
	}
	if p := live(t, st); p.Compaction == nil || p.Compaction.ID != result.Entry.ID {
		t.Error("the compaction is not in effect again")
	}
	back := userEntry("Another branch.")
	back.Parent = all(t, st)[4].ID
	add(t, st, back)
	if past, err := List(t.Context(), st, session); err != nil || len(past) != 0 {
		t.Errorf("on another branch: %v, %v", past, err)
	}
}

// busy is a store with another writer that appends before each append.
type busy struct {
	store.Store
	speak func()
	times int
}

func (b *busy) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	if b.times > 0 && expect != store.Any {
		b.times--
		b.speak()
	}
	return b.Store.Append(ctx, id, expect, entries...)
}

func TestBusy(t *testing.T) {
	const size = 16_000
	mem := open(t, talk(20, 1000)...)
	b := &busy{Store: mem, speak: func() { add(t, mem, userEntry("And another thing.")) }}
	b.times = 5
	result, err := Run(t.Context(), job(b, echo(size), size))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(sent(t, mem), "And another thing."); n != 5 {
		t.Errorf("%d of 5 messages appended meanwhile are in the window", n)
	}
	b.times = 1000
	if _, err := Undo(t.Context(), b, session, ""); !errors.Is(err, firn.ErrConflict) {
		t.Errorf("with endless concurrent appends: %v", err)
	}
	b.times = 5
	if _, err := Undo(t.Context(), b, session, ""); err != nil {
		t.Fatal(err)
	}
	if p := live(t, mem); p.Compaction != nil {
		t.Error("it is not undone")
	}
	b.times = 1000
	if _, err := Redo(t.Context(), b, session, result.Entry.ID); !errors.Is(err, firn.ErrConflict) {
		t.Errorf("with endless concurrent appends: %v", err)
	}
	if _, err := Run(t.Context(), job(b, echo(size), size)); !errors.Is(err, ErrMoved) {
		t.Errorf("with endless concurrent appends: %v", err)
	}
}

// broken is a store whose appends fail.
type broken struct{ store.Store }

var errDisk = errors.New("the disk is full")

func (b broken) Append(context.Context, firn.ID, store.Pos, ...firn.Entry) (store.Pos, error) {
	return 0, errDisk
}

func TestBrokenStore(t *testing.T) {
	const size = 16_000
	mem := open(t, talk(20, 1000)...)
	before := build(t, mem)
	j := job(broken{mem}, echo(size), size)
	if _, err := Run(t.Context(), j); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
	j.System = 1 << 30
	var big *TooBig
	if _, err := Run(t.Context(), j); !errors.Is(err, errDisk) || !errors.As(err, &big) {
		t.Errorf("error %v, want both", err)
	}
	sameWindow(t, before, build(t, mem))
}

// TestUndoReadsOnlyLiveEntries checks that undoing the compaction in effect, with and without
// its ID, does not read a long session from its start, and neither does redoing it.
func TestUndoReadsOnlyLiveEntries(t *testing.T) {
	const size = 16_000
	st := open(t, talk(200, 1000)...)
	made, err := Run(t.Context(), job(st, echo(size), size))
	if err != nil {
		t.Fatal(err)
	}
	path, err := window.Collect(st.ReadBack(t.Context(), session, store.End))
	if p, ok := Current(path); err != nil || !ok || p.ID != made.Entry.ID || !p.Counts || p.Undone || p.Line == "" {
		t.Errorf("in effect is %+v, %v", p, err)
	}
	for _, target := range []firn.EntryID{"", made.Entry.ID} {
		if _, err := Undo(t.Context(), fromTheEnd{st, t}, session, target); err != nil {
			t.Fatal(err)
		}
		if _, err := Redo(t.Context(), fromTheEnd{st, t}, session, target); err != nil {
			t.Fatal(err)
		}
		if now := live(t, st); now.Compaction == nil || now.Compaction.ID != made.Entry.ID {
			t.Errorf("after a redo %+v is in effect", now.Compaction)
		}
		if _, err := Redo(t.Context(), fromTheEnd{st, t}, session, target); !errors.Is(err, ErrNothing) {
			t.Errorf("a second redo: %v", err)
		}
	}
	if _, ok := Current(window.Path{}); ok {
		t.Error("a session without a compaction has one in effect")
	}
}

// TestLatestEqualsList compares the latest compaction that a backward read finds with the list
// of all, in random sessions with branches, undone and redone compactions.
func TestLatestEqualsList(t *testing.T) {
	random := basetest.Random(t)
	var found, declined int
	for range 300 {
		st := open(t, talk(2, 10)...)
		for range 2 + random.IntN(12) {
			entries := all(t, st)
			any := entries[1+random.IntN(len(entries)-1)].ID
			e := userEntry("more")
			switch random.IntN(6) {
			case 0, 1:
				e = firn.NewEntry(&firn.Compaction{Summary: "so far", FirstKept: any})
			case 2:
				e = firn.Hide(any)
			case 3:
				e = firn.Hide(entries[len(entries)-1].ID)
			}
			if random.IntN(5) == 0 {
				e.Parent = any
			}
			add(t, st, e)
		}
		want, wantEnd, err := listWithEnd(t.Context(), st, session)
		if err != nil {
			t.Fatal(err)
		}
		got, end, ok, err := listLatest(t.Context(), st, session)
		switch {
		case err != nil:
			t.Fatal(err)
		case !ok:
			declined++
			continue
		case len(got) > 0:
			found++
		}
		if diff := cmp.Diff(want[max(len(want)-1, 0):], got, cmpopts.EquateEmpty()); diff != "" || end != wantEnd {
			t.Fatalf("of %d compactions the latest is (-list +latest):\n%s\nends %d and %d", len(want), diff, wantEnd, end)
		}
	}
	if found < 20 || declined < 20 {
		t.Errorf("%d were found, %d need the whole session", found, declined)
	}
}

// fromTheEnd is a store that fails if it is read from the start.
type fromTheEnd struct {
	store.Store
	t *testing.T
}

func (f fromTheEnd) Read(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[firn.Record, error] {
	f.t.Error("the store is read from the beginning")
	return f.Store.Read(ctx, id, after)
}

// windowDiff is how one window differs from another.
type windowDiff struct {
	// In are the entries only in the later window, Out those only in the earlier one, in
	// window order.
	In, Out []firn.EntryID
	// Before and After are the sizes of the windows in tokens.
	Before, After int64
}

// diffWindows returns the entries that were added to and removed from a window.
func diffWindows(before, after window.Window) windowDiff {
	return windowDiff{
		In: entriesOnlyIn(after, before), Out: entriesOnlyIn(before, after),
		Before: before.Tokens.Total, After: after.Tokens.Total,
	}
}

// entriesOnlyIn lists the entries that are in a but not in b.
func entriesOnlyIn(a, b window.Window) []firn.EntryID {
	seen := make(map[firn.EntryID]bool)
	for _, it := range b.Items {
		for _, id := range it.From {
			seen[id] = true
		}
	}
	var ids []firn.EntryID
	for _, it := range a.Items {
		for _, id := range it.From {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}
