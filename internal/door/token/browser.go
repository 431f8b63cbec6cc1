package token

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"firn.dev/wire"
)

const (
	// browserFor is how long a browser stays logged in, mostBrowsers the maximum number of
	// browser tokens, and browsersEach the maximum number derived from one token, directly
	// or indirectly.
	browserFor   = 30 * 24 * time.Hour
	mostBrowsers = 100
	browsersEach = 8
)

// Browser is a browser that logs in.
type Browser struct {
	// Kind is its name in the list of tokens.
	Kind string
	// PreviousSecret is the secret of its previous login, or empty. That login ends, unless the new
	// token derives from it.
	PreviousSecret string
}

// Admit logs a browser in and returns its new token, which ends with the token of the
// grant. If there are too many browser tokens, invalid ones are removed first, then those
// derived from the same token, then the least recently used. Frequent logins therefore
// cannot log other users out.
func (b *Book) Admit(ctx context.Context, g Grant, who Browser) (wire.Created, error) {
	return b.createLogin(ctx, who, func(*page) (Grant, error) { return g, nil })
}

// Redeem logs a browser in with a one-time code, which is then used up. If the login cannot
// be stored, the code stays valid.
func (b *Book) Redeem(ctx context.Context, text string, who Browser) (wire.Created, error) {
	hash := hashOf(text)
	p, err := b.currentPage(ctx, func(p page) bool { return p.code(hash, b.clock()) >= 0 })
	if err == nil {
		p = p.copy()
		_, err = p.redeem(hash, b.clock()) // checked first, so that guessing causes no writes
	}
	if err != nil {
		return wire.Created{}, err
	}
	return b.createLogin(ctx, who, func(p *page) (Grant, error) { return p.redeem(hash, b.clock()) })
}

// createLogin creates the token of a browser from the grant that was taken from the record.
func (b *Book) createLogin(ctx context.Context, who Browser, grant func(*page) (Grant, error)) (wire.Created, error) {
	now := b.clock()
	name := "browser " + who.Kind + strings.ToLower(rand.Text()[:6])
	var made wire.Created
	err := b.change(ctx, func(p *page) error {
		if i := p.index(made.ID); i >= 0 && p.Tokens[i].Hash == hashOf(made.Secret) {
			return nil // an earlier attempt succeeded
		}
		g, err := grant(p)
		if err != nil {
			return err
		}
		n := g.token(name, now)
		if err := validate(n, now); err != nil {
			return err
		}
		if !p.parentValid(g.Parent, now) {
			return &wire.Problem{Kind: wire.NoToken, Message: "the token this login was made from is no longer valid", Hint: "run firn open for a new code"}
		}
		p.Tokens = p.withoutOldBrowsers(g.Parent, now)
		made.Token, made.Secret = mint(n, now)
		if err := p.add(row{Token: made.Token, Hash: hashOf(made.Secret), Browser: true, Parent: g.Parent}, "log in a browser"); err != nil {
			return err
		}
		p.replace(who.PreviousSecret, made.ID, now)
		return nil
	})
	if err != nil {
		return wire.Created{}, err
	}
	return made, nil
}

// token returns the token for a browser with this grant.
func (g Grant) token(name string, now time.Time) wire.NewToken {
	n := wire.NewToken{Name: name, Scope: g.Scope, Agents: g.Agents, Keys: g.Keys, Expires: now.Add(browserFor).Truncate(time.Second)}
	if !g.Expires.IsZero() && g.Expires.Before(n.Expires) {
		n.Expires = g.Expires
	}
	return n
}

// replace ends the previous login of a browser, unless the new token derives from it.
func (p *page) replace(secret, by string, now time.Time) {
	i := p.secret(secret)
	if i < 0 || !p.Tokens[i].Browser || p.comesFrom(by, p.Tokens[i].ID) {
		return
	}
	p.Tokens[i].end(ending{now.UTC().Truncate(time.Second), true})
}

// withoutOldBrowsers returns all tokens, with room for one more browser token derived from
// parent. Tokens whose parent was removed are invalid, and are removed too.
func (p page) withoutOldBrowsers(parent string, now time.Time) []row {
	there := map[string]bool{"": true}
	for _, r := range p.Tokens {
		there[r.ID] = true
	}
	kept := slices.DeleteFunc(slices.Clone(p.Tokens), func(r row) bool { return r.Browser && !there[r.Parent] })
	family := p.first(parent)
	all, same := 0, 0
	for _, r := range kept {
		if r.Browser {
			all++
			if p.sameFamily(r, family) {
				same++
			}
		}
	}
	for all >= mostBrowsers || same >= browsersEach {
		at := p.forgettable(kept, parent, all < mostBrowsers, now)
		if at < 0 {
			break // all of them are ancestors of the new one
		}
		all--
		if p.sameFamily(kept[at], family) {
			same--
		}
		kept = slices.Delete(kept, at, at+1)
	}
	return kept
}

// forgettable returns the index of the browser token to remove first for a new one derived
// from parent, or -1. If within is true, only tokens of the same family are considered.
func (p page) forgettable(kept []row, parent string, within bool, now time.Time) int {
	at, family := -1, p.first(parent)
	for i, r := range kept {
		if !r.Browser || within && !p.sameFamily(r, family) || p.comesFrom(parent, r.ID) {
			continue
		}
		if at < 0 || p.evictBefore(r, kept[at], family, now) {
			at = i
		}
	}
	return at
}

// evictBefore reports whether browser token a is removed before b, to make room for a token
// of the given family.
func (p page) evictBefore(a, b row, family string, now time.Time) bool {
	if good := p.valid(a, now); good != p.valid(b, now) {
		return !good
	}
	if owed := p.owes(a.ID, now); owed != p.owes(b.ID, now) {
		return !owed // logged-out tokens may still have pending messages
	}
	if akin := p.sameFamily(a, family); akin != p.sameFamily(b, family) {
		return akin
	}
	return lastSeen(a).Before(lastSeen(b))
}

// sameFamily reports whether a browser token belongs to a family. A token granted by the
// owner starts a family of its own.
func (p page) sameFamily(r row, family string) bool {
	return family != "" && r.ID != family && p.first(r.Parent) == family
}

func lastSeen(r row) time.Time {
	if r.Used.After(r.Created) {
		return r.Used
	}
	return r.Created
}
