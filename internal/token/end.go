package token

import (
	"context"
	"errors"
	"time"

	"firn/wire"
)

// A token ends in one of two ways; after either it is rejected. If it is revoked,
// nothing is done any more that it asked for: its turns are interrupted and its messages
// that wait are not answered. If its browser logs out, what was accepted before is
// answered. A token that was logged out can be revoked; not the other way round.
//
// On the page a token that was logged out is also marked as revoked, so that a gateway
// that does not know the difference lets nobody in by it.

// ending is how and when a token ended.
type ending struct {
	at     time.Time
	logout bool
}

// ending returns how a token ended; its time is zero if it has not.
func (r row) ending() ending { return ending{r.Revoked, !r.LoggedOut.IsZero()} }

// covers reports whether a token that ended like e has ended like other, too.
func (e ending) covers(other ending) bool { return !e.at.IsZero() && (!e.logout || other.logout) }

// end ends a token, unless it has ended like that already.
func (r *row) end(e ending) {
	if r.ending().covers(e) {
		return
	}
	r.Revoked, r.LoggedOut = e.at, time.Time{}
	if e.logout {
		r.LoggedOut = e.at
	}
}

// Revoke takes a token back, by its id, or by its name if that is of one that
// is in use. It is no good from now on, and stays in the list. Revoking it again
// changes nothing. If it cannot be written down, it is no good here all the same,
// and is written down as soon as something can be.
func (b *Book) Revoke(ctx context.Context, ref string) (wire.Token, error) {
	return b.finish(ctx, ref, false)
}

// Logout is Revoke of the token of a browser that logs out: what was accepted from it
// is still answered.
func (b *Book) Logout(ctx context.Context, id string) (wire.Token, error) {
	return b.finish(ctx, id, true)
}

// finish ends a token.
func (b *Book) finish(ctx context.Context, ref string, logout bool) (wire.Token, error) {
	now := b.clock()
	e := ending{now.UTC().Truncate(time.Second), logout}
	var ended wire.Token
	err := b.change(ctx, func(p *page) error {
		i, err := p.named(ref, now)
		if err != nil {
			return err
		}
		p.Tokens[i].end(e)
		ended = p.Tokens[i].Token
		ref = ended.ID // its name is of none in use any more
		b.ban(ended.ID, p.Tokens[i].ending())
		return nil
	})
	if err == nil {
		return ended, nil
	}
	if p := b.latest(); !errors.As(err, new(*wire.Problem)) {
		if i, unknown := p.named(ref, now); unknown == nil {
			b.ban(p.Tokens[i].ID, e)
		}
	}
	return wire.Token{}, err
}

// ban makes a token no good here, whatever is written.
func (b *Book) ban(token string, e ending) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.banned[token].covers(e) {
		b.banned[token] = e
	}
	b.page = b.page.without(b.banned)
	b.tellWatchers()
}

// lineage reports whether something is so of a token and all that it comes from. It is
// false if one of them is not there any more.
func (p page) lineage(token string, is func(row) bool) bool {
	for range maxLineage {
		if token == "" {
			return true
		}
		i := p.index(token)
		if i < 0 || !is(p.Tokens[i]) {
			return false
		}
		token = p.Tokens[i].Parent
	}
	return token == ""
}

// revoked reports whether somebody took the token itself back: its browser logging out
// does not count.
func revoked(r row) bool { return !r.Revoked.IsZero() && r.LoggedOut.IsZero() }

// owes reports whether what was accepted from a token is to be answered: neither it nor
// one that it comes from was revoked or has expired.
func (p page) owes(token string, now time.Time) bool {
	return p.lineage(token, func(r row) bool {
		return !revoked(r) && (r.Expires.IsZero() || now.Before(r.Expires)) && r.Scope.Known()
	})
}

// goesOn reports whether a turn that was begun with a token goes on: neither it nor one
// that it comes from was revoked.
func (p page) goesOn(token string) bool {
	return p.lineage(token, func(r row) bool { return !revoked(r) })
}
