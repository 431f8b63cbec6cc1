package gateway

import (
	"testing"

	"firn"
	"firn/store"
	"firn/store/memstore"
	"firn/wire"
)

// TestContinueOnlyWhatWasTheirs: who may write in one session cannot make its key point
// at another by writing there that it was the one before.
func TestContinueOnlyWhatWasTheirs(t *testing.T) {
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

	// What somebody pointed the key at before it was reset can be gone back to, and
	// so can a session of the key itself.
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
