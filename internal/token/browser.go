package token

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

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

// Browser is one that wants in.
type Browser struct {
	// Kind names it, for the list of tokens.
	Kind string
	// Old is the secret that it had before, empty if none: that is no good any more
	// afterwards, unless the new one comes from it.
	Old string
}

// Admit lets a browser in, and returns the token that it gets. It ends with the
// token that the grant comes from. Of too many, those that let nobody in any more
// are forgotten first, then those that come from the same token, and then who was
// away longest: nobody can put others out by logging in often.
func (b *Book) Admit(ctx context.Context, g Grant, who Browser) (wire.Created, error) {
	return b.letIn(ctx, who, func(*page) (Grant, error) { return g, nil })
}

// Redeem lets a browser in by a code, which is no good any more then. If the login
// cannot be kept, the code is as good as before.
func (b *Book) Redeem(ctx context.Context, text string, who Browser) (wire.Created, error) {
	hash := hashOf(text)
	p, err := b.look(ctx, func(p page) bool { return p.code(hash, b.clock()) >= 0 })
	if err == nil {
		p = p.copy()
		_, err = p.redeem(hash, b.clock()) // who guesses makes nobody write
	}
	if err != nil {
		return wire.Created{}, err
	}
	return b.letIn(ctx, who, func(p *page) (Grant, error) { return p.redeem(hash, b.clock()) })
}

// letIn makes the token of a browser out of what a page grants.
func (b *Book) letIn(ctx context.Context, who Browser, grant func(*page) (Grant, error)) (wire.Created, error) {
	now := b.clock()
	name := "browser " + who.Kind + strings.ToLower(rand.Text()[:6])
	var made wire.Created
	err := b.change(ctx, func(p *page) error {
		if i := p.index(made.ID); i >= 0 && p.Tokens[i].Hash == hashOf(made.Secret) {
			return nil // an earlier try got through
		}
		g, err := grant(p)
		if err != nil {
			return err
		}
		n := g.token(name, now)
		if err := sensible(n, now); err != nil {
			return err
		}
		if !p.alive(g.Parent, now) {
			return &wire.Problem{Kind: wire.NoToken, Message: "the token that this comes from is no good any more", Hint: "firn open makes a new code"}
		}
		p.Tokens = p.withoutOldBrowsers(g.Parent, now)
		made.Token, made.Secret = mint(n, now)
		if err := p.add(row{Token: made.Token, Hash: hashOf(made.Secret), Browser: true, Parent: g.Parent}, "let a browser in"); err != nil {
			return err
		}
		p.replace(who.Old, made.ID, now)
		return nil
	})
	if err != nil {
		return wire.Created{}, err
	}
	return made, nil
}

// token is what a browser gets by a grant.
func (g Grant) token(name string, now time.Time) wire.NewToken {
	n := wire.NewToken{Name: name, Scope: g.Scope, Agents: g.Agents, Keys: g.Keys, Expires: now.Add(browserFor).Truncate(time.Second)}
	if !g.Expires.IsZero() && g.Expires.Before(n.Expires) {
		n.Expires = g.Expires
	}
	return n
}

// replace logs a browser out of the token that it had before it got another, unless the
// other comes from it.
func (p *page) replace(secret, by string, now time.Time) {
	i := p.secret(secret)
	if i < 0 || !p.Tokens[i].Browser || p.comesFrom(by, p.Tokens[i].ID) {
		return
	}
	p.Tokens[i].end(ending{now.UTC().Truncate(time.Second), true})
}

// withoutOldBrowsers is all tokens with room for one more browser, that comes from
// a parent. Those whose own parent was forgotten let nobody in, and are forgotten
// too.
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
			if p.akin(r, family) {
				same++
			}
		}
	}
	for all >= mostBrowsers || same >= browsersEach {
		at := p.forgettable(kept, parent, all < mostBrowsers, now)
		if at < 0 {
			break // they all are what the new one comes from
		}
		all--
		if p.akin(kept[at], family) {
			same--
		}
		kept = slices.Delete(kept, at, at+1)
	}
	return kept
}

// forgettable is which browser is forgotten first for one that comes from a
// parent: only of its own family if within says so. It is -1 if there is none.
func (p page) forgettable(kept []row, parent string, within bool, now time.Time) int {
	at, family := -1, p.first(parent)
	for i, r := range kept {
		if !r.Browser || within && !p.akin(r, family) || p.comesFrom(parent, r.ID) {
			continue
		}
		if at < 0 || p.sooner(r, kept[at], family, now) {
			at = i
		}
	}
	return at
}

// sooner reports whether one browser is forgotten before another, for the sake of
// one of a family.
func (p page) sooner(a, b row, family string, now time.Time) bool {
	if good := p.good(a, now); good != p.good(b, now) {
		return !good
	}
	if owed := p.owes(a.ID, now); owed != p.owes(b.ID, now) {
		return !owed // of those that logged out something may still wait
	}
	if akin := p.akin(a, family); akin != p.akin(b, family) {
		return akin
	}
	return lastSeen(a).Before(lastSeen(b))
}

// akin reports whether a browser is of a family. Those whom the owner lets in are
// of none: each is the first of its own.
func (p page) akin(r row, family string) bool {
	return family != "" && r.ID != family && p.first(r.Parent) == family
}

func lastSeen(r row) time.Time {
	if r.Used.After(r.Created) {
		return r.Used
	}
	return r.Created
}
