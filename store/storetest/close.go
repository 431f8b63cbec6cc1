package storetest

import (
	"errors"

	"firn.dev"
	"firn.dev/store"
)

func closeTests() []test {
	return []test{
		{"keeps what was appended", closeKeeps},
		{"makes everything fail", closeFails},
	}
}

func closeKeeps(s *suite) {
	s.append("s1", sampleEntries()...)
	want := s.read("s1")
	for range 3 {
		s.restart()
		s.sameRecords("after closing", s.read("s1"), want)
		s.appendTexts("s1", "one more")
		got := s.readN("s1", len(want)+1)
		s.sameRecords("after appending", got[:len(want)], want)
		if last := got[len(got)-1]; last.Parent != want[len(want)-1].ID {
			s.Errorf("after closing, %q was put after %q", last.text(), last.Parent)
		}
		want = got
	}
}

func closeFails(s *suite) {
	s.appendTexts("s1", "a")
	late := s.store.Read(s.ctx, "s1", store.Start)
	s.must("Close", s.store.Close())
	_, err := drain(late)
	s.wantErr("a Read from before", err, firn.ErrClosed)
	_, err = s.store.Append(s.ctx, "s1", store.Any, userEntry("b"))
	s.wantErr("Append", err, firn.ErrClosed)
	for name, seq := range s.readers(s.ctx, "s1") {
		_, err := drain(seq)
		s.wantErr(name, err, firn.ErrClosed)
	}
	_, err = drainList(s.store.List(s.ctx, store.Query{}))
	s.wantErr("List", err, firn.ErrClosed)
	if err := s.store.Close(); err != nil && !errors.Is(err, firn.ErrClosed) {
		s.Errorf("Close again: %v", err)
	}
	s.closedCapabilities()
}

// closedCapabilities checks that capabilities return ErrClosed too.
func (s *suite) closedCapabilities() {
	if d, ok := store.As[store.Deferred](s.store); ok {
		_, err := d.AppendDeferred(s.ctx, "s1", store.Any, userEntry("b"))
		s.wantErr("AppendDeferred", err, firn.ErrClosed)
		s.wantErr("Sync", d.Sync(s.ctx, "s1"), firn.ErrClosed)
	}
	if k, ok := store.As[store.Keyed](s.store); ok {
		_, err := k.Lookup(s.ctx, "k")
		s.wantErr("Lookup", err, firn.ErrClosed)
		s.wantErr("Bind", k.Bind(s.ctx, "k", "s1"), firn.ErrClosed)
	}
	if r, ok := store.As[store.Remover](s.store); ok {
		s.wantErr("Archive", r.Archive(s.ctx, "s1"), firn.ErrClosed)
		s.wantErr("Unarchive", r.Unarchive(s.ctx, "s1"), firn.ErrClosed)
		s.wantErr("Remove", r.Remove(s.ctx, "s1", ""), firn.ErrClosed)
		s.wantErr("Restore", r.Restore(s.ctx, "s1"), firn.ErrClosed)
		_, err := r.Purge(s.ctx, "s1", "")
		s.wantErr("Purge", err, firn.ErrClosed)
	}
}
