package election_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/syncmark"
	"firn.dev/internal/find/election"
	"firn.dev/store"
)

// TestElection adds the entries of a session in several orders: the elected state is the same,
// and the newest entry wins.
func TestElection(t *testing.T) {
	at := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
	tags := func(id firn.EntryID, names ...string) firn.Entry {
		e, err := store.NewTags(names)
		if err != nil {
			t.Fatal(err)
		}
		e.ID, e.Time = id, at
		return e
	}
	local := firn.Entry{ID: "1m7zzzzzzzzz9", Time: at, Body: &firn.Title{Name: "of a sync"}}
	syncmark.Add(&local)
	entries := []firn.Entry{
		{ID: "1m7p000000001", Time: at.Add(time.Hour), Body: &firn.Title{Name: "older, by a clock that is ahead", Source: firn.SourceUser}},
		{ID: "1m7p000000002", Time: at, Body: &firn.Title{Name: "newer", Source: firn.SourceUser}},
		{ID: "1m7p000000003", Time: at, Body: &firn.Title{Name: "automatic", Source: firn.SourceAuto}},
		tags("1m7p000000004", "old"), tags("1m7p000000005", "new"), local,
		{ID: "x", Time: at, Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "hi"}}}},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		rng.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		x := election.New("s1000000")
		for _, e := range entries {
			x.Add(e)
		}
		c := x.Checkpoint()
		if c.Title != "newer" || !reflect.DeepEqual(c.Tags, []string{"new"}) || !c.Prompted {
			t.Fatalf("elected %+v", c)
		}
	}
}
