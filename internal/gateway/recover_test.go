package gateway

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// owing returns a gateway on a session with an unanswered and a queued message of a killed
// gateway. Its background search starts only when list is closed.
func owing(t *testing.T) (d *gatedGateway, list chan struct{}) {
	t.Helper()
	st := memstore.New(memstore.Options{})
	d = open(t, st)
	text := firn.NewEntry(firn.UserText("one").Body)
	text.Extra = waiting{}.extra(nil)
	waits, err := waiting{ID: "m2", Text: "two", Mode: "followup"}.entry()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Append(t.Context(), "s", store.Any, text, waits); err != nil {
		t.Fatal(err)
	}
	list = make(chan struct{})
	all := d.List
	d.List = func(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
		<-list
		return all(ctx, q)
	}
	for range 10 {
		d.gate <- struct{}{}
	}
	return d, list
}

// TestRecoveredMessagesAreAnsweredFirst checks that a gateway accepts messages before
// recovery has finished, and that recovered messages of the session are still answered first,
// and once.
func TestRecoveredMessagesAreAnsweredFirst(t *testing.T) {
	for name, early := range map[string]bool{"a message arrives before recovery": true, "a message arrives after recovery": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, list := owing(t)
				d.StartRecovery()
				if !early {
					close(list)
					synctest.Wait()
				}
				third := d.send("three", "followup")
				<-third.done
				if third.err != nil || third.answer.Text != "re: three" {
					t.Errorf("the answer is %q, %v", third.answer.Text, third.err)
				}
				if early {
					close(list)
				}
				d.shut()
				d.want("user: one", "assistant: re: one", "user: two", "assistant: re: two", "user: three", "assistant: re: three")
			})
		})
	}
}

// TestRecoveredMessageIsRetried checks that a retry of a message that was queued when the
// gateway was killed returns its answer without adding it again.
func TestRecoveredMessageIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, list := owing(t)
		d.StartRecovery()
		answer, err := d.Turn(t.Context(), "s", wire.Turn{Text: "two", ID: "m2"})
		if err != nil || answer.Text != "re: two" {
			t.Errorf("the answer is %q, %v", answer.Text, err)
		}
		close(list)
		d.shut()
		d.want("user: one", "assistant: re: one", "user: two", "assistant: re: two")
	})
}

// TestRecoveryEndsWithTheGateway checks that a closing gateway leaves recovery to the next one.
func TestRecoveryEndsWithTheGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, list := owing(t)
		d.StartRecovery()
		synctest.Wait()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			d.shut()
		}()
		synctest.Wait()
		close(list)
		<-closed
		d.want("user: one")
		d.StartRecovery() // no effect after Close
		if path, err := d.Path(t.Context(), "s"); err != nil || len(queuedIn(path)) != 1 {
			t.Errorf("the queued message is missing, %v", err)
		}
	})
}

// looked counts the sessions that are read.
type looked struct {
	store.Store
	ids map[firn.ID]bool
}

func (l *looked) ReadBack(ctx context.Context, id firn.ID, from store.Pos) iter.Seq2[store.Record, error] {
	l.ids[id] = true
	return l.Store.ReadBack(ctx, id, from)
}

// TestRecoverReadsLatestSessions checks that recovery reads the sessions of the last day and a
// minimum number, but not all.
func TestRecoverReadsLatestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &looked{Store: memstore.New(memstore.Options{}), ids: make(map[firn.ID]bool)}
		d := open(t, st)
		d.writeAt("oldest", time.Now())
		time.Sleep(time.Hour)
		d.writeAt("old", time.Now())
		time.Sleep(30 * time.Hour)
		for i := range leastLooked - 1 {
			d.writeAt(firn.ID(fmt.Sprint("late", i)), time.Now())
		}
		time.Sleep(72 * time.Hour)
		clear(st.ids)
		if _, err := d.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(st.ids) != leastLooked || !st.ids["old"] || st.ids["oldest"] {
			t.Errorf("examined %d sessions, old: %v, oldest: %v", len(st.ids), st.ids["old"], st.ids["oldest"])
		}
		d.shut()
	})
}

// TestRecoverAfterClockJump checks that entries written while the clock was ahead do not hide
// older ones.
func TestRecoverAfterClockJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &looked{Store: memstore.New(memstore.Options{}), ids: make(map[firn.ID]bool)}
		d := open(t, st)
		d.writeAt("waits", time.Now())
		for i := range leastLooked + 1 {
			d.writeAt(firn.ID(fmt.Sprint("ahead", i)), time.Now().Add(72*time.Hour))
		}
		if _, err := d.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !st.ids["waits"] {
			t.Errorf("examined %d sessions, but not the message before the clock jump", len(st.ids))
		}
		d.shut()
	})
}

// writeAt creates a session with a message at a time.
func (d *gatedGateway) writeAt(id firn.ID, at time.Time) {
	d.t.Helper()
	d.createSession(id)
	e := firn.NewEntry(firn.UserText("hello").Body)
	e.Time = at
	if _, err := d.st.Append(d.t.Context(), id, store.Any, e); err != nil {
		d.t.Fatal(err)
	}
}
