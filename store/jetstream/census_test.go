package jetstream_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/find/index"
	"firn.dev/internal/formats/unionstore"
	"firn.dev/store"
	"firn.dev/store/jetstream"
)

var (
	_ unionstore.Own  = (*jetstream.Store)(nil)
	_ index.Source    = (*jetstream.Store)(nil)
	_ index.Stamper   = (*jetstream.Store)(nil)
	_ fulltext.Source = (*jetstream.Store)(nil)
)

// census returns the status of all sessions, by ID, and checks that querying each one alone
// gives the same.
func census(t testing.TB, st *jetstream.Store) []store.Status {
	t.Helper()
	all, err := st.Census(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b store.Status) int { return cmp.Compare(a.ID, b.ID) })
	for _, s := range all {
		one, err := st.Status(t.Context(), s.ID)
		if err != nil || one != s {
			t.Errorf("session %s is %+v in the census, alone %+v, %v", s.ID, s, one, err)
		}
		info, err := st.Inspect(t.Context(), s.ID)
		if err != nil || info.ID != s.ID || info.Agent != s.Agent || info.Bytes != s.Bytes || info.Parts != s.Parts || info.Archived != s.Archived {
			t.Errorf("the status of session %s is %+v, but Inspect returns %+v, %v", s.ID, s, info, err)
		}
	}
	return all
}

func ids(all []store.Status) []firn.ID {
	var ids []firn.ID
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return ids
}

func stamp(t testing.TB, st *jetstream.Store) string {
	t.Helper()
	s, err := st.Stamp(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestListSeesEveryChange(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Now = func() time.Time { return time.Date(2026, 3, 15, 10, 0, 0, 0, time.UTC) } // a stopped clock
	st, other := another(t, o), another(t, o)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, st, "s1", firn.Entry{Body: &firn.Header{Session: "s1", Agent: "änne"}}, message("a"))
	for i := range 6 {
		mustAppend(t, st, firn.ID(fmt.Sprint("b", i)), message("a"))
	}
	first := census(t, st)
	if len(first) != 7 || first[6].Agent != "änne" {
		t.Fatalf("all sessions are %+v", first)
	}
	if again := census(t, other); !slices.Equal(first, again) {
		t.Errorf("another store returns %+v, not %+v", again, first)
	}

	// Changes, and nothing else, are visible although the clock is stopped.
	mustAppend(t, st, "s1", message("b"))
	must(st.Archive(t.Context(), "b0"))
	must(st.Remove(t.Context(), "b1", ""))
	if _, err := st.Purge(t.Context(), "b2", ""); err != nil {
		t.Fatal(err)
	}
	must(st.Seal(t.Context(), "b3"))
	for _, who := range []*jetstream.Store{st, other} {
		now := census(t, who)
		if got := ids(now); !slices.Equal(got, []firn.ID{"b0", "b3", "b4", "b5", "s1"}) {
			t.Fatalf("there are %v", got)
		}
		if !now[0].Archived || now[4].Bytes <= first[6].Bytes || !now[4].Modified.After(first[6].Modified) {
			t.Errorf("the status is %+v", now)
		}
		if !slices.Equal(now[1:4], first[3:6]) {
			t.Errorf("the status of unchanged or only sealed sessions is %+v, before it was %+v", now[1:4], first[3:6])
		}
		away, err := who.ReservedIDs(t.Context())
		if err != nil || len(away) != 2 || !away["b1"] || !away["b2"] {
			t.Errorf("reserved: %v, %v", away, err)
		}
		for id, want := range map[firn.ID]bool{"b0": false, "b1": true, "b2": true, "nobody": false, "a/b": false} {
			if got, err := who.IsReserved(t.Context(), id); got != want || err != nil {
				t.Errorf("session %s is reserved: %v, %v", id, got, err)
			}
		}
		for _, id := range []firn.ID{"b1", "b2", "nobody", "a/b"} {
			_, err := who.Status(t.Context(), id)
			_, lookErr := who.Inspect(t.Context(), id)
			if !errors.Is(err, firn.ErrNotFound) || !errors.Is(lookErr, firn.ErrNotFound) {
				t.Errorf("session %s: %v, %v", id, err, lookErr)
			}
		}
	}

	// A session restored from the trash bin has its previous status. One with a purged entry
	// does not.
	must(other.Restore(t.Context(), "b1"))
	e := message("secret")
	e.ID = "e1"
	mustAppend(t, other, "b4", e)
	before := census(t, other)
	if _, err := other.Purge(t.Context(), "b4", "", "e1"); err != nil {
		t.Fatal(err)
	}
	after := census(t, st)
	if before[1] != first[1] || after[3].Modified == before[3].Modified {
		t.Errorf("restored %+v, was %+v; purged %+v, was %+v", before[1], first[1], after[3], before[3])
	}

	// The rows of the index give the same result, also for a store that knows nothing else.
	list(t, st)
	if got := census(t, another(t, o)); !slices.Equal(got, after) {
		t.Errorf("from the rows %+v, not %+v", got, after)
	}
}

func TestStampReportsChangesOfOthers(t *testing.T) {
	st, o := opened(t)
	other := another(t, o)
	mine := stamp(t, st)
	for i := range 10 {
		mustAppend(t, st, firn.ID(fmt.Sprint("s", i)), message("a"))
	}
	if got := stamp(t, st); got != mine {
		t.Errorf("operations of the store itself change its stamp from %s to %s", mine, got)
	}
	theirs := stamp(t, other)
	for name, do := range map[string]func() error{
		"append": func() error { _, err := other.Append(t.Context(), "s1", store.Any, message("b")); return err },
		"remove": func() error { return other.Remove(t.Context(), "s2", "") },
	} {
		before := stamp(t, st)
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if stamp(t, st) == before {
			t.Errorf("%s by another store does not change the stamp", name)
		}
	}
	before := stamp(t, st)
	if err := other.Seal(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	if got := stamp(t, st); got != before {
		t.Errorf("sealing changes the stamp from %s to %s", before, got)
	}
	if got := stamp(t, other); got != theirs {
		t.Errorf("the other store's stamp changed from %s to %s", theirs, got)
	}
}
