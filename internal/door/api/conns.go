package api

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/wire"
)

// Reasons for closing a connection before it was served, as named in the metrics.
const (
	refusedFull = "connections"
	refusedSlow = "slow"
	refusedPeer = "peer"
)

// A connLimiter limits the connections of one listener. Each connection is in one of two
// sets: strangers, which have not yet sent a valid token, and guests, which have, or which
// use the owner's socket. A stranger that sends a valid token becomes a guest.
//
// A full set displaces a connection to accept a new one. Among strangers it closes the
// oldest, idle before busy, of the address with the most connections. Connections without a
// token can therefore only displace each other, and one that sends its token promptly is
// served regardless of their number. Among guests it closes the oldest idle one. If none is
// idle, the new connection is refused. Displaced and refused connections receive a 503 with
// Retry-After, unless a response has started.
type connLimiter struct {
	net.Listener
	guests, strangers connSet
	// owned is set for the owner's socket. There are no strangers then.
	owned bool
	// patience limits each wait for a stranger: for a request, for its body, and for
	// reading the response.
	patience time.Duration
	refused  func(reason string)

	mu sync.Mutex
	// closing counts the connections that are being closed slowly, to deliver the response.
	closing atomic.Int64
}

// connSet holds connections in order of age, oldest first, up to a limit.
type connSet struct {
	limit int
	conns list.List
}

// conn is a connection of a connLimiter.
type conn struct {
	net.Conn
	limiter *connLimiter
	// address is the remote network, as returned by network.
	address string
	// cut is set if the connection was displaced. The server no longer reads from it or
	// writes to it.
	cut atomic.Bool
	// requested is set when the header of a request has arrived. stranger is set until a
	// valid token is sent.
	requested, stranger atomic.Bool

	// Guarded by the lock of the limiter. place is nil after the connection has left its
	// set.
	place *list.Element
	busy  bool
}

// Accept implements [net.Listener].
func (c *connLimiter) Accept() (net.Conn, error) { return c.acceptFrom(c.Listener) }

// acceptFrom waits for the next accepted connection of a listener.
func (c *connLimiter) acceptFrom(l net.Listener) (net.Conn, error) {
	for {
		accepted, err := l.Accept()
		if err != nil {
			return nil, err
		}
		if !c.owned {
			return c.admit(accepted, &c.strangers), nil
		}
		if err := checkPeer(accepted); err != nil {
			c.refused(refusedPeer)
			c.answer(accepted, http.StatusForbidden, err)
			continue
		}
		if one := c.admit(accepted, &c.guests); one != nil {
			return one, nil
		}
		c.refused(refusedFull)
		c.answer(accepted, http.StatusServiceUnavailable, tooMany())
	}
}

// admit adds a new connection to a set. It returns nil if the set is full, which cannot
// happen for strangers.
func (c *connLimiter) admit(accepted net.Conn, r *connSet) *conn {
	one := &conn{Conn: accepted, limiter: c, address: network(accepted.RemoteAddr())}
	one.stranger.Store(r == &c.strangers)
	c.mu.Lock()
	displaced, ok := c.makeSpace(r)
	if ok {
		one.place = r.conns.PushBack(one)
	}
	c.mu.Unlock()
	c.displace(displaced)
	if !ok {
		return nil
	}
	return one
}

// makeSpace removes a connection from a full set and reports whether there is space for one
// more. The caller holds the lock.
func (c *connLimiter) makeSpace(r *connSet) (*conn, bool) {
	if r.conns.Len() < r.limit {
		return nil, true
	}
	var victim *conn
	if r == &c.strangers {
		victim = r.oldestOfLargest()
	} else {
		victim = r.oldestIdle("")
	}
	if victim == nil {
		return nil, false
	}
	r.conns.Remove(victim.place)
	victim.place = nil
	victim.cut.Store(true)
	return victim, true
}

// oldestIdle returns the connection that has waited longest for a request, from the given
// address or any if it is empty. It returns nil if all are busy.
func (r *connSet) oldestIdle(address string) *conn {
	for e := r.conns.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*conn); !one.busy && (address == "" || one.address == address) {
			return one
		}
	}
	return nil
}

// oldestOfLargest returns the oldest connection of the address that has the most,
// preferring an idle one.
func (r *connSet) oldestOfLargest() *conn {
	count := make(map[string]int)
	var largest string
	for e := r.conns.Front(); e != nil; e = e.Next() {
		a := e.Value.(*conn).address
		if count[a]++; count[a] > count[largest] {
			largest = a
		}
	}
	if idle := r.oldestIdle(largest); idle != nil {
		return idle
	}
	for e := r.conns.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*conn); one.address == largest {
			return one
		}
	}
	return nil
}

// displace closes a connection that was removed from its set.
func (c *connLimiter) displace(one *conn) {
	if one == nil {
		return
	}
	c.refused(refusedFull)
	if one.busy { // busy does not change after the cut
		one.Conn.Close()
		return
	}
	c.answer(one.Conn, http.StatusServiceUnavailable, tooMany())
}

// mostClosing limits the number of connections that are closed slowly at a time.
const mostClosing = 64

