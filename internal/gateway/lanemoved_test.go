package gateway

import (
	"fmt"
	"testing"
	"testing/synctest"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// TestRewindDuringTurn moves the head back during a turn: the sender gets a conflict,
// and a retry does not add the message again.
func TestRewindDuringTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		d.gate <- struct{}{}
		one, err := d.Turn(t.Context(), "s", wire.Turn{Text: "one", ID: firn.NewEntryID()})
		if err != nil {
			t.Fatal(err)
		}
		<-d.asked
		two := wire.Turn{Text: "two", ID: firn.NewEntryID()}
		ticket, err := d.accept(t.Context(), "s", two)
		if err != nil {
			t.Fatal(err)
		}
		<-d.asked
		head := firn.NewEntry(&firn.Head{})
		head.Parent = one.Entry
		if _, err := d.st.Append(t.Context(), "s", store.Any, head); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			d.gate <- struct{}{}
		}
		<-ticket.done
		for _, err := range []error{ticket.err, fmt.Errorf("read session s: %w", agent.ErrMoved)} {
			if err == nil {
				continue
			}
			if p := ProblemOf(err); p.Kind != wire.Conflict || p.Hint == "" {
				t.Errorf("%v is reported as %+v", err, p)
			}
		}
		if _, err := d.Turn(t.Context(), "s", two); err != nil {
			t.Errorf("sent again: %v", err)
		}
		d.shut()
		text := 0
		for rec, err := range d.st.Read(t.Context(), "s", store.Start) {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Glance.ID == two.ID {
				text++
			}
		}
		if text != 1 {
			t.Errorf("it is stored %d times", text)
		}
	})
}

// TestFindTicketIgnoresFailed checks that findTicket ignores a failed message even before its
// lane has removed it, but returns running and answered ones.
func TestFindTicketIgnoresFailed(t *testing.T) {
	d := open(t, memstore.New(memstore.Options{}))
	defer d.shut()
	failed, answered, waits := newTicket(waiting{ID: "failed"}), newTicket(waiting{ID: "answered"}), newTicket(waiting{ID: "waits"})
	failed.finish(agent.ErrMoved)
	answered.finish(nil)
	d.mu.Lock()
	d.byID["s"] = &lane{g: d.lanes, id: "s", running: []*ticket{failed, answered}, queue: []*ticket{waits}}
	d.mu.Unlock()
	for id, want := range map[firn.EntryID]*ticket{"failed": nil, "answered": answered, "waits": waits} {
		if got := d.findTicket("s", id); got != want {
			t.Errorf("%s is treated as %v", id, got)
		}
	}
	d.mu.Lock()
	delete(d.byID, "s")
	d.mu.Unlock()
}
