package gateway

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// alonePeers is a cluster with one gateway.
type alonePeers struct{ Peers }

// TestDroppedMessagesOfAnotherGateway checks that a lane forgets exactly those dropped messages
// that another gateway has delivered.
func TestDroppedMessagesOfAnotherGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		for range 10 {
			d.gate <- struct{}{}
		}
		id := firn.NewEntryID()
		if _, err := d.Turn(t.Context(), "s", wire.Turn{Text: "said", ID: id}); err != nil {
			t.Fatal(err)
		}
		d.Peers = alonePeers{}
		l := &lane{g: d.lanes, id: "s", dropped: []waiting{{ID: id}, {ID: firn.NewEntryID(), Text: "never said"}}}
		l.pruneDropped(t.Context())
		if len(l.dropped) != 1 || l.dropped[0].Text != "never said" {
			t.Errorf("dropped: %+v, want the message that was never sent", l.dropped)
		}
		d.Peers = nil
		d.shut()
	})
}

// TestDroppedMessagesAreReportedOnce requeues a batch twice: dropped messages are reported
// again after a turn that tried to report them, and not after one that did not get so far.
func TestDroppedMessagesAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		l := &lane{g: d.lanes, id: "s", dropped: []waiting{{ID: "a", Text: "one too many"}}, summarize: true}
		queued := newTicket(waiting{ID: "b", Text: "queued"})
		queued.apply(eventQueue)
		l.messageInput([]waiting{queued.waiting})
		for range 2 {
			if rest := l.requeueUnsaved([]*ticket{queued}, firn.ErrNotSaved); len(rest) != 0 {
				t.Fatalf("not requeued: %v", rest)
			}
			if len(l.dropped) != 1 || !l.summarize {
				t.Errorf("dropped: %+v, summarize: %v", l.dropped, l.summarize)
			}
			l.reported, l.reportLines = nil, false // as at the start of each turn
		}
		d.shut()
	})
}

// TestDroppedMessageIsRetried fills the queue and sends the dropped message again with its
// ID, as the error asks for: before a turn reports it as dropped, and after. It must be in the
// log once, as its own entry or as one that another entry mentions.
func TestDroppedMessageIsRetried(t *testing.T) {
	for _, c := range []struct {
		mode     string
		reported bool
	}{{"followup", false}, {"followup", true}, {"collect", false}, {"collect", true}} {
		synctest.Test(t, func(t *testing.T) {
			d := open(t, memstore.New(memstore.Options{}))
			again := wire.Turn{Text: "one too many", ID: firn.NewEntryID(), Queue: c.mode}
			d.send("start", c.mode)
			<-d.asked
			first, err := d.accept(t.Context(), "s", again)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				d.send(fmt.Sprint("message ", i), c.mode)
			}
			if <-first.done; wire.KindOf(first.err) != wire.Busy {
				t.Fatalf("the message was not dropped: %v", first.err)
			}
			if c.reported {
				d.gate <- struct{}{}
				<-d.asked // the turn that reports it
			}
			second, err := d.accept(t.Context(), "s", again)
			if err != nil {
				t.Fatal(err)
			}
			for range 30 {
				d.gate <- struct{}{}
			}
			if <-second.done; second.err != nil {
				t.Errorf("sent again: %v", second.err)
			}
			d.shut()
			times := 0
			for rec, err := range d.st.Read(t.Context(), "s", store.Start) {
				if err != nil {
					t.Fatal(err)
				}
				if e, err := rec.Entry(); err == nil && e.ID == again.ID {
					times++
				} else if err == nil {
					for _, id := range collected(e) {
						if id == again.ID {
							times++
						}
					}
				}
			}
			if times != 1 {
				t.Errorf("%+v: in the log %d times\n%s", c, times, d.log())
			}
		})
	}
}

// TestDroppedMessageIsRetriedWhileReported sends a dropped message again while a turn is
// about to report it, and after that turn could not be stored.
func TestDroppedMessageIsRetriedWhileReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		d.send("start", "collect")
		<-d.asked
		l := d.laneOf("s")
		l.mu.Lock()
		l.dropped = []waiting{{ID: "a1", Text: "one too many"}}
		l.mu.Unlock()
		queued := newTicket(waiting{ID: "b1", Text: "queued"})
		l.messageInput([]waiting{queued.waiting})
		again := newTicket(waiting{ID: "a1", Text: "one too many", Mode: "collect"})
		if _, err := l.enter(t.Context(), again); wire.KindOf(err) != wire.Busy {
			t.Errorf("a message that is being reported is queued: %v", err)
		}
		l.restoreDropped()
		if ok, err := l.enter(t.Context(), again); !ok || err != nil || len(l.dropped) != 0 {
			t.Errorf("sent again: %v, %v, %d dropped", ok, err, len(l.dropped))
		}
		for range 10 {
			d.gate <- struct{}{}
		}
		<-again.done
		d.shut()
	})
}

// hookedStore calls a function before each append.
type hookedStore struct {
	store.Store
	before func(entries []firn.Entry) error
}

func (s *hookedStore) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	if err := s.before(entries); err != nil {
		return 0, err
	}
	return s.Store.Append(ctx, id, expect, entries...)
}

// TestTurnStartsWhileADroppedMessageIsStored starts a turn while a dropped message that was
// sent again is being stored: the turn does not report it. If it cannot be stored, the
// next turn does.
func TestTurnStartsWhileADroppedMessageIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &hookedStore{Store: memstore.New(memstore.Options{}), before: func([]firn.Entry) error { return nil }}
		d := open(t, st)
		d.send("start", "followup")
		<-d.asked
		l := d.laneOf("s")
		l.mu.Lock()
		l.dropped = []waiting{{ID: "a1", Text: "one too many"}}
		l.mu.Unlock()
		reported := func() []firn.EntryID { // the messages that a turn reports
			return collected(firn.Entry{Extra: l.messageInput([]waiting{{ID: "b1", Text: "queued"}}).Extra})
		}
		again := newTicket(waiting{ID: "a1", Text: "one too many", Mode: "followup"})
		st.before = func([]firn.Entry) error {
			if ids := reported(); slices.Contains(ids, "a1") {
				t.Errorf("the turn reports %v", ids)
			}
			l.restoreDropped()
			return firn.ErrNotSaved
		}
		if _, err := l.enter(t.Context(), again); err == nil {
			t.Error("a message that cannot be stored is accepted")
		}
		if ids := reported(); !slices.Contains(ids, "a1") {
			t.Errorf("a message that was not stored is not reported: %v", ids)
		}
		l.restoreDropped()
		st.before = func([]firn.Entry) error {
			if ids := reported(); slices.Contains(ids, "a1") {
				t.Errorf("the turn reports %v", ids)
			}
			return nil
		}
		if ok, err := l.enter(t.Context(), again); !ok || err != nil {
			t.Errorf("sent again: %v, %v", ok, err)
		}
		st.before = func([]firn.Entry) error { return nil }
		for range 10 {
			d.gate <- struct{}{}
		}
		<-again.done
		d.shut()
	})
}
