package token

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"firn.dev/wire"
)

const (
	// codeFor is how long a code is valid, and codesEach the maximum number of valid codes
	// per issuer; the oldest is dropped.
	codeFor   = 2 * time.Minute
	codesEach = 8
)

// code is a one-time login code. Only its hash is stored.
type code struct {
	Hash    string     `json:"hash"`
	Scope   wire.Scope `json:"scope"`
	Agents  []string   `json:"agents,omitempty"`
	Keys    []string   `json:"keys,omitempty"`
	Parent  string     `json:"parent,omitempty"`
	Expires time.Time  `json:"expires,omitzero"`
	// Until is when the code expires; Expires is when the granted access ends.
	Until time.Time `json:"until"`
}

// Order creates a code for a grant, with at least 128 random bits, and returns it with its
// expiry.
func (b *Book) Order(ctx context.Context, g Grant) (text string, until time.Time, err error) {
	now := b.clock()
	if err := validate(wire.NewToken{Name: "browser", Scope: g.Scope, Agents: g.Agents, Keys: g.Keys}, now); err != nil {
		return "", time.Time{}, err
	}
	text, until = rand.Text(), now.Add(codeFor)
	fresh := code{hashOf(text), g.Scope, g.Agents, g.Keys, g.Parent, g.Expires, until.UTC()}
	err = b.change(ctx, func(p *page) error {
		p.order(fresh, now)
		return nil
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return text, until, nil
}

// order adds a code and removes the invalid ones.
func (p *page) order(fresh code, now time.Time) {
	p.Codes = slices.DeleteFunc(p.Codes, func(c code) bool { return !now.Before(c.Until) || c.Hash == fresh.Hash })
	same, oldest := 0, -1
	for i, c := range p.Codes {
		if c.Parent != fresh.Parent {
			continue
		}
		if same++; oldest < 0 || c.Until.Before(p.Codes[oldest].Until) {
			oldest = i
		}
	}
	if same >= codesEach {
		p.Codes = slices.Delete(p.Codes, oldest, oldest+1)
	}
	p.Codes = append(p.Codes, fresh)
}

// code returns the index of the valid code with a hash, or -1.
func (p page) code(hash string, now time.Time) int {
	return slices.IndexFunc(p.Codes, func(c code) bool { return c.Hash == hash && now.Before(c.Until) })
}

// redeem returns the grant of a code and removes the code.
func (p *page) redeem(hash string, now time.Time) (Grant, error) {
	i := p.code(hash, now)
	if i < 0 {
		return Grant{}, &wire.Problem{Kind: wire.NoToken, Message: "the code is unknown, used or expired", Hint: "run firn open for a new code"}
	}
	c := p.Codes[i]
	p.Codes = slices.Delete(p.Codes, i, i+1)
	return Grant{c.Scope, c.Agents, c.Keys, c.Parent, c.Expires}, nil
}
