package gateway

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/compact"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// TestQueueSurvivesCompaction compacts a session with queued messages before the gateway
// is killed: the next one finds each of them once, in order.
func TestQueueSurvivesCompaction(t *testing.T) {
	for name, second := range map[string]string{"the last message is kept": "two", "nothing is kept": "two " + strings.Repeat("and so on ", 1000)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := open(t, memstore.New(memstore.Options{}))
				agent := d.setup.Load().Agents["main"]
				agent.Compaction = compact.Settings{Threshold: 2000, KeepRecent: 1}
				agent.Summarizer = summarizer()
				d.send("one "+strings.Repeat("and so on ", 500), "followup")
				<-d.asked
				d.send(second, "followup")
				d.send("three", "followup")
				d.send("four", "followup")
				d.gate <- struct{}{}
				<-d.asked // of two, after the compaction
				if path, err := d.Path(t.Context(), "s"); err != nil || path.Compaction == nil {
					t.Fatalf("there is no compaction, %v", err)
				}
				owed, err := d.pendingTickets(t.Context(), "s")
				if err != nil {
					t.Fatal(err)
				}
				var texts []string
				for _, o := range owed {
					if o.state().resumes() {
						o.Text = "go on"
					}
					texts = append(texts, o.Text)
				}
				if got := strings.Join(texts, ", "); got != "go on, three, four" {
					t.Errorf("after a crash these would be sent: %q", got)
				}
				for range 10 {
					d.gate <- struct{}{}
				}
				d.shut()
				if owed, err := d.pendingTickets(t.Context(), "s"); err != nil || len(owed) > 0 {
					t.Errorf("%d are owed in the end, %v", len(owed), err)
				}
				if n := strings.Count(d.log(), "user: "); n != 4 {
					t.Errorf("%d messages were stored:\n%s", n, d.log())
				}
			})
		})
	}
}

// TestStopForgetsWhatWasDropped stops a session with dropped messages and checks that the
// next gateway does not deliver them.
func TestStopForgetsWhatWasDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		setup := *d.setup.Load()
		setup.Queue = route.Queue{Cap: 1, Drop: route.DropOld}
		if err := d.Reload(setup); err != nil {
			t.Fatal(err)
		}
		d.send("one", "followup")
		<-d.asked
		two := d.send("two", "followup")
		d.send("three", "followup")
		<-two.done
		if wire.KindOf(two.err) != wire.Busy {
			t.Fatalf("the second caller received %v", two.err)
		}
		if ok, err := d.Stop(t.Context(), "s"); !ok || err != nil {
			t.Errorf("stopping gave %t, %v", ok, err)
		}
		d.shut()
		owed, err := d.pendingTickets(t.Context(), "s")
		if err != nil || len(owed) > 0 {
			t.Errorf("after it was stopped %d messages are owed an answer, %v", len(owed), err)
		}
	})
}

// TestStoppedBeforeTurnStarts stops a session after a message arrived and before its turn
// started, and checks that the waiting caller gets the error.
func TestStoppedBeforeTurnStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		over := newTicket(waiting{ID: "over"})
		over.finish(nil)
		l, err := d.lane("s")
		if err != nil {
			t.Fatal(err)
		}
		l.busy, l.running = true, []*ticket{over} // it has answered and is about to take the next batch
		ticket := d.send("one", "")
		if ok, err := d.Stop(t.Context(), "s"); !ok || err != nil {
			t.Errorf("stopping gave %t, %v", ok, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := ticket.await(ctx, "s", false); !errors.Is(err, ErrStopped) {
			t.Errorf("the waiting caller receives %v", err)
		}
		l.run()
		d.shut()
	})
}

// TestUnsavedMessageFails checks that a caller that waits only for durability gets an
// error if the message was not stored, in any order of events.
func TestUnsavedMessageFails(t *testing.T) {
	d := open(t, memstore.New(memstore.Options{}))
	defer d.shut()
	l := &lane{g: d.lanes, id: "s"}
	for range 20_000 {
		ticket := newTicket(waiting{ID: "m"})
		messages := make(chan error, 1)
		go func() {
			_, err := ticket.await(context.Background(), "s", false)
			messages <- err
		}()
		l.conclude(ticket, wire.Answer{}, firn.ErrNotSaved)
		if err := <-messages; !errors.Is(err, firn.ErrNotSaved) {
			t.Fatalf("a message that was not kept was acknowledged: %v", err)
		}
	}
}

// stuckStore blocks while storing one text.
type stuckStore struct {
	store.Store
	text         string
	begun, going chan struct{}
}

func (s *stuckStore) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	for _, e := range entries {
		if c, ok := e.Body.(*firn.Custom); ok && strings.Contains(string(c.Data), s.text) {
			close(s.begun)
			<-s.going
		}
	}
	return s.Store.Append(ctx, id, expect, entries...)
}

// TestSlowSessionDoesNotBlockOthers blocks a write of one session while its turn ends and
// checks that other sessions continue.
func TestSlowSessionDoesNotBlockOthers(t *testing.T) {
	st := &stuckStore{Store: memstore.New(memstore.Options{}), text: "slow", begun: make(chan struct{}), going: make(chan struct{})}
	d := open(t, st)
	d.createSession("other")
	one := d.send("one", "followup")
	<-d.asked
	slow := make(chan *ticket, 1)
	go func() { slow <- d.send("slow", "followup") }()
	<-st.begun
	for range 100 {
		d.gate <- struct{}{}
	}
	<-one.done
	messages := make(chan error, 1)
	go func() {
		var errs []error
		for range 50 {
			go d.Load()
			go d.atWork("s")
			_, err := d.Turn(context.Background(), "other", wire.Turn{Text: "hello"})
			errs = append(errs, err)
		}
		messages <- errors.Join(errs...)
	}()
	select {
	case err := <-messages:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(basetest.Limit):
		t.Error("another session waits for the one that is slow")
	}
	close(st.going)
	<-(<-slow).done
	d.shut()
}

// summarizer returns a model that writes summaries.
func summarizer() provider.Model {
	var model *scripted.Model
	model = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		return model.Play(ctx, req, scripted.Reply("## Goal\nto test\n\n## Progress\nall of it was said"))
	})
	return model
}
