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
	// browserFor is how long a browser stays logged in, mostBrowsers how many
	// tokens of browsers are kept, and browsersEach how many of them may come from
	// one token, be it by way of others.
	browserFor   = 30 * 24 * time.Hour
	mostBrowsers = 100
	browsersEach = 8
)

// createBrowser makes the token of a browser, and returns its secret. It ends
// with the token that the grant comes from. Of too many, those that let nobody
// in any more are forgotten first, then those that come from the same token, and
// then who was away longest: nobody can put others out by logging in often.
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
	t.book.Tokens = t.withoutOldBrowsers(g.parent)
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

// withoutOldBrowsers is all tokens with room for one more browser, that comes from
// a parent. Those whose own parent was forgotten let nobody in, and are forgotten
// too.
func (t *Tokens) withoutOldBrowsers(parent string) []storedToken {
	there := map[string]bool{"": true}
	for _, s := range t.book.Tokens {
		there[s.ID] = true
	}
	kept := slices.DeleteFunc(slices.Clone(t.book.Tokens), func(s storedToken) bool { return s.Browser && !there[s.Parent] })
	family := t.first(parent)
	all, same := 0, 0
	for _, s := range kept {
		if s.Browser {
			all++
			if t.akin(s, family) {
				same++
			}
		}
	}
	for all >= mostBrowsers || same >= browsersEach {
		at := t.forgettable(kept, parent, family, all < mostBrowsers)
		if at < 0 {
			break // they all are what the new one comes from
		}
		all--
		if t.akin(kept[at], family) {
			same--
		}
		kept = slices.Delete(kept, at, at+1)
	}
	return kept
}

// forgettable is which browser is forgotten first for one that comes from a
// parent: only of its own family if within says so. It is -1 if there is none.
func (t *Tokens) forgettable(kept []storedToken, parent, family string, within bool) int {
	at := -1
	for i, s := range kept {
		if !s.Browser || within && !t.akin(s, family) || t.comesFrom(parent, s.ID, maxLineage) {
			continue
		}
		if at < 0 || t.sooner(s, kept[at], family) {
			at = i
		}
	}
	return at
}

// sooner reports whether one browser is forgotten before another, for the sake of
// one of a family.
func (t *Tokens) sooner(a, b storedToken, family string) bool {
	if good := t.good(a); good != t.good(b) {
		return !good
	}
	if akin := t.akin(a, family); akin != t.akin(b, family) {
		return akin
	}
	return lastSeen(a).Before(lastSeen(b))
}

// akin reports whether a browser is of a family. Those whom the owner lets in are
// of none: each is the first of its own.
func (t *Tokens) akin(s storedToken, family string) bool {
	return family != "" && s.ID != family && t.first(s.Parent) == family
}

// first is the token that all others come from in the end which somebody made with
// the help of a token; empty for the owner.
func (t *Tokens) first(token string) string {
	for range maxLineage {
		i := slices.IndexFunc(t.book.Tokens, func(s storedToken) bool { return s.ID == token })
		if i < 0 || t.book.Tokens[i].Parent == "" {
			break
		}
		token = t.book.Tokens[i].Parent
	}
	return token
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
