package gateway

import (
	"context"
	"slices"
)

// Who listens is let in once, and may then listen for days. So a stream ends
// when the token of who listens does: whether it expires, is revoked, or comes
// from one that is.

// watcher is told when a token ends.
type watcher struct {
	token string
	ended func()
}

// watch calls ended once a token lets nobody in any more, by whoever's doing,
// until stop is called. That it has expired is for the caller to know.
func (t *Tokens) watch(token string, ended func()) (stop func()) {
	w := &watcher{token, ended}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.alive(token, maxLineage) {
		ended()
		return func() {}
	}
	t.watchers = append(t.watchers, w)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.watchers = slices.DeleteFunc(t.watchers, func(other *watcher) bool { return other == w })
	}
}

// tellWatchers tells those whose token has ended.
func (t *Tokens) tellWatchers() {
	t.watchers = slices.DeleteFunc(t.watchers, func(w *watcher) bool {
		if t.alive(w.token, maxLineage) {
			return false
		}
		w.ended()
		return true
	})
}

// whileLetIn is the context of a request for as long as who asks is let in.
func (c *call) whileLetIn() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.r.Context())
	if c.who.token == "" || c.h.config.Tokens == nil {
		return ctx, cancel // the owner, always
	}
	stop := c.h.config.Tokens.watch(c.who.token, cancel)
	if c.who.expires.IsZero() {
		return ctx, func() { stop(); cancel() }
	}
	left := c.who.expires.Sub(c.h.config.Tokens.clock())
	ctx, end := context.WithTimeout(ctx, left)
	return ctx, func() { stop(); end(); cancel() }
}
