package api_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/token"
	"firn.dev/wire"
)

// unavailableStorage is a token file that behaves like remote storage and can be unavailable.
type unavailableStorage struct {
	*token.File
	away atomic.Bool
}

func (k *unavailableStorage) Load(ctx context.Context, known uint64) ([]byte, uint64, error) {
	if k.away.Load() {
		return nil, 0, firn.ErrUnavailable
	}
	return k.File.Load(ctx, known)
}

func (k *unavailableStorage) Watch(ctx context.Context, _ func()) { <-ctx.Done() }

// TestTokenStorageUnavailable checks that while the token storage is unavailable, known
// tokens may read but not write, and unknown ones are asked to retry.
func TestTokenStorageUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keep := &unavailableStorage{File: token.NewFile(faultfs.New(), "/tokens.json")}
		tokens, err := token.Open(t.Context(), keep, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		defer tokens.Close()
		s := browsing(t, api.Config{Tokens: tokens})
		admin := s.token(wire.NewToken{Name: "a", Scope: wire.ScopeAdmin})
		cookie := s.enter(wire.Login{Token: admin})
		keep.away.Store(true)
		if got := s.ask("POST", "/v1/sessions", bearing(admin)); got.status != 200 {
			t.Errorf("immediately: %d %s", got.status, got.body)
		}
		time.Sleep(time.Minute)
		for _, c := range []struct {
			name, method, target string
			as                   change
			status               int
		}{
			{"read", "GET", "/v1/sessions", bearing(admin), 200},
			{"read in a browser", "GET", "/v1/sessions", holding(cookie), 200},
			{"write", "POST", "/v1/sessions", bearing(admin), 503},
			{"make a token", "POST", "/v1/tokens", bearing(admin), 503},
			{"log out", "POST", "/v1/logout", holding(cookie), 503},
			{"order a code", "POST", "/v1/logins", bearing(admin), 503},
			{"an unknown token", "GET", "/v1/sessions", bearing("firn_" + admin[6:] + "_"), 503},
			{"no token", "GET", "/v1/sessions", page, 401},
		} {
			if got := s.ask(c.method, c.target, c.as, page); got.status != c.status {
				t.Errorf("%s: %d %s, want %d", c.name, got.status, got.body, c.status)
			}
		}
		if got := s.owner("POST", "/v1/sessions"); got.status != 200 {
			t.Errorf("the owner: %d %s", got.status, got.body)
		}
		time.Sleep(10 * time.Minute)
		if got := s.ask("GET", "/v1/sessions", bearing(admin)); got.status != 503 {
			t.Errorf("much later: %d", got.status)
		}
		keep.away.Store(false)
		time.Sleep(6 * time.Second)
		if got := s.ask("POST", "/v1/sessions", bearing(admin)); got.status != 200 {
			t.Errorf("when they are back: %d %s", got.status, got.body)
		}
	})
}