// answer sends a short response and closes the connection. If the client is still sending,
// its data is read for a moment: otherwise the system would drop the response together with
// the connection.
func (c *connLimiter) answer(to net.Conn, status int, why error) {
	var p *wire.Problem
	errors.As(why, &p)
	body, _ := json.Marshal(wire.Failure{Error: *p}) // cannot fail: strings only
	retry := ""
	if status == http.StatusServiceUnavailable {
		retry = "Retry-After: 1\r\n"
	}
	to.SetDeadline(time.Now().Add(closingTime)) //nolint:errcheck // it is closed anyway
	fmt.Fprintf(to, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%sConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		status, http.StatusText(status), retry, len(body), body)
	half, ok := to.(interface{ CloseWrite() error })
	if !ok || c.closing.Add(1) > mostClosing {
		if ok {
			c.closing.Add(-1)
		}
		to.Close()
		return
	}
	go func() { // ends after closingTime
		defer c.closing.Add(-1)
		defer to.Close()
		if half.CloseWrite() == nil {
			io.Copy(io.Discard, io.LimitReader(to, 256<<10)) //nolint:errcheck // the data is discarded
		}
	}()
}

// closingTime limits the time for the response to a refused connection.
const closingTime = 500 * time.Millisecond

func tooMany() error {
	return &wire.Problem{Kind: wire.Busy, Message: "too many connections", Hint: "retry in a second; connections with a token are served first"}
}

// leave removes a connection from its set.
func (c *connLimiter) leave(one *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one.place != nil {
		c.setOf(one).conns.Remove(one.place)
		one.place = nil
	}
}

// setOf returns the set that contains a connection.
func (c *connLimiter) setOf(one *conn) *connSet {
	if one.stranger.Load() {
		return &c.strangers
	}
	return &c.guests
}

// promote turns a stranger into a guest after it has sent a valid token. It reports false
// if there is no space.
func (one *conn) promote() bool {
	if !one.stranger.Load() {
		return true
	}
	c := one.limiter
	c.mu.Lock()
	if one.place == nil || !one.stranger.Load() {
		defer c.mu.Unlock()
		return one.place != nil
	}
	displaced, ok := c.makeSpace(&c.guests)
	if ok {
		c.strangers.conns.Remove(one.place)
		one.place = c.guests.conns.PushBack(one)
		one.stranger.Store(false)
	}
	c.mu.Unlock()
	c.displace(displaced)
	return ok
}

// trackState records whether a connection is busy. It is the server's ConnState hook.
func trackState(nc net.Conn, state http.ConnState) {
	one, ok := nc.(*conn)
	if !ok {
		return
	}
	if state == http.StateActive {
		one.requested.Store(true)
	}
	one.limiter.mu.Lock()
	defer one.limiter.mu.Unlock()
	if one.place == nil {
		return
	}
	if one.busy = state == http.StateActive; !one.busy { // idle from now on
		one.limiter.setOf(one).conns.MoveToBack(one.place)
	}
}

// Read implements [net.Conn]. A timeout before the first request counts as a slow
// connection.
func (one *conn) Read(b []byte) (int, error) {
	n, err := one.Conn.Read(b)
	if one.cut.Load() {
		return 0, net.ErrClosed
	}
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) && !one.requested.Swap(true) {
		one.limiter.refused(refusedSlow)
	}
	return n, err
}

// Write implements [net.Conn].
func (one *conn) Write(b []byte) (int, error) {
	if one.cut.Load() {
		return 0, net.ErrClosed
	}
	return one.Conn.Write(b)
}

// CloseWrite closes the sending side. The server uses it to finish a response while the
// client is still sending.
func (one *conn) CloseWrite() error {
	if half, ok := one.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close implements [net.Conn].
func (one *conn) Close() error {
	one.limiter.leave(one)
	if one.cut.Load() {
		return nil // displace closes it
	}
	return one.Conn.Close()
}

// SetReadDeadline implements [net.Conn].
func (one *conn) SetReadDeadline(t time.Time) error {
	if one.cut.Load() {
		return net.ErrClosed
	}
	return one.Conn.SetReadDeadline(one.capDeadline(t))
}

// SetWriteDeadline implements [net.Conn].
func (one *conn) SetWriteDeadline(t time.Time) error {
	if one.cut.Load() {
		return net.ErrClosed
	}
	return one.Conn.SetWriteDeadline(one.capDeadline(t))
}

// capDeadline limits a deadline to the patience for strangers.
func (one *conn) capDeadline(t time.Time) time.Time {
	if t.IsZero() || !one.stranger.Load() {
		return t
	}
	if most := time.Now().Add(one.limiter.patience); t.After(most) {
		return most
	}
	return t
}

// connMark is the context key of a request's connection.
type connMark struct{}

// withConn stores the connection in the context of its requests. Requests over the socket
// are marked as the owner's.
func withConn(ctx context.Context, c net.Conn) context.Context {
	one, ok := c.(*conn)
	if !ok {
		return ctx
	}
	ctx = context.WithValue(ctx, connMark{}, one)
	if one.limiter.owned {
		return asOwner(ctx)
	}
	return ctx
}

// connOf returns the connection of a request, or nil for requests from this process.
func connOf(ctx context.Context) *conn {
	one, _ := ctx.Value(connMark{}).(*conn)
	return one
}

// network returns the part of an address that a single attacker controls: an IPv4 address
// or a /64 network.
func network(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return "-"
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() {
		if prefix, err := ip.Prefix(64); err == nil {
			return prefix.Addr().String()
		}
	}
	if ip == (netip.Addr{}) {
		return "-"
	}
	return ip.String()
}

// checkPeer rejects socket connections from processes of other users, even if the mode of
// the socket was changed manually. Root is accepted: it could act as the owner anyway.
func checkPeer(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	uid, known, err := vfs.PeerUID(u)
	if err == nil && (!known || uid == 0 || uid == os.Geteuid()) {
		return nil
	}
	return &wire.Problem{Kind: wire.NotAllowed, Message: "this socket belongs to another user", Hint: "connect over TCP with a token: firn token create"}
}
