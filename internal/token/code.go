package token

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"firn/wire"
)

const (
	// codeFor is how long a code is good, and codesEach how many there may be at
	// a time for one who asks: of more, the oldest is no good any more.
	codeFor   = 2 * time.Minute
	codesEach = 8
)

// code lets a browser in, once. Only the hash of it is kept.
type code struct {
	Hash    string     `json:"hash"`
	Scope   wire.Scope `json:"scope"`
	Agents  []string   `json:"agents,omitempty"`
	Keys    []string   `json:"keys,omitempty"`
	Parent  string     `json:"parent,omitempty"`
	Expires time.Time  `json:"expires,omitzero"`
	// Until is how long the code is good; Expires is when what it grants ends.
	Until time.Time `json:"until"`
}

// Order makes a code that grants something, of at least 128 random bits, and tells
// how long it is good.
func (b *Book) Order(ctx context.Context, g Grant) (text string, until time.Time, err error) {
	now := b.clock()
	if err := sensible(wire.NewToken{Name: "browser", Scope: g.Scope, Agents: g.Agents, Keys: g.Keys}, now); err != nil {
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

// order adds a code, and forgets those that are no good any more.
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

// code is where the code with a hash is that is good; -1 if there is none.
func (p page) code(hash string, now time.Time) int {
	return slices.IndexFunc(p.Codes, func(c code) bool { return c.Hash == hash && now.Before(c.Until) })
}

// redeem returns what a code is for, and makes it no good any more.
func (p *page) redeem(hash string, now time.Time) (Grant, error) {
	i := p.code(hash, now)
	if i < 0 {
		return Grant{}, &wire.Problem{Kind: wire.NoToken, Message: "the code is not known, was used or has expired", Hint: "firn open makes a new one"}
	}
	c := p.Codes[i]
	p.Codes = slices.Delete(p.Codes, i, i+1)
	return Grant{c.Scope, c.Agents, c.Keys, c.Parent, c.Expires}, nil
}
