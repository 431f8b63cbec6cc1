package storetest

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/store"
)

func keyedTests() []test {
	return []test{
		{"finds bound sessions", keyedRemembers},
		{"rejects invalid keys and sessions", keyedRefuses},
		{"loads or creates", keyedLoadOrCreate},
		{"claims a key once", keyedClaims},
		{"does not find removed sessions", keyedRemoved},
		{"releases keys", keyedReleased},
	}
}

// keyed returns the capability, or nil if the store does not have it. In that case it only
// checks that LoadOrCreate returns ErrUnsupported.
func (s *suite) keyed() store.Keyed {
	k, ok := store.As[store.Keyed](s.store)
	if !ok {
		_, err := store.LoadOrCreate(s.ctx, s.store, "k")
		s.wantErr("LoadOrCreate", err, firn.ErrUnsupported)
		return nil
	}
	return k
}

// wantKey checks the session of a key.
func (s *suite) wantKey(key string, want firn.ID) {
	s.Helper()
	got, err := s.keyed().Lookup(s.ctx, key)
	if want == "" {
		s.wantErr("Lookup of "+key, err, firn.ErrNotFound)
	} else if got != want || err != nil {
		s.Errorf("key %s points to %q, %v; want %q", key, got, err, want)
	}
}

func keyedRemembers(s *suite) {
	if s.keyed() == nil {
		return
	}
	keys := []string{"k", "agent:main:main", "agent:ops:dm:+49 170", "agent:ops:group:ü/../x", "K", strings.Repeat("long", 200), "Agent:x", "agent:", "a\"b"}
	for i, key := range keys {
		s.wantKey(key, "")
		id := firn.ID(fmt.Sprint("s", i))
		s.appendTexts(id, "hello")
		s.must("Bind", s.keyed().Bind(s.ctx, key, id))
		s.wantKey(key, id)
	}
	s.appendTexts("new", "hello")
	s.must("Bind again", s.keyed().Bind(s.ctx, "k", "new"))
	s.must("Bind the same", s.keyed().Bind(s.ctx, "k", "new"))
	for range 2 {
		s.wantKey("k", "new")
		for i, key := range keys[1:] {
			s.wantKey(key, firn.ID(fmt.Sprint("s", i+1)))
		}
		s.restart()
	}
}

func keyedRefuses(s *suite) {
	if s.keyed() == nil {
		return
	}
	s.wantErr("Bind to a missing session", s.keyed().Bind(s.ctx, "k", "missing"), firn.ErrNotFound)
	s.wantKey("k", "")
	s.appendTexts("s1", "hello")
	for _, key := range []string{"", "a\nb", "a\xff", "a\x00", strings.Repeat("x", 2000)} {
		s.wantErr(fmt.Sprintf("Bind of %.10q", key), s.keyed().Bind(s.ctx, key, "s1"), firn.ErrInvalid)
		_, err := s.keyed().Lookup(s.ctx, key)
		s.wantErr(fmt.Sprintf("Lookup of %.10q", key), err, firn.ErrInvalid)
	}
}

func keyedLoadOrCreate(s *suite) {
	if s.keyed() == nil {
		return
	}
	owners := map[string]string{"k": "main", "agent:ops:dm:1": "ops", "agent:ops:dm:2": "ops", "agent:": "main", "agent:x": "main"}
	ids := map[string]firn.ID{}
	for key, agent := range owners {
		id, err := store.LoadOrCreate(s.ctx, s.store, key)
		s.must("LoadOrCreate", err)
		ids[key] = id
		h, ok := s.read(id)[0].Body.(*firn.Header)
		if !ok || h.Key != key || h.Agent != agent || h.Session != id {
			s.Errorf("the session of key %s has the header %+v", key, h)
		}
	}
	for range 2 {
		for key, want := range ids {
			if got, err := store.LoadOrCreate(s.ctx, s.store, key); got != want || err != nil {
				s.Errorf("LoadOrCreate of %s = %s, %v; want %s", key, got, err, want)
			}
		}
		if n := len(s.list(store.Query{})); n != len(owners) {
			s.Errorf("%d sessions for %d keys", n, len(owners))
		}
		s.restart()
	}
}

