package gateway

import (
	"context"
	"errors"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// slowQueue is a store that blocks while storing a queued message.
type slowQueue struct {
	store.Store
	begun, let chan struct{}
}

func (s *slowQueue) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	if c, ok := entries[0].Body.(*firn.Custom); ok && c.Type == queuedType {
		s.begun <- struct{}{}
		<-s.let
	}
	return s.Store.Append(ctx, id, expect, entries...)
}

// TestStopDoesNotWaitForAnAppend checks that a turn can be stopped and the session state
// read while a message is being stored, which may take long in a cluster.
func TestStopDoesNotWaitForAnAppend(t *testing.T) {
	t.Parallel()
	st := &slowQueue{memstore.New(memstore.Options{}), make(chan struct{}), make(chan struct{})}
	d := open(t, st)
	first := d.send("hang", "")
	<-d.asked
	second := make(chan *ticket)
	go func() { second <- d.send("later", "followup") }()
	<-st.begun
	stopped := make(chan error)
	go func() {
		_, err := d.Stop(t.Context(), "s")
		stopped <- err
	}()
	<-first.done // before the other one is stored
	if !errors.Is(first.err, ErrStopped) {
		t.Errorf("the turn ended with %v, want stopped", first.err)
	}
	if running, _ := d.Load(); running != 1 || len(d.waitingIn("s")) != 0 {
		t.Errorf("%d turns run, and %v wait", running, d.waitingIn("s"))
	}
	d.gate <- struct{}{} // the other one is stopped, or answered if it arrived later
	close(st.let)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	<-(<-second).done
	d.shut()
}
