package token

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// guessesEach is the number of wrong attempts per minute allowed for one address,
	// guessesAll that for all addresses together.
	guessesEach = 10
	guessesAll  = 500
	guessesIn   = time.Minute
)

// Guesses limits the rate of wrong codes and tokens. They are too long to be guessed; the
// limit saves work. It is safe for concurrent use.
type Guesses struct {
	// Clock returns the current time.
	Clock func() time.Time

	mu    sync.Mutex
	since time.Time
	all   int
	by    map[string]int
}

// Wrong counts a wrong attempt from an address. It returns false if there were too many.
func (g *Guesses) Wrong(remote string) bool {
	from := networkOf(remote)
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

// networkOf returns the key under which an address is counted: the address itself, or the
// /64 network of an IPv6 address.
func networkOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return "" // a Unix socket has no address
	}
	if addr = addr.Unmap().WithZone(""); addr.Is4() {
		return addr.String()
	}
	prefix, _ := addr.Prefix(64) // cannot fail for an IPv6 address
	return prefix.String()
}
