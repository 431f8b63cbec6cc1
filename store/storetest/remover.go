package storetest

import (
	"slices"

	"firn.dev"
	"firn.dev/store"
)

func removerTests() []test {
	return []test{
		{"archives", removerArchives},
		{"removes and restores", removerRemoves},
		{"lists its trash bin", removerBin},
		{"knows what is not there", removerNotFound},
	}
}

// remover returns the capability, or nil if there is nothing to test.
func (s *suite) remover() store.Remover {
	r, _ := store.As[store.Remover](s.store)
	return r
}

func removerArchives(s *suite) {
	if s.remover() == nil {
		return
	}
	s.createSession(firn.Header{Session: "a"}, 1)
	s.createSession(firn.Header{Session: "b"}, 2)
	want := s.read("a")
	check := func(when string, plain, archived []firn.ID) {
		s.Helper()
		if got := s.ids(store.Query{}); !slices.Equal(got, plain) {
			s.Errorf("%s: listed %q, want %q", when, got, plain)
		}
		if got := s.ids(store.Query{Archived: true}); !slices.Equal(got, archived) {
			s.Errorf("%s: listed as archived %q, want %q", when, got, archived)
		}
	}
	for range 2 {
		s.must("Archive", s.remover().Archive(s.ctx, "a"))
		check("archived", []firn.ID{"b"}, []firn.ID{"a"})
	}
	s.restart()
	check("archived, after closing", []firn.ID{"b"}, []firn.ID{"a"})
	s.sameRecords("archived", s.read("a"), want)
	_, err := s.store.Append(s.ctx, "a", want[len(want)-1].Next, userEntry("more"))
	s.must("Append to an archived session", err)
	want = s.read("a")
	check("appended to", []firn.ID{"b"}, []firn.ID{"a"})
	s.append("a", entry("stone", "", &firn.Tombstone{Target: "a"}))
	check("hidden too", []firn.ID{"b"}, nil)
	if got := s.ids(store.Query{Archived: true, Hidden: true}); !slices.Equal(got, []firn.ID{"a"}) {
		s.Errorf("archived and hidden: listed %q", got)
	}
	s.append("a", entry("stone2", "", &firn.Tombstone{Target: "stone"}))
	for range 2 {
		s.must("Unarchive", s.remover().Unarchive(s.ctx, "a"))
		check("unarchived", []firn.ID{"a", "b"}, nil)
	}
	s.sameRecords("unarchived", s.readN("a", len(want)+2)[:len(want)], want)
}

func removerRemoves(s *suite) {
	if s.remover() == nil {
		return
	}
	s.createSession(firn.Header{Session: "a"}, 1)
	s.createSession(firn.Header{Session: "b"}, 2)
	want := s.read("a")
	end := want[len(want)-1].Next
	for range 2 {
		s.must("Remove", s.remover().Remove(s.ctx, "a", "not needed"))
		s.wantGone("a", end)
		if got := s.ids(store.Query{}); !slices.Equal(got, []firn.ID{"b"}) {
			s.Errorf("listed %q", got)
		}
		s.restart()
		s.wantGone("a", end)
	}
	for range 2 {
		s.must("Restore", s.remover().Restore(s.ctx, "a"))
		s.sameRecords("restored", s.read("a"), want)
		if got := s.ids(store.Query{}); !slices.Equal(got, []firn.ID{"b", "a"}) {
			s.Errorf("listed %q", got)
		}
	}
	_, err := s.store.Append(s.ctx, "a", end, userEntry("more"))
	s.must("Append to a restored session", err)
	s.must("Remove", s.remover().Remove(s.ctx, "a", "once more"))
	s.must("Restore", s.remover().Restore(s.ctx, "a"))
	s.readN("a", len(want)+1)
	s.must("Archive", s.remover().Archive(s.ctx, "a"))
	s.must("Remove", s.remover().Remove(s.ctx, "a", "from the archive"))
	s.wantGone("a", end)
	s.must("Restore", s.remover().Restore(s.ctx, "a"))
	if got := s.ids(store.Query{Archived: true}); !slices.Equal(got, []firn.ID{"a"}) {
		s.Errorf("restored, the archive lists %q", got)
	}
}

