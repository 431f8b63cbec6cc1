package token

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// guessesEach is how often one address may be wrong in a minute, and
	// guessesAll how often all may be together.
	guessesEach = 10
	guessesAll  = 500
	guessesIn   = time.Minute
)

// Guesses counts wrong codes and tokens. They cannot be guessed anyway; this keeps
// who tries from being answered all day. It is safe for concurrent use.
type Guesses struct {
	// Clock tells the time.
	Clock func() time.Time

	mu    sync.Mutex
	since time.Time
	all   int
	by    map[string]int
}

// Wrong counts a wrong try from an address. It is false if there were too many.
func (g *Guesses) Wrong(remote string) bool {
	from := neighbourhood(remote)
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.Clock(); now.Sub(g.since) >= guessesIn || now.Before(g.since) {
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
