package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/store"
)

func followTests() []test {
	return []test{
		{"sees what was and what comes", followSees},
		{"begins anywhere", followAnywhere},
		{"begins at the end", followFromEnd},
		{"ends with its context", followEnds},
		{"ends with the store", followCloses},
		{"sees all of a crowd", followCrowd},
	}
}

// follow follows a session in a goroutine until stop returns true, and sends the records it
// received.
func (s *suite) follow(id firn.ID, after store.Pos, stop func([]stored) bool) <-chan []stored {
	seen := make(chan []stored, 1)
	seq := s.store.Follow(s.ctx, id, after)
	s.helpers.Go(func() {
		var all []stored
		defer func() { seen <- all }()
		for r, err := range seq {
			if err == nil {
				var one stored
				one, err = take(r)
				all = append(all, one)
			}
			if err != nil {
				s.Errorf("Follow: %v", err)
				return
			}
			if stop(all) {
				return
			}
		}
		s.Errorf("Follow ended after %d records, before it had seen enough", len(all))
	})
	return seen
}

// count returns a stop function for n records.
func count(n int) func([]stored) bool {
	return func(all []stored) bool { return len(all) == n }
}

func followSees(s *suite) {
	s.appendTexts("s1", "before")
	var seen []<-chan []stored
	for range 3 {
		seen = append(seen, s.follow("s1", store.Start, count(301)))
	}
	for i := range 199 {
		s.appendTexts("s1", fmt.Sprint("one ", i))
		if i%2 == 0 {
			s.appendTexts("s1", fmt.Sprint("two ", i))
		}
	}
	want := s.readN("s1", 301)
	for _, c := range seen {
		s.sameRecords("followed", <-c, want)
	}
}

func followAnywhere(s *suite) {
	all := s.appendTwenty("s1")
	middle := s.follow("s1", all[9].Next, count(13))
	late := s.follow("s1", all[20].Next, count(2))
	s.appendTexts("s1", "a", "b")
	want := s.readN("s1", 23)
	s.sameRecords("followed from the middle", <-middle, want[10:])
	s.sameRecords("followed from the end", <-late, want[21:])
}

func followFromEnd(s *suite) {
	old := s.appendTwenty("s1")
	seen := s.follow("s1", store.End, count(3))
	var got []stored
	for i := 0; len(got) == 0; i++ { // following starts asynchronously
		s.appendTexts("s1", fmt.Sprint(i))
		select {
		case got = <-seen:
			if len(got) < 3 {
				s.Fatalf("saw no more than %q", texts(got))
			}
		default:
		}
	}
	if got[0].At < old[20].Next {
		s.Errorf("saw an old record at %d", got[0].At)
	}
	rest := s.collect(s.store.Read(s.ctx, "s1", got[0].At))
	s.sameRecords("followed", got, rest[:3])
}

func followEnds(s *suite) {
	s.appendTexts("s1", "a")
	for range 20 {
		ctx, cancel := context.WithCancel(s.ctx)
		begun, ended := make(chan struct{}, 3), make(chan error, 1)
		s.helpers.Go(func() {
			var failed error
			for _, err := range s.store.Follow(ctx, "s1", store.Start) {
				failed = err
				begun <- struct{}{}
			}
			ended <- failed
		})
		s.wait(begun, ended)
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("Follow ended with %v", err)
		}
	}
}

// wait waits for an event that must occur before the end.
func (s *suite) wait(something <-chan struct{}, end <-chan error) {
	s.Helper()
	select {
	case <-something:
	case err := <-end:
		s.Fatalf("Follow ended too early: %v", err)
	}
}

func followCloses(s *suite) {
	s.appendTexts("s1", "a")
	seen, ended := make(chan struct{}, 3), make(chan error, 1)
	seq := s.store.Follow(s.ctx, "s1", store.Start)
	s.helpers.Go(func() {
		var failed error
		for _, err := range seq {
			failed = err
			seen <- struct{}{}
		}
		ended <- failed
	})
	s.wait(seen, ended)
	s.wait(seen, ended)
	s.must("Close", s.store.Close())
	s.wantErr("Follow when the store is closed", <-ended, firn.ErrClosed)
}

func followCrowd(s *suite) {
	s.appendTexts("s1", "first")
	const writers, each = 4, 40
	seen := s.follow("s1", store.Start, count(2+writers*each))
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := s.store.Append(s.ctx, "s1", store.Any, userEntry(fmt.Sprint(w, " ", i))); err != nil {
					s.Errorf("Append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	got := <-seen
	s.sameRecords("followed", got, s.read("s1"))
	all := texts(got)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 2+writers*each {
		s.Errorf("saw %d different records, want %d", n, 2+writers*each)
	}
}