// removerBin checks the contents of the trash bin while sessions are removed, restored and
// purged.
func removerBin(s *suite) {
	binner, ok := store.As[store.Binner](s.store)
	if !ok {
		return
	}
	check := func(when string, want ...firn.ID) {
		s.Helper()
		binner, _ = store.As[store.Binner](s.store)
		all, err := binner.Bin(s.ctx)
		s.must("Bin", err)
		var ids []firn.ID
		for _, b := range all {
			ids = append(ids, b.ID)
			if b.Removed.IsZero() || b.Reason != "why "+string(b.ID) || b.Title != "Title of "+string(b.ID) || b.Fault != "" {
				s.Errorf("%s: the trash bin has %+v", when, b)
			}
		}
		slices.Sort(ids)
		if !slices.Equal(ids, want) {
			s.Errorf("%s: the trash bin has %q, want %q", when, ids, want)
		}
	}
	check("at first")
	for _, id := range []firn.ID{"a", "b", "c"} {
		s.createSession(firn.Header{Session: id}, 1)
		s.append(id, entry(firn.EntryID("t"+id), "", &firn.Title{Name: "Title of " + string(id)}))
	}
	for _, id := range []firn.ID{"a", "b"} {
		s.must("Remove", s.remover().Remove(s.ctx, id, "why "+string(id)))
	}
	check("two removed", "a", "b")
	s.restart()
	check("after closing", "a", "b")
	s.must("Restore", s.remover().Restore(s.ctx, "a"))
	check("one restored", "b")
	s.must("Remove", s.remover().Remove(s.ctx, "a", "why a"))
	check("removed again", "a", "b")
	_, err := s.remover().Purge(s.ctx, "b", "")
	s.must("Purge", err)
	_, err = s.remover().Purge(s.ctx, "c", "")
	s.must("Purge", err)
	check("one purged", "a")
}

// wantGone checks that a session cannot be used while its ID stays reserved.
func (s *suite) wantGone(id firn.ID, end store.Pos) {
	s.Helper()
	for name, seq := range s.readers(s.ctx, id) {
		_, err := drain(seq)
		s.wantErr(name+" of what is gone", err, firn.ErrNotFound)
	}
	for _, expect := range []store.Pos{store.Any, store.Start, end} {
		_, err := s.store.Append(s.ctx, id, expect, userEntry("x"))
		s.wantErr("Append to what is gone", err, firn.ErrNotFound)
	}
	for _, q := range []store.Query{{}, {Archived: true}, {Hidden: true}, {Archived: true, Hidden: true}} {
		if slices.Contains(s.ids(q), id) {
			s.Errorf("%+v lists what is gone", q)
		}
	}
}

func removerNotFound(s *suite) {
	r := s.remover()
	if r == nil {
		return
	}
	s.appendTexts("s1", "a")
	s.wantErr("Archive", r.Archive(s.ctx, "nobody"), firn.ErrNotFound)
	s.wantErr("Unarchive", r.Unarchive(s.ctx, "nobody"), firn.ErrNotFound)
	s.wantErr("Remove", r.Remove(s.ctx, "nobody", ""), firn.ErrNotFound)
	s.wantErr("Restore", r.Restore(s.ctx, "nobody"), firn.ErrNotFound)
	_, err := r.Purge(s.ctx, "nobody", "")
	s.wantErr("Purge", err, firn.ErrNotFound)
	_, err = r.Purge(s.ctx, "s1", "", "nothing")
	s.wantErr("Purge of an entry", err, firn.ErrNotFound)
	s.readN("s1", 2)
}
