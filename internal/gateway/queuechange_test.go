package gateway

import (
	"errors"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// TestChangeQueue reorders and removes queued messages: the log matches the queue, and the
// answers have the new order.
func TestChangeQueue(t *testing.T) {
	t.Parallel()
	d := open(t, memstore.New(memstore.Options{}))
	first := d.send("first", "")
	<-d.asked
	a, b, c := d.send("a", "followup"), d.send("b", "followup"), d.send("c", "followup")
	queued := func() (lane, log []firn.EntryID) {
		for _, w := range d.waitingIn("s") {
			lane = append(lane, w.ID)
		}
		path, err := d.Path(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range queuedIn(path) {
			log = append(log, w.ID)
		}
		return lane, log
	}
	for _, step := range []struct {
		change  wire.QueueChange
		want    []firn.EntryID
		removed int
	}{
		{wire.QueueChange{}, []firn.EntryID{a.ID, b.ID, c.ID}, 0},
		{wire.QueueChange{Order: []firn.EntryID{c.ID, a.ID}}, []firn.EntryID{c.ID, a.ID, b.ID}, 0},
		{wire.QueueChange{Order: []firn.EntryID{b.ID, c.ID, b.ID}, Remove: []firn.EntryID{a.ID, a.ID}}, []firn.EntryID{b.ID, c.ID}, 1},
	} {
		out, err := d.ChangeQueue(t.Context(), "s", step.change)
		if err != nil {
			t.Fatal(err)
		}
		lane, log := queued()
		if !slices.Equal(lane, step.want) || !slices.Equal(log, step.want) || len(out.Items) != len(step.want) || len(out.Removed) != step.removed {
			t.Errorf("after %+v: the queue is %v, the log is %v, the answer %+v; want %v", step.change, lane, log, out, step.want)
		}
	}
	if <-a.done; !errors.Is(a.err, ErrStopped) {
		t.Errorf("the removed message ended with %v, want stopped", a.err)
	}
	if _, err := d.ChangeQueue(t.Context(), "s", wire.QueueChange{Order: []firn.EntryID{c.ID, b.ID}, Remove: []firn.EntryID{a.ID}}); wire.KindOf(err) != wire.Conflict {
		t.Errorf("removing a message twice: %v, want a conflict", err)
	}
	if lane, _ := queued(); !slices.Equal(lane, []firn.EntryID{b.ID, c.ID}) {
		t.Errorf("a rejected change left %v", lane)
	}
	d.gate <- struct{}{}
	<-first.done
	if next := <-d.asked; next != "b" {
		t.Errorf("the next turn answers %q", next)
	}
	d.gate <- struct{}{}
	<-b.done
	<-d.asked
	d.gate <- struct{}{}
	<-c.done
	if _, err := d.ChangeQueue(t.Context(), "s", wire.QueueChange{Remove: []firn.EntryID{c.ID}}); wire.KindOf(err) != wire.Conflict {
		t.Errorf("removing an answered message: %v, want a conflict", err)
	}
	d.shut()
}
