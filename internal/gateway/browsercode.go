package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"net"
	"net/netip"
	"sync"
	"time"

	"firn/wire"
)

// grant is what somebody who is let in may do.
type grant struct {
	scope        wire.Scope
	agents, keys []string
	// parent is the token that the grant comes from; empty if it comes from the
	// owner. What is made of it ends with that token, at the latest when expires
	// says; zero is never.
	parent  string
	expires time.Time
	// until is how long the code is good that the grant came by; zero if by none.
	until time.Time
}

const (
	// codeFor is how long a code is good, and codesEach how many there may be at
	// a time for one who asks: of more, the oldest is no good any more.
	codeFor   = 2 * time.Minute
	codesEach = 8
)

// codes are those that let a browser in, each once. Only hashes of them are
// kept, and only in memory: who reads it cannot use them, and who restarts the
// gateway asks again.
type codes struct {
	clock func() time.Time

	mu   sync.Mutex
	open map[[sha256.Size]byte]grant
}

// give makes a code of at least 128 random bits.
func (c *codes) give(g grant) (text string, until time.Time) {
	text = rand.Text()
	now := c.clock()
	until = now.Add(codeFor)
	c.mu.Lock()
	defer c.mu.Unlock()
	var oldest [sha256.Size]byte
	same, first := 0, until
	for hash, one := range c.open {
		switch {
		case !now.Before(one.until):
			delete(c.open, hash)
		case one.parent == g.parent:
			if same++; !one.until.After(first) {
				oldest, first = hash, one.until
			}
		}
	}
	if same >= codesEach {
		delete(c.open, oldest)
	}
	if c.open == nil {
		c.open = make(map[[sha256.Size]byte]grant)
	}
	g.until = until
	c.open[sha256.Sum256([]byte(text))] = g
	return text, until
}

// redeem returns what a code is for, and makes it no good any more.
func (c *codes) redeem(text string) (grant, bool) {
	hash := sha256.Sum256([]byte(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.open[hash]
	delete(c.open, hash)
	return g, ok && c.clock().Before(g.until)
}

// giveBack makes a code good again that was redeemed in vain, for as long as it
// would have been.
func (c *codes) giveBack(text string, g grant) {
	if g.until.IsZero() {
		return // it came by a token
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[sha256.Sum256([]byte(text))] = g
}

const (
	// guessesEach is how often one address may be wrong in a minute, and
	// guessesAll how often all may be together.
	guessesEach = 10
	guessesAll  = 500
	guessesIn   = time.Minute
)

// guesses counts wrong codes and tokens. They cannot be guessed anyway; this keeps
// who tries from being answered all day.
type guesses struct {
	clock func() time.Time

	mu    sync.Mutex
	since time.Time
	all   int
	by    map[string]int
}

// wrong counts a wrong try from an address. It is false if there were too many.
func (g *guesses) wrong(from string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.clock(); now.Sub(g.since) >= guessesIn || now.Before(g.since) {
		g.since, g.all, g.by = now, 0, make(map[string]int)
	}
	if g.all >= guessesAll || g.by[from] >= guessesEach {
		return false
	}
	g.all++
	g.by[from]++
	return true
}

// neighbourhood is what an address is counted by: itself, or, since everybody
// who has one has very many, the network of a long one.
func neighbourhood(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return "" // a socket has none
	}
	if addr = addr.Unmap().WithZone(""); addr.Is4() {
		return addr.String()
	}
	prefix, _ := addr.Prefix(64) // every long address has one
	return prefix.String()
}
