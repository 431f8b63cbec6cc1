package storetest

import (
	"context"
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
)

func readTests() []test {
	return []test{
		{"chains positions", readChains},
		{"begins anywhere", readAnywhere},
		{"can be ranged again", readTwice},
		{"ends where the end was", readSnapshot},
		{"leaves entries valid", readStaysValid},
		{"does not find what is not there", readNotFound},
		{"heeds the context", readHeedsContext},
		{"frees everything on a break", readBreaks},
		{"keeps sessions apart", readApart},
	}
}

// appendTwenty appends a session of twenty messages in batches of different sizes.
func (s *suite) appendTwenty(id firn.ID) []stored {
	s.Helper()
	s.appendTexts(id, "0")
	for n, size := 1, 1; n < 20; size++ {
		var batch []string
		for range min(size, 20-n) {
			batch = append(batch, fmt.Sprint(n))
			n++
		}
		s.appendTexts(id, batch...)
	}
	return s.readN(id, 21)
}

func readChains(s *suite) {
	all := s.appendTwenty("s1")
	for i, r := range all[1:] {
		if r.text() != fmt.Sprint(i) {
			s.Errorf("record %d is %q", i, r.text())
		}
	}
	end := store.Start
	for _, r := range all {
		if r.At < end || r.Next <= r.At {
			s.Errorf("a record stands from %d to %d, after one that ends at %d", r.At, r.Next, end)
		}
		end = r.Next
	}
}

func readAnywhere(s *suite) {
	all := s.appendTwenty("s1")
	for range 2 {
		for i := range len(all) + 1 {
			pos := store.Start
			if i > 0 {
				pos = all[i-1].Next
			}
			s.sameRecords(fmt.Sprintf("read after %d", pos), s.collect(s.store.Read(s.ctx, "s1", pos)), all[i:])
			s.sameRecords(fmt.Sprintf("read back before %d", pos), s.collect(s.store.ReadBack(s.ctx, "s1", pos)), backwards(all[:i]))
		}
		s.sameRecords("read back from the end", s.collect(s.store.ReadBack(s.ctx, "s1", store.End)), backwards(all))
		s.sameRecords("read after the end", s.collect(s.store.Read(s.ctx, "s1", store.End)), nil)
		s.restart()
	}
}

func backwards(all []stored) []stored {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all
}

// sameRecords checks that records and positions are equal.
func (s *suite) sameRecords(what string, got, want []stored) {
	s.Helper()
	if len(got) != len(want) {
		s.Errorf("%s: %d records, want %d: %q", what, len(got), len(want), texts(got))
		return
	}
	for i := range want {
		if got[i].At != want[i].At || got[i].Next != want[i].Next {
			s.Errorf("%s: record %d stands from %d to %d, want %d to %d", what, i, got[i].At, got[i].Next, want[i].At, want[i].Next)
		}
		if diff := diff(want[i].Entry, got[i].Entry); diff != "" {
			s.Errorf("%s: record %d (-want +got):\n%s", what, i, diff)
		}
	}
}

func readTwice(s *suite) {
	all := s.appendTwenty("s1")
	forth := s.store.Read(s.ctx, "s1", store.Start)
	back := s.store.ReadBack(s.ctx, "s1", store.End)
	for range 2 {
		s.sameRecords("read", s.collect(forth), all)
		s.sameRecords("read back", s.collect(back), backwards(all))
	}
}

func readSnapshot(s *suite) {
	s.appendTexts("s1", "a", "b")
	var got []string
	for r, err := range s.store.Read(s.ctx, "s1", store.Start) {
		s.must("Read", err)
		one, err := take(r)
		s.must("Entry", err)
		got = append(got, one.text())
		s.appendTexts("s1", "later")
	}
	if want := []string{"(session)", "a", "b"}; !slices.Equal(got, want) {
		s.Errorf("read %q, want %q", got, want)
	}
	s.readN("s1", 6)
}

func readStaysValid(s *suite) {
	all := s.appendTwenty("s1")
	// The entries are decoded after the iteration, when a store that reuses its buffers
	// would have overwritten them.
	got := s.collect(s.store.ReadBack(s.ctx, "s1", store.End))
	s.sameRecords("another read", s.read("s1"), all)
	s.sameRecords("the first read", got, backwards(all))
}

func readNotFound(s *suite) {
	s.appendTexts("s1", "a")
	for _, id := range []firn.ID{"s2", "s", "s11", firn.NewID()} {
		for name, seq := range s.readers(s.ctx, id) {
			_, err := drain(seq)
			s.wantErr(name+" of no session", err, firn.ErrNotFound)
		}
	}
}

// readers returns all ways to read a session.
func (s *suite) readers(ctx context.Context, id firn.ID) iter.Seq2[string, iter.Seq2[store.Record, error]] {
	return func(yield func(string, iter.Seq2[store.Record, error]) bool) {
		_ = yield("Read", s.store.Read(ctx, id, store.Start)) &&
			yield("ReadBack", s.store.ReadBack(ctx, id, store.End)) &&
			yield("Follow", s.store.Follow(ctx, id, store.Start))
	}
}

func readHeedsContext(s *suite) {
	s.appendTwenty("s1")
	done, cancel := context.WithCancel(s.ctx)
	cancel()
	for name, seq := range s.readers(done, "s1") {
		got, err := drain(seq)
		if name == "Follow" && err != nil {
			s.Errorf("Follow when the context is done: %v", err)
		}
		if name != "Follow" {
			s.wantErr(name+" when the context is done", err, context.Canceled)
		}
		if len(got) > 0 {
			s.Errorf("%s yields %d records when the context is done", name, len(got))
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	n := 0
	for _, err := range s.store.Read(ctx, "s1", store.Start) {
		if n++; n == 3 {
			cancel()
		}
		if n > 3 {
			s.wantErr("Read when the context ends", err, context.Canceled)
		}
	}
	if n != 4 {
		s.Errorf("Read yields %d times, want 3 records and an error", n)
	}
}

func readBreaks(s *suite) {
	s.appendTwenty("s1")
	breakAll := func(times int) {
		for range times {
			for name, seq := range s.readers(s.ctx, "s1") {
				for _, err := range seq {
					s.must(name, err)
					break
				}
			}
			for _, err := range s.store.List(s.ctx, store.Query{}) {
				s.must("List", err)
				break
			}
		}
	}
	breakAll(10)
	goroutines, files := runtime.NumGoroutine(), openFiles()
	const times = 200
	breakAll(times)
	// Goroutines may take a moment to end, and concurrent tests have some too.
	basetest.Eventually(s.T, "the loops that were left early have left no goroutines behind", func() bool {
		return runtime.NumGoroutine()-goroutines <= times/4
	})
	basetest.Eventually(s.T, "the loops that were left early have left no files open", func() bool {
		return openFiles()-files <= times/4
	})
	s.appendTexts("s1", "still works")
}

// openFiles returns the number of open files of this process, if the system provides it.
func openFiles() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(names)
}

func readApart(s *suite) {
	for i := range 3 {
		for _, id := range []firn.ID{"s1", "s1-2", "S1x", "s1.2"} {
			s.appendTexts(id, fmt.Sprint(id, " ", i))
		}
	}
	s.restart()
	for _, id := range []firn.ID{"s1", "s1-2", "S1x", "s1.2"} {
		want := []string{fmt.Sprint(id, " 0"), fmt.Sprint(id, " 1"), fmt.Sprint(id, " 2")}
		if got := texts(s.read(id)[1:]); !slices.Equal(got, want) {
			s.Errorf("session %s has %q, want %q", id, got, want)
		}
	}
}
