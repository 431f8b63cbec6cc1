package gateway

import (
	"testing"
	"testing/synctest"

	"firn"
	"firn/store/memstore"
	"firn/wire"
)

// alonePeers are the other gateways of one that has none.
type alonePeers struct{ Peers }

// TestSaidElsewhereIsNotLeftOut has a lane forget what it dropped if another gateway has
// said it meanwhile, and nothing else.
func TestSaidElsewhereIsNotLeftOut(t *testing.T) {
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
		l := &lane{g: d.Gateway, id: "s", dropped: []waiting{{ID: said}, {ID: firn.NewEntryID(), Text: "never said"}}}
		l.forgetSaid(t.Context())
		if len(l.dropped) != 1 || l.dropped[0].Text != "never said" {
			t.Errorf("left out are %+v", l.dropped)
		}
		d.Peers = nil
		d.shut()
	})
}
