package token

import (
	"context"
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"firn/wire"
)

const (
	// usedEvery is how often it is written down that a token was used, and
	// usedEveryShared how far off that may be where all gateways read what one
	// writes.
	usedEvery       = time.Minute
	usedEveryShared = 15 * time.Minute
)

// Pass is what somebody who shows a secret is let in by.
type Pass struct {
	wire.Token
	// Browser says that it is the token of a browser.
	Browser bool
	// Old says that the keep has not answered for a while: the token was good then,
	// and is good enough to read.
	Old bool
}

// Check returns the token of a secret. Whatever is wrong with it, the problem
// is the same: who guesses learns nothing.
func (b *Book) Check(ctx context.Context, secret string) (Pass, error) {
	formed := strings.HasPrefix(secret, secretPrefix)
	p, err := b.look(ctx, func(p page) bool { return !formed || p.secret(secret) >= 0 })
	if err != nil {
		return Pass{}, err
	}
	now := b.clock()
	found := p.secret(secret)
	if found < 0 || !formed || !p.good(p.Tokens[found], now) {
		return Pass{}, unknown()
	}
	r := p.Tokens[found]
	r.Used = now.UTC().Truncate(time.Second)
	b.mu.Lock()
	b.used[r.ID] = r.Used
	due := b.follower == nil && now.Sub(b.saved) >= usedEvery
	if due {
		b.saved = now // also if it fails: when it was used is not worth a refusal
	}
	b.mu.Unlock()
	if due {
		_ = b.note(ctx, 0) // tried again in a minute, and on Close
	}
	return Pass{Token: r.Token, Browser: r.Browser, Old: b.follower != nil && b.age() > freshFor}, nil
}

// CheckBrowser is Check of a secret that came as a cookie: it must be that of a
// browser.
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
	return &wire.Problem{Kind: wire.NoToken, Message: "the token is not known, has expired or was revoked", Hint: "firn token create makes a new one"}
}

// secret is where the token of a secret is; -1 if there is none.
func (p page) secret(secret string) int {
	sum, found := []byte(hashOf(secret)), -1
	for i, r := range p.Tokens {
		if subtle.ConstantTimeCompare(sum, []byte(r.Hash)) == 1 {
			found = i
		}
	}
	return found
}

// Who listens is let in once, and may then listen for days. So a stream ends
// when the token of who listens does: whether it expires, is revoked, or comes
// from one that is.

// watcher is told when a token ends.
type watcher struct {
	token string
	// work: it is told of revocations alone.
	work  bool
	ended func()
}

// over reports whether the watcher is to be told.
func (w *watcher) over(p page, now time.Time) bool {
	if w.work {
		return !p.goesOn(w.token)
	}
	return !p.alive(w.token, now)
}

// Watch calls ended once a token lets nobody in any more, by whoever's doing,
// until stop is called. That it has expired is for the caller to know. Ended must not
// call the book.
func (b *Book) Watch(token string, ended func()) (stop func()) {
	return b.watch(&watcher{token: token, ended: ended})
}

// WatchWork is Watch for a turn that was begun with a token: it calls ended once the
// token, or one that it comes from, is revoked. Logging out and expiry do not count, nor
// that the keep does not answer.
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

// tellWatchers tells those whose token has ended.
func (b *Book) tellWatchers() {
	now := b.clock()
	b.watchers = slices.DeleteFunc(b.watchers, func(w *watcher) bool {
		if !w.over(b.page, now) {
			return false
		}
		w.ended()
		return true
	})
}
