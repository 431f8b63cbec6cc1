package gateway

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn"
	"firn/wire"
)

const (
	// browserFor is how long a browser stays logged in, and mostBrowsers how
	// many tokens of browsers are kept.
	browserFor   = 30 * 24 * time.Hour
	mostBrowsers = 100
)

// createBrowser makes the token of a browser, and returns its secret. It ends
// with the token that the grant comes from. Of too many, those that let nobody
// in any more are forgotten first, and then who was away longest.
func (t *Tokens) createBrowser(g grant, kind string) (wire.Created, error) {
	now := t.clock()
	n := wire.NewToken{Name: "browser " + kind + strings.ToLower(rand.Text()[:6]), Scope: g.scope, Agents: g.agents, Keys: g.keys, Expires: now.Add(browserFor).Truncate(time.Second)}
	if !g.expires.IsZero() && g.expires.Before(n.Expires) {
		n.Expires = g.expires
	}
	if err := checkToken(n, now); err != nil {
		return wire.Created{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return wire.Created{}, err
	}
	if !t.alive(g.parent, maxLineage) {
		return wire.Created{}, &wire.Problem{Kind: wire.NoToken, Message: "the token that this comes from is no good any more", Hint: "firn open makes a new code"}
	}
	before := t.book.Tokens
	t.book.Tokens = t.withoutOldBrowsers()
	if len(t.book.Tokens) >= maxTokens {
		t.book.Tokens = before
		return wire.Created{}, fmt.Errorf("let a browser in: there are %d tokens already: %w", maxTokens, firn.ErrTooLarge)
	}
	made, secret := t.mint(n)
	t.book.Tokens = append(t.book.Tokens, storedToken{Token: made, Hash: hashOf(secret), Browser: true, Parent: g.parent})
	if err := t.save(); err != nil {
		t.book.Tokens = before
		return wire.Created{}, err
	}
	t.tellWatchers() // some may have been forgotten
	return wire.Created{Token: made, Secret: secret}, nil
}

// withoutOldBrowsers is all tokens with room for one more browser.
func (t *Tokens) withoutOldBrowsers() []storedToken {
	kept := slices.Clone(t.book.Tokens)
	browsers := 0
	for _, s := range kept {
		if s.Browser {
			browsers++
		}
	}
	for ; browsers >= mostBrowsers; browsers-- {
		at := -1
		for i, s := range kept {
			if s.Browser && (at < 0 || t.sooner(s, kept[at])) {
				at = i
			}
		}
		kept = slices.Delete(kept, at, at+1)
	}
	return kept
}

// sooner reports whether one browser is forgotten before another.
func (t *Tokens) sooner(a, b storedToken) bool {
	if good := t.good(a); good != t.good(b) {
		return !good
	}
	return lastSeen(a).Before(lastSeen(b))
}

func lastSeen(s storedToken) time.Time {
	if s.Used.After(s.Created) {
		return s.Used
	}
	return s.Created
}

// replaceBrowser revokes the token that a browser had before it got another,
// unless the other comes from it.
func (t *Tokens) replaceBrowser(secret, by string) {
	old, err := t.checkBrowser(secret)
	if err != nil {
		return
	}
	t.mu.Lock()
	comes := t.comesFrom(by, old.ID, maxLineage)
	t.mu.Unlock()
	if !comes {
		t.Revoke(old.ID) //nolint:errcheck // if it is not saved the browser has still forgotten it
	}
}

// comesFrom reports whether a token is another, or was made with its help.
func (t *Tokens) comesFrom(token, other string, left int) bool {
	if token == other || token == "" || left == 0 {
		return token == other
	}
	i := slices.IndexFunc(t.book.Tokens, func(s storedToken) bool { return s.ID == token })
	return i >= 0 && t.comesFrom(t.book.Tokens[i].Parent, other, left-1)
}

// maxLineage is how far a token can be from the one that it comes from first.
const maxLineage = 16

// alive reports whether what comes from a token may still be used; what comes
// from the owner, who has no token, always may.
func (t *Tokens) alive(parent string, left int) bool {
	if parent == "" {
		return true
	}
	if left == 0 {
		return false
	}
	i := slices.IndexFunc(t.book.Tokens, func(s storedToken) bool { return s.ID == parent })
	return i >= 0 && t.lives(t.book.Tokens[i]) && t.alive(t.book.Tokens[i].Parent, left-1)
}

// checkBrowser is Check of a secret that came as a cookie: it must be that of a
// browser.
func (t *Tokens) checkBrowser(secret string) (wire.Token, error) {
	token, browser, err := t.check(secret)
	if err == nil && !browser {
		err = unknownToken()
	}
	if err != nil {
		return wire.Token{}, err
	}
	return token, nil
}
