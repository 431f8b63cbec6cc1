package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// TestClaimOfASlowClock binds a key while the clock is behind: the claim is newer than the one
// that it replaces, so that all machines of a sync point the key to the same session.
func TestClaimOfASlowClock(t *testing.T) {
	ctx := context.Background()
	clock := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
	st := memstore.New(memstore.Options{Now: func() time.Time { return clock }})
	const key = "agent:main:k"
	for _, s := range []struct{ id, key string }{{"s1000000", key}, {"s2000000", ""}, {"s3000000", key}} {
		if s.id == "s3000000" {
			clock = clock.Add(-72 * time.Hour)
		}
		header := firn.Entry{Body: &firn.Header{Session: firn.ID(s.id), Agent: "main", Key: s.key}}
		if _, err := st.Append(ctx, firn.ID(s.id), store.Start, header); err != nil {
			t.Fatal(err)
		}
	}
	var last store.Claim
	for _, id := range []firn.ID{"s1000000", "s2000000", "s3000000", "s1000000"} {
		if err := store.Bind(ctx, st, key, id); err != nil {
			t.Fatal(err)
		}
		claim, ok, err := store.ClaimOf(ctx, st, id, key)
		if err != nil || !ok || claim.At <= last.At {
			t.Errorf("the claim of %s is %+v, %v, %v; the one before it was %+v", id, claim, ok, err, last)
		}
		last = claim
	}
	entries, err := store.ReplaceClaim(ctx, st, key, "s1000000", clock)
	if err != nil || len(entries) != 1 {
		t.Errorf("a session that is started now gets %v, %v", entries, err)
	}
	entries, err = store.ReplaceClaim(ctx, st, key, "s1000000", clock.Add(96*time.Hour))
	if err != nil || len(entries) != 0 {
		t.Errorf("a session that is started later gets %v, %v", entries, err)
	}
}

// TestClaimOfTheFarFuture ignores times that no clock shows.
func TestClaimOfTheFarFuture(t *testing.T) {
	at := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
	for _, after := range []string{"9223372036854775807", "-1", "4503599627370496"} {
		var c store.Checkpoint
		data := strings.Replace(`{"key":"agent:main:k","after":N}`, "N", after, 1)
		c.See("s1000000", firn.Entry{Time: at, Body: &firn.Custom{Type: store.KeyType, Data: []byte(data)}})
		if len(c.Keys) != 1 || c.Keys[0].At != at.UnixMilli() {
			t.Errorf("after %s: %+v", after, c.Keys)
		}
	}
}
