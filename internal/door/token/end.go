package token

import (
	"context"
	"errors"
	"time"

	"firn.dev/wire"
)

// A token ends in one of two ways, and is rejected afterwards. If it is revoked, the work
// requested with it ends too: its turns are interrupted and its queued messages are
// dropped. If its browser logs out, messages accepted before are still answered. A
// logged-out token can be revoked, but not the other way round.
//
// In the record, a logged-out token is also marked as revoked, so that a gateway that does not
// know the difference rejects it.

// ending is how and when a token ended.
type ending struct {
	at     time.Time
	logout bool
}

// ending returns how a token ended; its time is zero if the token has not ended.
func (r row) ending() ending { return ending{r.Revoked, !r.LoggedOut.IsZero()} }

// covers reports whether a token that ended with e needs no further change to end with
// other.
func (e ending) covers(other ending) bool { return !e.at.IsZero() && (!e.logout || other.logout) }

// end ends a token, unless it has already ended that way.
func (r *row) end(e ending) {
	if r.ending().covers(e) {
		return
	}
	r.Revoked, r.LoggedOut = e.at, time.Time{}
	if e.logout {
		r.LoggedOut = e.at
	}
}

// Revoke revokes a token, given by its ID or, for a token in use, by its name. The token is
// rejected from now on and stays in the list. Revoking it again has no effect. If the
// revocation cannot be stored, it still applies here, and is stored as soon as possible.
func (b *Book) Revoke(ctx context.Context, ref string) (wire.Token, error) {
	return b.finish(ctx, ref, false)
}

// Logout ends the token of a browser that logs out. Messages accepted before are still
// answered.
func (b *Book) Logout(ctx context.Context, id string) (wire.Token, error) {
	return b.finish(ctx, id, true)
}

// finish ends a token.
func (b *Book) finish(ctx context.Context, ref string, logout bool) (wire.Token, error) {
	now := b.clock()
	e := ending{now.UTC().Truncate(time.Second), logout}
	var ended wire.Token
	err := b.change(ctx, func(p *page) error {
		i, err := p.find(ref, now)
		if err != nil {
			return err
		}
		p.Tokens[i].end(e)
		ended = p.Tokens[i].Token
		ref = ended.ID // its name no longer refers to a token in use
		b.ban(ended.ID, p.Tokens[i].ending())
		return nil
	})
	if err == nil {
		return ended, nil
	}
	if p := b.latest(); !errors.As(err, new(*wire.Problem)) {
		if i, unknown := p.find(ref, now); unknown == nil {
			b.ban(p.Tokens[i].ID, e)
		}
	}
	return wire.Token{}, err
}

// ban makes this gateway reject a token, regardless of the stored record.
func (b *Book) ban(token string, e ending) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.banned[token].covers(e) {
		b.banned[token] = e
	}
	b.page = b.page.without(b.banned)
	b.notifyWatchers()
}

// lineage reports whether a condition holds for a token and all its ancestors. It is false
// if one of them no longer exists.
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

// revoked reports whether the token itself was revoked. A logout does not count.
func revoked(r row) bool { return !r.Revoked.IsZero() && r.LoggedOut.IsZero() }

// owes reports whether messages accepted from a token must still be answered: neither the
// token nor an ancestor was revoked or has expired.
func (p page) owes(token string, now time.Time) bool {
	return p.lineage(token, func(r row) bool {
		return !revoked(r) && (r.Expires.IsZero() || now.Before(r.Expires)) && r.Scope.Known()
	})
}

// mayContinue reports whether a turn started with a token may continue: neither the token
// nor an ancestor was revoked.
func (p page) mayContinue(token string) bool {
	return p.lineage(token, func(r row) bool { return !revoked(r) })
}
