package token_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/door/token"
	"firn.dev/wire"
)

// servers stores the tokens of several books, and can be unavailable.
type servers struct {
	mu       sync.Mutex
	data     []byte
	revision uint64
	away     bool
	loads    int
	watchers []chan struct{}
}

func (s *servers) Load(_ context.Context, known uint64) ([]byte, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	switch {
	case s.away:
		return nil, 0, firn.ErrUnavailable
	case s.revision == known:
		return nil, known, nil
	}
	return slices.Clone(s.data), s.revision, nil
}

func (s *servers) Save(_ context.Context, data []byte, known uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.away:
		return 0, fmt.Errorf("%w: %w", firn.ErrNotSaved, firn.ErrUnavailable)
	case s.revision != known:
		return 0, firn.ErrConflict
	}
	s.data = slices.Clone(data)
	s.revision++
	for _, w := range s.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
	return s.revision, nil
}

func (s *servers) Watch(ctx context.Context, changed func()) {
	messages := make(chan struct{}, 1)
	s.mu.Lock()
	s.watchers = append(s.watchers, messages)
	s.mu.Unlock()
	changed()
	for {
		select {
		case <-messages:
			changed()
		case <-ctx.Done():
			return
		}
	}
}

func (s *servers) are(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *servers) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}

// share opens several books on the same servers.
func share(t *testing.T, s *servers, n int) []*token.Book {
	t.Helper()
	var all []*token.Book
	for range n {
		b, err := token.Open(t.Context(), s, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		all = append(all, b)
	}
	return all
}

func create(t *testing.T, b *token.Book, name string) wire.Created {
	t.Helper()
	made, err := b.Create(t.Context(), wire.NewToken{Name: name, Scope: wire.ScopeAdmin})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestShared checks that changes in one book are visible in the others, and that checking a
// known token makes no request.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{}
		books := share(t, s, 2)
		made := create(t, books[0], "x")
		if pass, err := books[1].Check(t.Context(), made.Secret); err != nil || pass.Stale || pass.Name != "x" {
			t.Fatalf("%+v, %v", pass, err)
		}
		synctest.Wait()
		before := s.asked()
		for range 100 {
			if _, err := books[1].Check(t.Context(), made.Secret); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.asked() - before; n != 0 {
			t.Errorf("%d lookups of a known token", n)
		}
		ended := false
		books[1].Watch(made.ID, func() { ended = true })
		if _, err := books[0].Revoke(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // no time passes
		if _, err := books[1].Check(t.Context(), made.Secret); wire.KindOf(err) != wire.NoToken || !ended {
			t.Errorf("revoked elsewhere: %v, and the listener is notified: %v", err, ended)
		}
	})
}

// TestServersUnavailable checks that while the servers are unavailable, known tokens may read
// for a limited time and others are rejected.
func TestServersUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{}
		b := share(t, s, 1)[0]
		made := create(t, b, "x")
		code, _, err := b.Order(t.Context(), token.GrantOf(made.Token))
		if err != nil {
			t.Fatal(err)
		}
		ended := false
		b.Watch(made.ID, func() { ended = true })
		s.are(true)
		check := func(when string, old bool, kind wire.Kind) {
			t.Helper()
			pass, err := b.Check(t.Context(), made.Secret)
			if err == nil && (kind != "" || pass.Stale != old) || err != nil && wire.KindOf(err) != kind {
				t.Errorf("%s: %+v, %v", when, pass, err)
			}
		}
		check("at once", false, "")
		time.Sleep(40 * time.Second)
		check("a little later", true, "")
		if _, err := b.Check(t.Context(), "firn_"+made.Secret[5:47]+"_"); wire.KindOf(err) != wire.Unavailable {
			t.Errorf("another user: %v", err)
		}
		if _, err := b.Redeem(t.Context(), code+"x", token.Browser{}); wire.KindOf(err) != wire.Unavailable {
			t.Errorf("an unknown code: %v", err)
		}
		if _, err := b.Redeem(t.Context(), code, token.Browser{}); wire.KindOf(err) != wire.Unavailable {
			t.Errorf("a code: %v", err)
		}
		if _, err := b.Create(t.Context(), wire.NewToken{Name: "y", Scope: wire.ScopeRead}); err == nil {
			t.Error("one is made")
		}
		time.Sleep(11 * time.Minute)
		check("much later", true, wire.Unavailable)
		if !ended {
			t.Error("the listener is not notified")
		}
		s.are(false)
		time.Sleep(6 * time.Second)
		check("when they are back", false, "")
	})
}

// TestRevokedWhileUnavailable checks that a token revoked while the servers are unavailable is
// rejected immediately by that book, and by all once the servers are back.
func TestRevokedWhileUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{}
		books := share(t, s, 2)
		made := create(t, books[0], "x")
		synctest.Wait()
		s.are(true)
		if _, err := books[0].Revoke(t.Context(), made.ID); err == nil {
			t.Error("it is reported as done")
		}
		if _, err := books[0].Check(t.Context(), made.Secret); wire.KindOf(err) != wire.NoToken {
			t.Errorf("where it was revoked: %v", err)
		}
		if _, err := books[1].Check(t.Context(), made.Secret); err != nil {
			t.Errorf("without a known owner: %v", err)
		}
		s.are(false)
		time.Sleep(6 * time.Second)
		if _, err := books[1].Check(t.Context(), made.Secret); wire.KindOf(err) != wire.NoToken {
			t.Errorf("when they are back: %v", err)
		}
	})
}

// TestConcurrentChangesInSeveralBooks checks that concurrent changes in several books are
// consistent.
func TestConcurrentChangesInSeveralBooks(t *testing.T) {
	s := &servers{}
	books := share(t, s, 4)
	made := create(t, books[0], "x")
	code, _, err := books[0].Order(t.Context(), token.GrantOf(made.Token))
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	var named, in atomic.Int64
	for _, b := range books {
		work.Go(func() {
			if _, err := b.Create(t.Context(), wire.NewToken{Name: "y", Scope: wire.ScopeRead}); err == nil {
				named.Add(1)
			}
		})
		work.Go(func() {
			if _, err := b.Redeem(t.Context(), code, token.Browser{}); err == nil {
				in.Add(1)
			}
		})
	}
	work.Wait()
	if named.Load() != 1 || in.Load() != 1 {
		t.Errorf("%d have the name, %d logged in with the code", named.Load(), in.Load())
	}
	if all, err := books[3].List(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("%d tokens, %v", len(all), err)
	}
}

// TestUseIsRecordedOnce checks that the use of a token is recorded occasionally, once for all
// books.
func TestUseIsRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{}
		books := share(t, s, 3)
		made := create(t, books[0], "x")
		for range 60 {
			for _, b := range books {
				if _, err := b.Check(t.Context(), made.Secret); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
		}
		s.mu.Lock()
		writes := s.revision
		s.mu.Unlock()
		if writes < 3 || writes > 10 {
			t.Errorf("%d writes in an hour", writes)
		}
		all, err := books[2].List(t.Context())
		if err != nil || time.Since(all[0].Used) > 2*time.Minute {
			t.Errorf("it was used at %v, %v", all[0].Used, err)
		}
	})
}