func keyedClaims(s *suite) {
	if s.keyed() == nil {
		return
	}
	claimer, ok := store.As[store.Claimer](s.store)
	if !ok {
		return
	}
	s.appendTexts("s1", "a")
	s.appendTexts("s2", "b")
	_, err := claimer.Claim(s.ctx, "k", "missing")
	s.wantErr("Claim for a missing session", err, firn.ErrNotFound)
	for _, id := range []firn.ID{"s1", "s2"} {
		if got, err := claimer.Claim(s.ctx, "k", id); got != "s1" || err != nil {
			s.Errorf("Claim for %s = %s, %v", id, got, err)
		}
	}
	s.wantKey("k", "s1")
	for round := range 5 {
		key := fmt.Sprint("agent:ops:", round)
		var got [crowd]firn.ID
		inParallel(func(i int) {
			id, err := store.LoadOrCreate(s.ctx, s.store, key)
			if err != nil {
				s.Errorf("LoadOrCreate: %v", err)
			}
			got[i] = id
		})
		for _, id := range got {
			if id != got[0] || id == "" {
				s.Errorf("callers got the sessions %q", got)
			}
		}
		s.wantKey(key, got[0])
		if n := len(s.list(store.Query{Key: key})); n != 1 {
			s.Errorf("%d sessions of key %s are listed", n, key)
		}
	}
}

func keyedRemoved(s *suite) {
	if s.keyed() == nil {
		return
	}
	r, ok := store.As[store.Remover](s.store)
	if !ok {
		return
	}
	old, err := store.LoadOrCreate(s.ctx, s.store, "k")
	s.must("LoadOrCreate", err)
	s.must("Archive", r.Archive(s.ctx, old))
	s.wantKey("k", old)
	s.must("Remove", r.Remove(s.ctx, old, ""))
	s.wantKey("k", "")
	s.wantErr("Bind to a removed session", s.keyed().Bind(s.ctx, "k2", old), firn.ErrNotFound)
	s.must("Restore", r.Restore(s.ctx, old))
	s.wantKey("k", old)
	s.must("Remove", r.Remove(s.ctx, old, ""))
	fresh, err := store.LoadOrCreate(s.ctx, s.store, "k")
	s.must("LoadOrCreate", err)
	if fresh == old {
		s.Errorf("the key still points to the removed session %s", old)
	}
	s.must("Restore", r.Restore(s.ctx, old))
	s.wantKey("k", fresh)
	_, err = r.Purge(s.ctx, fresh, "")
	s.must("Purge", err)
	s.wantKey("k", "")
}

// keyedReleased checks that released keys are unbound, even after a restart, that their
// sessions still exist but no longer claim them, and that the keys can be bound again.
func keyedReleased(s *suite) {
	if s.keyed() == nil {
		return
	}
	table, ok := store.As[store.Unbinder](s.store)
	if !ok {
		_, err := store.Release(s.ctx, s.store, "k")
		s.wantErr("Release", err, firn.ErrUnsupported)
		return
	}
	const key, other = "agent:ops:direct:1", "agent:ops:direct:2"
	id, err := store.LoadOrCreate(s.ctx, s.store, key)
	s.must("LoadOrCreate", err)
	s.appendTexts("later", "hello")
	s.must("Bind", store.Bind(s.ctx, s.store, other, "later"))
	s.must("Unbind of an unbound key", table.Unbind(s.ctx, "agent:ops:direct:3"))
	s.wantErr("Unbind of an invalid key", table.Unbind(s.ctx, "a\nb"), firn.ErrInvalid)
	for _, one := range []struct {
		key string
		id  firn.ID
	}{{key, id}, {other, "later"}} {
		if was, err := store.Release(s.ctx, s.store, one.key); was != one.id || err != nil {
			s.Errorf("Release of %s = %s, %v; want %s", one.key, was, err, one.id)
		}
		_, err := store.Release(s.ctx, s.store, one.key)
		s.wantErr("Release again", err, firn.ErrNotFound)
	}
	for range 2 {
		s.wantKey(key, "")
		s.wantKey(other, "")
		for _, info := range s.list(store.Query{}) {
			if len(info.Claims()) > 0 {
				s.Errorf("session %s still claims %v", info.ID, info.Claims())
			}
		}
		s.restart()
	}
	s.must("Bind again", store.Bind(s.ctx, s.store, key, id))
	s.restart()
	s.wantKey(key, id)
}
