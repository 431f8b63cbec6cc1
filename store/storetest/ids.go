package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/store"
)

func idTests() []test {
	return []test{
		{"are unique however far apart", idsFarApart},
		{"are unique in whatever order they come", idsInAnyOrder},
		{"are refused within a batch and across parents", idsInBatch},
		{"are made in order by several writers", idsInOrder},
	}
}

// ownID returns a native ID for a time.
func ownID(at time.Time, n uint64) firn.EntryID {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	var b [13]byte
	v := uint64(at.UnixMilli())<<20 | n
	for i := len(b) - 1; i >= 0; i, v = i-1, v>>5 {
		b[i] = digits[v&31]
	}
	return firn.EntryID(b[:])
}

// idsFarApart appends a long session whose IDs are hours apart, every second one not
// native, and reuses IDs of near and far entries.
func idsFarApart(s *suite) {
	many := 20_000
	if testing.Short() {
		many = 5_000
	}
	begun := time.Now().Add(-time.Duration(many) * time.Hour)
	name := func(i int) firn.EntryID {
		if i%2 == 0 {
			return ownID(begun.Add(time.Duration(i)*time.Hour), 7)
		}
		return firn.EntryID(fmt.Sprintf("foreign-%d", i))
	}
	for i := 0; i < many; {
		var batch []firn.Entry
		for ; i < many && len(batch) < 5000; i++ {
			batch = append(batch, entry(name(i), "", &firn.Head{}))
		}
		s.append("s1", batch...)
	}
	for _, restarted := range []bool{false, true} {
		if restarted {
			s.restart()
		}
		for _, ago := range []int{1, 2, 63, 64, 65, 66, 1000, 1001, many - 1, many} {
			_, err := s.store.Append(s.ctx, "s1", store.Any, entry(name(many-ago), firn.Root, &firn.Head{}))
			s.wantErr(fmt.Sprintf("an id of %d entries ago (restarted: %v)", ago, restarted), err, firn.ErrInvalid)
			_, err = s.store.Append(s.ctx, "s1", store.Any, userEntry("good"), entry(name(many-ago), name(many-1), &firn.Head{}))
			s.wantErr(fmt.Sprintf("the same in a batch (restarted: %v)", restarted), err, firn.ErrInvalid)
		}
	}
	s.appendTexts("s1", "still good")
	s.unique("s1")
}

// idsInAnyOrder draws IDs at random from a few hours, and compares the rejected ones with a
// list of all IDs in use.
func idsInAnyOrder(s *suite) {
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 1))
	now, taken := time.Now(), map[firn.EntryID]bool{}
	s.appendTexts("s1", "first")
	for range 400 {
		id := firn.EntryID(fmt.Sprintf("other-%d", chance.IntN(60)))
		if chance.IntN(3) > 0 {
			id = ownID(now.Add(time.Duration(chance.IntN(40)-30)*20*time.Minute), chance.Uint64N(3))
		}
		switch chance.IntN(20) {
		case 0:
			s.restart()
		case 1:
			s.appendTexts("s1", "between")
		}
		_, err := s.store.Append(s.ctx, "s1", store.Any, entry(id, "", &firn.Head{}))
		if taken[id] != errors.Is(err, firn.ErrInvalid) || !taken[id] && err != nil {
			s.Fatalf("id %s, taken: %v: Append = %v", id, taken[id], err)
		}
		taken[id] = true
	}
	_, err := s.store.Append(s.ctx, "s1", store.Any, entry(ownID(now.AddDate(2, 0, 0), 1), "", &firn.Head{}))
	s.wantErr("an id of the year after next", err, firn.ErrInvalid)
	s.unique("s1")
}

// unique checks that all entry IDs are different.
func (s *suite) unique(id firn.ID) {
	s.Helper()
	seen := make(map[firn.EntryID]bool)
	for rec, err := range s.store.Read(s.ctx, id, store.Start) {
		if err != nil {
			s.Fatal(err)
		}
		if name := rec.Glance.ID; name != "" {
			if seen[name] {
				s.Errorf("two entries have the id %s", name)
			}
			seen[name] = true
		}
	}
}

func idsInBatch(s *suite) {
	s.append("s1", entry("a", "", &firn.Head{}), entry("b", "", &firn.Head{}))
	for name, c := range map[string]struct {
		want  error
		batch []firn.Entry
	}{
		"twice":              {firn.ErrInvalid, []firn.Entry{entry("x", "", &firn.Head{}), entry("y", "", &firn.Head{}), entry("x", "", &firn.Head{})}},
		"a circle":           {firn.ErrNotFound, []firn.Entry{entry("x", "y", &firn.Head{}), entry("y", "x", &firn.Head{})}},
		"swapped ids":        {firn.ErrInvalid, []firn.Entry{entry("b", "", &firn.Head{}), entry("a", "", &firn.Head{})}},
		"a circle with both": {firn.ErrInvalid, []firn.Entry{entry("x", "b", &firn.Head{}), entry("a", "x", &firn.Head{})}},
	} {
		_, err := s.store.Append(s.ctx, "s1", store.Any, c.batch...)
		s.wantErr(name, err, c.want)
	}
	s.readN("s1", 3)
}

// idsInOrder appends entries from several writers, created with the helpers of the root
// package, and checks the order of IDs and times, which are assigned on append. Every
// writer creates its entries before any is appended, so IDs assigned then would be out of
// order.
func idsInOrder(s *suite) {
	first := entry("", "", firn.UserText("first").Body)
	first.ID = firn.NewEntryID()
	s.append("s1", first)
	inParallel(func(who int) {
		var made []firn.Entry
		for i := range 25 {
			text := fmt.Sprintf("%d %d", who, i)
			made = append(made, []firn.Entry{firn.UserText(text), firn.AssistantText(text), firn.Hide(first.ID)}[i%3])
		}
		for _, e := range slices.Backward(made) {
			if _, err := s.store.Append(s.ctx, "s1", store.Any, e); err != nil {
				s.Errorf("Append: %v", err)
			}
		}
	})
	all := s.readN("s1", 2+25*crowd)
	for i := 2; i < len(all); i++ {
		if all[i].ID <= all[i-1].ID || all[i].Time.Before(all[i-1].Time) {
			s.Errorf("entry %d has the id %s and the time %v behind %s, %v", i, all[i].ID, all[i].Time, all[i-1].ID, all[i-1].Time)
		}
	}
	s.chained(all)
}
