package storetest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"firn.dev"
	"firn.dev/store"
)

func togetherTests() []test {
	return []test{
		{"keeps all entries in one order", togetherAny},
		{"accepts one append at each position", togetherExpect},
		{"begins a session once", concurrentStart},
		{"reads while others append", togetherRead},
	}
}

const crowd = 8

// inParallel runs do in many goroutines and waits for them.
func inParallel(do func(who int)) {
	var wg sync.WaitGroup
	for who := range crowd {
		wg.Go(func() { do(who) })
	}
	wg.Wait()
}

func togetherAny(s *suite) {
	const each = 20
	var ends [crowd][each]store.Pos
	inParallel(func(who int) {
		for i := range each {
			end, err := s.store.Append(s.ctx, "s1", store.Any, userEntry(fmt.Sprintf("%d %d a", who, i)), userEntry(fmt.Sprintf("%d %d b", who, i)))
			if err != nil {
				s.Errorf("Append: %v", err)
			}
			ends[who][i] = end
		}
	})
	all := s.readN("s1", 1+2*crowd*each)
	var next [crowd]int
	for i := 1; i < len(all); i += 2 {
		var who, n int
		if _, err := fmt.Sscanf(all[i].text(), "%d %d a", &who, &n); err != nil {
			s.Fatalf("record %d is %q: %v", i, all[i].text(), err)
		}
		if n != next[who] || all[i+1].text() != fmt.Sprintf("%d %d b", who, n) {
			s.Errorf("record %d is %q, followed by %q", i, all[i].text(), all[i+1].text())
		}
		if all[i+1].Next != ends[who][n] {
			s.Errorf("%q ends at %d, Append returned %d", all[i+1].text(), all[i+1].Next, ends[who][n])
		}
		next[who] = n + 1
	}
	s.chained(all)
	s.sameRecords("read back", s.collect(s.store.ReadBack(s.ctx, "s1", store.End)), backwards(all))
}

// chained checks that each entry is the parent of the next and that IDs are unique.
func (s *suite) chained(all []stored) {
	s.Helper()
	seen := make(map[firn.EntryID]bool)
	var before firn.EntryID
	for _, r := range all[1:] {
		if r.Parent != before || seen[r.ID] {
			s.Errorf("%q has the id %q and the parent %q, want %q", r.text(), r.ID, r.Parent, before)
		}
		seen[r.ID], before = true, r.ID
	}
}

func togetherExpect(s *suite) {
	const each = 10
	start := s.appendTexts("s1", "first")
	var mu sync.Mutex
	var won []store.Pos
	inParallel(func(who int) {
		for wins, at := 0, start; wins < each; {
			end, err := s.store.Append(s.ctx, "s1", at, userEntry(fmt.Sprint(who)))
			var c *store.Conflict
			if errors.As(err, &c) && c.End != at {
				at = c.End
				continue
			}
			if err != nil {
				s.Errorf("Append at %d: %v", at, err)
				return
			}
			mu.Lock()
			won = append(won, at)
			mu.Unlock()
			wins, at = wins+1, end
		}
	})
	all := s.readN("s1", 2+crowd*each)
	var stand []store.Pos
	for _, r := range all[2:] {
		stand = append(stand, r.At)
	}
	slices.Sort(won)
	if !slices.Equal(won, stand) {
		s.Errorf("appends succeeded at %d, the records are at %d", won, stand)
	}
	s.chained(all)
}

func concurrentStart(s *suite) {
	for round := range 5 {
		id := firn.ID(fmt.Sprint("start", round))
		var won [crowd]bool
		inParallel(func(who int) {
			_, err := s.store.Append(s.ctx, id, store.Start, userEntry(fmt.Sprint(who)))
			if won[who] = err == nil; err != nil && !errors.Is(err, firn.ErrConflict) {
				s.Errorf("Append: %v", err)
			}
		})
		if n := strings.Count(fmt.Sprint(won), "true"); n != 1 {
			s.Errorf("%d appends created the same session", n)
		}
		id = firn.ID(fmt.Sprint("any", round))
		inParallel(func(who int) {
			if _, err := s.store.Append(s.ctx, id, store.Any, userEntry(fmt.Sprint(who))); err != nil {
				s.Errorf("Append: %v", err)
			}
		})
		all := s.readN(id, 1+crowd)
		if all[0].Body.Kind() != firn.KindHeader {
			s.Errorf("the session became %q", texts(all))
		}
		s.chained(all)
	}
}

func togetherRead(s *suite) {
	s.appendTexts("s1", "first")
	inParallel(func(who int) {
		for i := range 10 {
			if who%2 == 0 {
				if _, err := s.store.Append(s.ctx, "s1", store.Any, userEntry(fmt.Sprint(who, i))); err != nil {
					s.Errorf("Append: %v", err)
				}
				continue
			}
			forth, err1 := drain(finished(s.store.Read(s.ctx, "s1", store.Start)))
			back, err2 := drain(finished(s.store.ReadBack(s.ctx, "s1", store.End)))
			if err1 != nil || err2 != nil || len(forth) < 2 || len(back) < len(forth) {
				s.Errorf("read %d, %v; read back %d, %v", len(forth), err1, len(back), err2)
				return
			}
			s.sameRecords("read back", backwards(back)[:len(forth)], forth)
		}
	})
}

// finished skips the line that is being written.
func finished(seq iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range seq {
			if err == nil && r.Gap.Unfinished() {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
