package lookback_test

import (
	"fmt"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/find/lookback"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// nameAt returns a native ID created at a time: milliseconds and twenty more bits, in base
// 32.
func nameAt(at time.Time) firn.EntryID {
	const letters = "0123456789abcdefghjkmnpqrstvwxyz"
	id := make([]byte, 13)
	n := uint64(at.UnixMilli())<<20 | 1
	for i := range id {
		id[len(id)-1-i] = letters[n&31]
		n >>= 5
	}
	return firn.EntryID(id)
}

// TestRecent checks that the number of records read does not depend on the length of the
// session, with one recent message among entries with foreign IDs.
func TestRecent(t *testing.T) {
	const many = 5000
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	old := func(i int) firn.EntryID { return nameAt(now.Add(time.Duration(i-many) * time.Hour)) }
	foreign := func(i int) firn.EntryID { return firn.EntryID(fmt.Sprintf("other-%d", i)) }
	for name, c := range map[string]struct {
		history func(int) firn.EntryID
		latest  int // number of recent entries
		want    int // maximum number of records read
	}{
		"old names":     {old, 1, 7*24 + 1 + 128}, // one per hour: those of the last week are recent
		"foreign names": {foreign, 1, 1 + 128},
		"many of late":  {foreign, 300, 300 + 128},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New(memstore.Options{})
			defer s.Close()
			id := firn.NewID()
			var entries []firn.Entry
			add := func(name firn.EntryID) {
				e := firn.NewEntry(&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "x"}}, Time: now})
				e.ID = name
				entries = append(entries, e)
			}
			for i := range many {
				add(c.history(i))
			}
			late := nameAt(now.Add(-time.Minute))
			add(late)
			for i := range c.latest - 1 {
				add(nameAt(now.Add(time.Duration(i) * time.Millisecond)))
			}
			if _, err := s.Append(t.Context(), id, store.Start, entries...); err != nil {
				t.Fatal(err)
			}
			read, found := 0, false
			for rec, err := range lookback.Records(t.Context(), s, id, store.End, lookback.EarliestAppend("hook-1", now)) {
				if err != nil {
					t.Fatal(err)
				}
				read++
				found = found || rec.Glance.ID == late
			}
			if !found || read > c.want || read < c.latest {
				t.Errorf("read %d records, want at most %d; found: %v", read, c.want, found)
			}
		})
	}
}

func TestEarliestAppend(t *testing.T) {
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	made := now.Add(-1000 * time.Hour)
	if got, want := lookback.EarliestAppend(nameAt(made), now), made.Add(-5*time.Minute); !got.Equal(want) {
		t.Errorf("a name of ours is looked for from %s on, want %s", got, want)
	}
	if got, want := lookback.EarliestAppend("telegram-17", now), now.Add(-7*24*time.Hour); !got.Equal(want) {
		t.Errorf("another name is looked for from %s on, want %s", got, want)
	}
}
