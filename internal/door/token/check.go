package token

import (
	"context"
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"firn.dev/wire"
)

const (
	// usedEvery is how often the last use of a token is stored, and usedEveryShared its precision
	// if several gateways share the tokens.
	usedEvery       = time.Minute
	usedEveryShared = 15 * time.Minute
)

// Pass is the result of checking a secret.
type Pass struct {
	wire.Token
	// Browser is true for the token of a browser.
	Browser bool
	// Stale is true if the storage has not answered for a while. The token was valid then, and
	// permits only reading.
	Stale bool
}

// Check returns the token of a secret. It returns the same error whatever is wrong, so that
// guessing reveals nothing.
func (b *Book) Check(ctx context.Context, secret string) (Pass, error) {
	formed := strings.HasPrefix(secret, secretPrefix)
	p, err := b.currentPage(ctx, func(p page) bool { return !formed || p.secret(secret) >= 0 })
	if err != nil {
		return Pass{}, err
	}
	now := b.clock()
	found := p.secret(secret)
	if found < 0 || !formed || !p.valid(p.Tokens[found], now) {
		return Pass{}, unknown()
	}
	r := p.Tokens[found]
	r.Used = now.UTC().Truncate(time.Second)
	b.mu.Lock()
	b.used[r.ID] = r.Used
	due := b.follower == nil && now.Sub(b.saved) >= usedEvery
	if due {
		b.saved = now // set even if saving fails: the last use is not worth rejecting a request
	}
	b.mu.Unlock()
	if due {
		_ = b.note(ctx, 0) // retried in a minute, and on Close
	}
	return Pass{Token: r.Token, Browser: r.Browser, Stale: b.follower != nil && b.age() > freshFor}, nil
}

// CheckBrowser is Check for a secret from a cookie: it must be that of a browser.
func (b *Book) CheckBrowser(ctx context.Context, secret string) (Pass, error) {
	pass, err := b.Check(ctx, secret)
	if err == nil && !pass.Browser {
		err = unknown()
	}
	if err != nil {
		return Pass{}, err
	}
	return pass, nil
}

func unknown() error {
	return &wire.Problem{Kind: wire.NoToken, Message: "the token is unknown, expired or revoked", Hint: "to create a token: firn token create NAME"}
}

// secret returns the index of the token with a secret, or -1.
func (p page) secret(secret string) int {
	sum, found := []byte(hashOf(secret)), -1
	for i, r := range p.Tokens {
		if subtle.ConstantTimeCompare(sum, []byte(r.Hash)) == 1 {
			found = i
		}
	}
	return found
}

// A stream is authorized once and may run for days. It therefore ends when its token
// expires or is revoked, or when one of the token's ancestors is.

// watcher is notified when a token ends.
type watcher struct {
	token string
	// work limits it to revocations.
	work  bool
	ended func()
}

// over reports whether the watcher must be notified.
func (w *watcher) over(p page, now time.Time) bool {
	if w.work {
		return !p.mayContinue(w.token)
	}
	return !p.parentValid(w.token, now)
}

// Watch calls ended once a token is no longer valid, until stop is called. Expiry is left
// to the caller. ended must not call the book.
func (b *Book) Watch(token string, ended func()) (stop func()) {
	return b.watch(&watcher{token: token, ended: ended})
}

// WatchWork is Watch for a turn that was started with a token: it calls ended once the
// token or an ancestor is revoked. It ignores logouts, expiry and unavailable storage.
func (b *Book) WatchWork(token string, ended func()) (stop func()) {
	return b.watch(&watcher{token: token, work: true, ended: ended})
}

func (b *Book) watch(w *watcher) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.over(b.page, b.clock()) {
		w.ended()
		return func() {}
	}
	b.watchers = append(b.watchers, w)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.watchers = slices.DeleteFunc(b.watchers, func(other *watcher) bool { return other == w })
	}
}

// notifyWatchers calls the watchers whose tokens have ended.
func (b *Book) notifyWatchers() {
	now := b.clock()
	b.watchers = slices.DeleteFunc(b.watchers, func(w *watcher) bool {
		if !w.over(b.page, now) {
			return false
		}
		w.ended()
		return true
	})
}
