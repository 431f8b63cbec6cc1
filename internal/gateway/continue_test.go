package gateway

import (
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// TestContinueOnlyOwnTurns checks that a writer of one session cannot point its key at
// another session by appending a reset mark.
func TestContinueOnlyOwnTurns(t *testing.T) {
	d := open(t, memstore.New(memstore.Options{}))
	defer d.shut()
	ctx := t.Context()
	const key = "agent:main:web:direct:ann"
	begin := func(id firn.ID, key string, more ...firn.Entry) {
		t.Helper()
		entries := append([]firn.Entry{{Body: &firn.Header{Session: id, Agent: "main", Key: key}}}, more...)
		if _, err := d.st.Append(ctx, id, store.Start, entries...); err != nil {
			t.Fatal(err)
		}
	}
	begin("private", "agent:main:web:direct:bob")
	begin("mine", key, resetMark{Reason: "request", Previous: "private"}.entry())
	keyed, err := d.keyed()
	if err != nil {
		t.Fatal(err)
	}
	points := func() firn.ID {
		t.Helper()
		id, err := keyed.Lookup(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if err := keyed.Bind(ctx, key, "mine"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ContinuePrevious(ctx, key); wire.KindOf(err) != wire.NotFound || points() != "mine" {
		t.Errorf("the key points at %s, %v", points(), err)
	}

	// A session that the key was pointed at before the reset can be resumed, and so can a
	// session of the key itself.
	begin("shared", "")
	if err := keyed.Bind(ctx, key, "shared"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []firn.ID{"shared", "mine"} {
		if _, err := d.ResetKey(ctx, key); err != nil {
			t.Fatal(err)
		}
		if _, err := d.ContinuePrevious(ctx, key); err != nil || points() != want {
			t.Errorf("the key points at %s, not at %s, %v", points(), want, err)
		}
		if err := keyed.Bind(ctx, key, "mine"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConcurrentResets checks that concurrent resets of a key form a chain, so that every
// session can be resumed.
func TestConcurrentResets(t *testing.T) {
	d := open(t, memstore.New(memstore.Options{}))
	defer d.shut()
	ctx := t.Context()
	const key, resets = "agent:main:web:direct:ann", 20
	first, err := d.ResetKey(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range resets {
		all.Go(func() {
			var err error
			if i%2 == 0 {
				_, err = d.ResetKey(ctx, key)
			} else {
				_, err = d.NewSession(ctx, wire.NewSession{Key: key, Fresh: true})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for range resets {
		if _, err := d.ContinuePrevious(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	if k, err := d.Key(ctx, key); err != nil || k.Session != first.Session || len(k.History) != resets+1 {
		t.Errorf("the key points at %s with %d sessions, want %s with %d; %v", k.Session, len(k.History), first.Session, resets+1, err)
	}
}
