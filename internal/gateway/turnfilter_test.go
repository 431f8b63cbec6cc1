package gateway

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// received records the events of a turn.
type received struct {
	names []string
	text  string
	done  chan struct{}
}

// listenTo sends a message and records events until it is answered.
func (d *gatedGateway) listenTo(turn wire.Turn) *received {
	h := &received{done: make(chan struct{})}
	go func() {
		defer close(h.done)
		for e, err := range d.StreamTurn(d.t.Context(), "s", turn) {
			if err != nil {
				d.t.Error(err)
				return
			}
			h.names = append(h.names, e.Name)
			if e.Name == wire.DeltaText {
				h.text += deltaOf(e)
			}
		}
	}()
	return h
}

// TestListenersReceiveTheirOwnTurn checks that concurrent clients of a session each receive
// the events of their own turn only.
func TestListenersReceiveTheirOwnTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		first := d.listenTo(wire.Turn{Text: "one", Queue: "followup"})
		<-d.asked
		second := d.listenTo(wire.Turn{Text: "two", Queue: "followup", ID: "m2"})
		synctest.Wait()
		third := d.listenTo(wire.Turn{Text: "three", Queue: "collect"})
		synctest.Wait()
		fourth := d.listenTo(wire.Turn{Text: "four", Queue: "collect"})
		synctest.Wait()
		// A retry of a queued message receives the events of its turn too.
		again := d.listenTo(wire.Turn{Text: "two", Queue: "followup", ID: "m2"})
		synctest.Wait()
		d.gate <- struct{}{}
		<-first.done
		<-d.asked
		// A retry during the turn receives the rest.
		late := d.listenTo(wire.Turn{Text: "two", Queue: "followup", ID: "m2"})
		synctest.Wait()
		for range 5 {
			d.gate <- struct{}{}
		}
		for name, c := range map[string]struct {
			*received
			text   string
			queued bool
		}{
			"the first": {first, "re: one", false}, "the second": {second, "re: two", true}, "the second again": {again, "re: two", false},
			"the second in the middle": {late, "re: two", false}, "the third": {third, both34, true}, "the fourth": {fourth, both34, true},
		} {
			<-c.done
			if c.received.text != c.text {
				t.Errorf("%s received %q, want %q", name, c.received.text, c.text)
			}
			if slices.Contains(c.names, wire.TurnQueued) != c.queued || c.names[len(c.names)-1] != wire.TurnCompleted {
				t.Errorf("%s received %q", name, c.names)
			}
			if n := count1(c.names, wire.TurnStarted); n > 1 || n == 0 && name != "the second in the middle" {
				t.Errorf("%s received %d starts: %q", name, n, c.names)
			}
		}
		d.shut()
	})
}

// both34 is the answer to the collected messages.
const both34 = "re: [Messages received while you were busy:]\n\n[message 1 of 2]\nthree\n\n[message 2 of 2]\nfour"

func count1(names []string, name string) int {
	n := 0
	for _, one := range names {
		if one == name {
			n++
		}
	}
	return n
}

// TestSteeringClientReceivesRunningTurn checks that the client that steers receives the
// events of the running turn.
func TestSteeringClientReceivesRunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		first := d.listenTo(wire.Turn{Text: "one", Queue: "followup"})
		<-d.asked
		second := d.listenTo(wire.Turn{Text: "two", Queue: "steer"})
		synctest.Wait()
		for range 5 {
			d.gate <- struct{}{}
		}
		<-first.done
		<-second.done
		if second.text != "re: onere: two" || slices.Contains(second.names, wire.TurnQueued) {
			t.Errorf("it received %q in %q", second.text, second.names)
		}
		d.shut()
	})
}

func deltaOf(e wire.Event) string {
	var delta wire.Delta
	if err := json.Unmarshal(e.Data, &delta); err != nil {
		return err.Error()
	}
	return delta.Text
}
