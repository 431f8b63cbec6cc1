package token

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/wire"
)

// Grant is a set of permissions.
type Grant struct {
	Scope        wire.Scope
	Agents, Keys []string
	// Parent is the token that the grant derives from; empty if it comes from the owner.
	// Tokens made from the grant end with that token, and at Expires at the latest; zero
	// means never.
	Parent  string
	Expires time.Time
}

// GrantOf returns the permissions of a token.
func GrantOf(t wire.Token) Grant {
	return Grant{Scope: t.Scope, Agents: t.Agents, Keys: t.Keys, Parent: t.ID, Expires: t.Expires}
}

// Derive returns the part of a grant to hand on: all of it, or as much as was requested.
func (g Grant) Derive(o wire.LoginOrder) (Grant, error) {
	out := Grant{Scope: cmp.Or(o.Scope, g.Scope), Agents: o.Agents, Keys: o.Keys, Parent: g.Parent, Expires: g.Expires}
	if len(out.Agents) == 0 {
		out.Agents = g.Agents
	}
	if len(out.Keys) == 0 {
		out.Keys = g.Keys
	}
	strange := func(agent string) bool { return !slices.Contains(g.Agents, agent) }
	beyond := func(key string) bool {
		return !slices.ContainsFunc(g.Keys, func(prefix string) bool { return route.Under(key, prefix) })
	}
	switch {
	case !out.Scope.Includes(wire.ScopeRead) || !out.Scope.Known():
		return Grant{}, fmt.Errorf("%w: a browser needs scope read, write or admin, not %q", firn.ErrInvalid, out.Scope)
	case !g.Scope.Includes(out.Scope):
		return Grant{}, &wire.Problem{Kind: wire.NotAllowed, Message: "scope " + string(g.Scope) + " cannot grant scope " + string(out.Scope)}
	case len(g.Agents) > 0 && slices.ContainsFunc(out.Agents, strange), len(g.Keys) > 0 && slices.ContainsFunc(out.Keys, beyond):
		return Grant{}, &wire.Problem{Kind: wire.NotAllowed, Message: "cannot grant access to more agents and keys than your own"}
	}
	return out, nil
}

// Bounds returns which sessions the holder of a grant may see and change. A grant for hooks
// only shows none.
func (g Grant) Bounds() route.Bounds {
	if !g.Scope.Includes(wire.ScopeRead) {
		return route.Bounds{}
	}
	return route.BoundTo(g.Agents, g.Keys)
}

// Holder returns the permissions of the token with an ID, and whether messages accepted
// from it must still be answered, as they must after a logout. The grant of an unknown
// token is empty. Holder fails if the storage is unavailable.
func (b *Book) Holder(ctx context.Context, id string) (g Grant, owed bool, err error) {
	p, err := b.currentPage(ctx, func(p page) bool { return p.index(id) >= 0 })
	if err != nil {
		return Grant{}, false, err
	}
	i := p.index(id)
	if i < 0 || id == "" {
		return Grant{}, false, nil
	}
	return GrantOf(p.Tokens[i].Token), p.owes(id, b.clock()), nil
}
