package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/store/memstore"
)

// TestFollowupDoesNotWaitForDebounce checks that followup messages are answered as soon as the
// lane is free, and collected ones after the debounce interval, which may pass during the
// previous turn.
func TestFollowupDoesNotWaitForDebounce(t *testing.T) {
	for name, c := range map[string]struct {
		mode string
		// ran is how long the first turn ran after the second message arrived.
		ran, waits time.Duration
	}{
		"a separate turn":                    {"followup", 0, 0},
		"steered into a turn that has ended": {"steer", 0, 0},
		"interrupting":                       {"interrupt", 0, 0},
		"collected, just said":               {"collect", 0, time.Second},
		"collected, said a moment ago":       {"collect", 400 * time.Millisecond, 600 * time.Millisecond},
		"collected, said long ago":           {"collect", time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := open(t, memstore.New(memstore.Options{}))
				first := d.send("one", c.mode)
				<-d.asked
				second := d.send("two", c.mode)
				<-second.accepted
				if c.ran > 0 {
					time.Sleep(c.ran) // fake time
				}
				for range 5 {
					d.gate <- struct{}{}
				}
				<-first.done
				free := time.Now()
				<-second.done
				if waited := time.Since(free); waited != c.waits || second.err != nil {
					t.Errorf("it was answered %s after the lane was free, want %s (%v)", waited, c.waits, second.err)
				}
				d.shut()
			})
		})
	}
}

// TestDebounceIsBounded checks that a stream of collected messages delays the answer,
// but not forever.
func TestDebounceIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		first := d.send("one", "collect")
		<-d.asked
		second := d.send("two", "collect")
		for range 50 {
			d.gate <- struct{}{}
		}
		<-first.done
		begun := time.Now()
		tick := time.NewTicker(900 * time.Millisecond)
		defer tick.Stop()
		for text := 0; ; text++ {
			select {
			case <-tick.C:
				d.send("and", "collect")
				continue
			case <-second.done:
			}
			if took := time.Since(begun); took < 2*time.Second || took > 10*time.Second || text < 2 {
				t.Errorf("it was answered after %s and %d more messages", took, text)
			}
			break
		}
		d.shut()
	})
}

// TestClientContinuesAfterItsAnswer checks that a client can continue immediately after its
// answer: the message is not queued even if the lane of the last turn has not ended.
func TestClientContinuesAfterItsAnswer(t *testing.T) {
	d := open(t, memstore.New(memstore.Options{}))
	const turns = 300
	for range turns {
		d.gate <- struct{}{}
		text := d.send("again", "collect")
		<-text.done
		<-d.asked
		if text.err != nil || !text.joinedAt().IsZero() {
			t.Fatalf("it waited: %t, %v", !text.joinedAt().IsZero(), text.err)
		}
	}
	d.shut()
	for _, e := range entriesOf(t, d.st, "s") {
		if c, ok := e.Body.(*firn.Custom); ok && c.Type == queuedType {
			t.Fatal("something waited")
		}
	}
}
