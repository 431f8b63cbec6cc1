package store_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

func TestConflictMessageHasTheEnd(t *testing.T) {
	for expect, want := range map[store.Pos]string{store.Start: "exists already", 7: "expected at 7"} {
		var err error = &store.Conflict{ID: "s1", Expect: expect, End: 42}
		if !errors.Is(err, firn.ErrConflict) {
			t.Errorf("%v is not an ErrConflict", err)
		}
		if s := err.Error(); !strings.Contains(s, want) || !strings.Contains(s, "s1") || !strings.Contains(s, "42") {
			t.Errorf("the conflict's message is %q", s)
		}
	}
}

func TestAs(t *testing.T) {
	mem := memstore.New(memstore.Options{})
	if got, ok := store.As[store.Keyed](wrapper{wrapper{mem}}); !ok || got != store.Keyed(mem) {
		t.Errorf("As through two wrappers = %v, %v", got, ok)
	}
	if got, ok := store.As[store.Keyed](plainStore{mem}); ok {
		t.Errorf("As found %v in a store without it", got)
	}
}

func TestQueryMatches(t *testing.T) {
	info := store.Info{ID: "s1", Agent: "ops", Key: "k"}
	archived := info
	archived.Archived = true
	cases := []struct {
		q    store.Query
		info store.Info
		want bool
	}{
		{store.Query{}, info, true},
		{store.Query{Agent: "ops", Key: "k"}, info, true},
		{store.Query{Agent: "main"}, info, false},
		{store.Query{Key: "other"}, info, false},
		{store.Query{}, archived, false},
		{store.Query{Archived: true}, archived, true},
		{store.Query{Archived: true}, info, false},
		{store.Query{Archived: true, Hidden: true}, archived, false},
	}
	for _, c := range cases {
		if got := c.q.Matches(c.info); got != c.want {
			t.Errorf("%+v matches %+v: %v", c.q, c.info, got)
		}
	}
}

func TestSortByUpdate(t *testing.T) {
	early, late := now, now.Add(time.Hour)
	infos := []store.Info{{ID: "d", Updated: early}, {ID: "c", Updated: late}, {ID: "a", Updated: early}, {ID: "b", Updated: late}}
	store.SortByUpdate(infos)
	var ids []string
	for _, info := range infos {
		ids = append(ids, string(info.ID))
	}
	if got := strings.Join(ids, " "); got != "b c a d" {
		t.Errorf("the order is %s", got)
	}
	for i := range infos {
		for j := range infos {
			if got := store.CompareInfos(&infos[i], &infos[j]); got != cmp.Compare(i, j) {
				t.Errorf("%s to %s compares as %d", infos[i].ID, infos[j].ID, got)
			}
		}
	}
}
