package gateway

import (
	"testing"
	"testing/synctest"

	"firn.dev"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// alonePeers is a cluster with one gateway.
type alonePeers struct{ Peers }

// TestMessagesFromElsewhereAreKept checks that a lane forgets exactly those dropped messages
// that another gateway has delivered.
func TestMessagesFromElsewhereAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		for range 10 {
			d.gate <- struct{}{}
		}
		said := firn.NewEntryID()
		if _, err := d.Turn(t.Context(), "s", wire.Turn{Text: "said", ID: said}); err != nil {
			t.Fatal(err)
		}
		d.Peers = alonePeers{}
		l := &lane{g: d.lanes, id: "s", dropped: []waiting{{ID: said}, {ID: firn.NewEntryID(), Text: "never said"}}}
		l.pruneDropped(t.Context())
		if len(l.dropped) != 1 || l.dropped[0].Text != "never said" {
			t.Errorf("left out are %+v", l.dropped)
		}
		d.Peers = nil
		d.shut()
	})
}

// TestNamedOnce requeues a batch twice: dropped messages are reported again after a turn
// that tried to report them, and not after one that did not get so far.
func TestNamedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		l := &lane{g: d.lanes, id: "s", dropped: []waiting{{ID: "a", Text: "one too many"}}, summarize: true}
		waits := newTicket(waiting{ID: "b", Text: "waits"})
		waits.apply(eventQueue)
		l.messageInput([]waiting{waits.waiting})
		for range 2 {
			if rest := l.requeueUnsaved([]*ticket{waits}, firn.ErrNotSaved); len(rest) != 0 {
				t.Fatalf("left are %v", rest)
			}
			if len(l.dropped) != 1 || !l.summarize {
				t.Errorf("to be named are %+v, with lines: %v", l.dropped, l.summarize)
			}
			l.reported, l.reportLines = nil, false // as at the start of each turn
		}
		d.shut()
	})
}
