package storetest

import (
	"slices"

	"firn.dev"
	"firn.dev/store"
)

func deferredTests() []test {
	return []test{
		{"appends at once", deferredAppends},
		{"refuses as Append does", deferredRefuses},
	}
}

// deferred returns the capability, or nil if there is nothing to test.
func (s *suite) deferred() store.Deferred {
	d, _ := store.As[store.Deferred](s.store)
	return d
}

func deferredAppends(s *suite) {
	if s.deferred() == nil {
		return
	}
	end, err := s.deferred().AppendDeferred(s.ctx, "s1", store.Start, userEntry("a"))
	s.must("AppendDeferred", err)
	seen := s.follow("s1", store.Start, count(5))
	end, err = s.deferred().AppendDeferred(s.ctx, "s1", end, userEntry("b"))
	s.must("AppendDeferred", err)
	_, err = s.store.Append(s.ctx, "s1", end, userEntry("c"))
	s.must("Append", err)
	_, err = s.deferred().AppendDeferred(s.ctx, "s1", store.Any, userEntry("d"))
	s.must("AppendDeferred", err)
	s.must("Sync", s.deferred().Sync(s.ctx, "s1"))
	want := s.read("s1")
	if got := texts(want); !slices.Equal(got, []string{"(session)", "a", "b", "c", "d"}) {
		s.Errorf("read %q", got)
	}
	s.chained(want)
	s.sameRecords("followed", <-seen, want)
	s.restart()
	s.sameRecords("after closing", s.read("s1"), want)
}

func deferredRefuses(s *suite) {
	d := s.deferred()
	if d == nil {
		return
	}
	end := s.appendTexts("s1", "a")
	_, err := d.AppendDeferred(s.ctx, "s1", store.Start, userEntry("b"))
	s.wantErr("AppendDeferred at the start", err, firn.ErrConflict)
	_, err = d.AppendDeferred(s.ctx, "s1", end, firn.Entry{})
	s.wantErr("AppendDeferred of nothing", err, firn.ErrInvalid)
	s.wantErr("Sync of no session", d.Sync(s.ctx, "nobody"), firn.ErrNotFound)
	s.readN("s1", 2)
}
