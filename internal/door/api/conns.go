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

// Why a connection was closed before it was served, as the metrics call it.
const (
	refusedCrowd = "connections"
	refusedSlow  = "slow"
	refusedPeer  = "peer"
)

// A crowd bounds the connections of one listener. Each is in one of two rooms:
// strangers, which have not shown a valid token, and guests, which have, or which
// come through the owner's socket. A stranger that shows a token becomes a guest.
//
// A full room makes space for a newcomer. Of strangers it closes the oldest, idle
// before busy, from the address that has the most: so connections without a token
// only ever displace each other, and one that shows its token promptly is served
// however many of them there are. Of guests it closes the oldest idle one; if
// none is idle the newcomer is refused. Who is closed or refused is answered 503
// with Retry-After, unless an answer has begun.
type crowd struct {
	net.Listener
	guests, strangers room
	// owned says that all who come are the owner: there are no strangers.
	owned bool
	// patience bounds each wait for a stranger: for a request, its body, or for
	// the stranger to take an answer.
	patience time.Duration
	refused  func(reason string)

	mu sync.Mutex
	// closing counts connections that are being closed slowly, so that their
	// answer is not lost.
	closing atomic.Int64
}

// room holds connections, oldest first, up to a limit.
type room struct {
	limit int
	conns list.List
}

// conn is a connection of a crowd.
type conn struct {
	net.Conn
	crowd *crowd
	// address is the network that it comes from, as far as one attacker has it.
	address string
	// cut says that it was displaced: nothing more is read from it or written to
	// it by the server.
	cut atomic.Bool
	// asked says that the head of a request has come; stranger that no token was
	// shown yet.
	asked, stranger atomic.Bool

	// Under the lock of the crowd. place is nil once it has left.
	place *list.Element
	busy  bool
}

// Accept implements [net.Listener].
func (c *crowd) Accept() (net.Conn, error) { return c.acceptFrom(c.Listener) }

// acceptFrom waits for the next connection of a listener that is served.
func (c *crowd) acceptFrom(l net.Listener) (net.Conn, error) {
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
		c.refused(refusedCrowd)
		c.answer(accepted, http.StatusServiceUnavailable, tooMany())
	}
}

// admit puts a new connection into a room. It returns nil if there is no space,
// which cannot be among strangers.
func (c *crowd) admit(accepted net.Conn, r *room) *conn {
	one := &conn{Conn: accepted, crowd: c, address: network(accepted.RemoteAddr())}
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

// makeSpace takes a connection out of a full room, and reports whether there is
// space for one more. The caller holds the lock.
func (c *crowd) makeSpace(r *room) (*conn, bool) {
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

// oldestIdle returns the connection that has waited longest for a request, of one
// address or of any; nil if all are being served.
func (r *room) oldestIdle(address string) *conn {
	for e := r.conns.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*conn); !one.busy && (address == "" || one.address == address) {
			return one
		}
	}
	return nil
}

// oldestOfLargest returns the oldest connection of the address that has the most,
// one that waits for a request if there is any.
func (r *room) oldestOfLargest() *conn {
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

// displace closes a connection that was taken out of its room.
func (c *crowd) displace(one *conn) {
	if one == nil {
		return
	}
	c.refused(refusedCrowd)
	if one.busy { // which it stays: it was cut
		one.Conn.Close()
		return
	}
	c.answer(one.Conn, http.StatusServiceUnavailable, tooMany())
}

// mostClosing bounds how many connections are closed slowly at a time.
const mostClosing = 64

// answer sends a short answer and closes the connection. If the client is still
// sending, what it sends is read for a moment: otherwise the system would drop
// the answer with the connection.
func (c *crowd) answer(to net.Conn, status int, why error) {
	var p *wire.Problem
	errors.As(why, &p)
	body, _ := json.Marshal(wire.Failure{Error: *p}) // strings only
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
	go func() { // which ends after closingTime
		defer c.closing.Add(-1)
		defer to.Close()
		if half.CloseWrite() == nil {
			io.Copy(io.Discard, io.LimitReader(to, 256<<10)) //nolint:errcheck // nothing in it matters
		}
	}()
}

// closingTime bounds how long an answer to a refused connection may take.
const closingTime = 500 * time.Millisecond

func tooMany() error {
	return &wire.Problem{Kind: wire.Busy, Message: "too many connections", Hint: "retry in a second; connections with a token are served first"}
}

// leave takes a connection out of its room.
func (c *crowd) leave(one *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one.place != nil {
		c.roomOf(one).conns.Remove(one.place)
		one.place = nil
	}
}

// roomOf returns the room of a connection that is in one.
func (c *crowd) roomOf(one *conn) *room {
	if one.stranger.Load() {
		return &c.strangers
	}
	return &c.guests
}

// promote makes a stranger a guest, because it has shown a valid token. It
// reports false if there is no space for it.
func (one *conn) promote() bool {
	if !one.stranger.Load() {
		return true
	}
	c := one.crowd
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

// noteState follows what the server does with a connection.
func noteState(nc net.Conn, state http.ConnState) {
	one, ok := nc.(*conn)
	if !ok {
		return
	}
	if state == http.StateActive {
		one.asked.Store(true)
	}
	one.crowd.mu.Lock()
	defer one.crowd.mu.Unlock()
	if one.place == nil {
		return
	}
	if one.busy = state == http.StateActive; !one.busy { // it waits from now on
		one.crowd.roomOf(one).conns.MoveToBack(one.place)
	}
}

// Read implements [net.Conn]. Until something was asked, the only thing that runs
// out is the time for the first request.
func (one *conn) Read(b []byte) (int, error) {
	n, err := one.Conn.Read(b)
	if one.cut.Load() {
		return 0, net.ErrClosed
	}
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) && !one.asked.Swap(true) {
		one.crowd.refused(refusedSlow)
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

// CloseWrite lets the server end an answer without losing it to what the client
// still sends.
func (one *conn) CloseWrite() error {
	if half, ok := one.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close implements [net.Conn].
func (one *conn) Close() error {
	one.crowd.leave(one)
	if one.cut.Load() {
		return nil // who cut it closes it
	}
	return one.Conn.Close()
}

// SetReadDeadline implements [net.Conn].
func (one *conn) SetReadDeadline(t time.Time) error {
	if one.cut.Load() {
		return net.ErrClosed
	}
	return one.Conn.SetReadDeadline(one.within(t))
}

// SetWriteDeadline implements [net.Conn].
func (one *conn) SetWriteDeadline(t time.Time) error {
	if one.cut.Load() {
		return net.ErrClosed
	}
	return one.Conn.SetWriteDeadline(one.within(t))
}

// within shortens a deadline to what a stranger gets.
func (one *conn) within(t time.Time) time.Time {
	if t.IsZero() || !one.stranger.Load() {
		return t
	}
	if most := time.Now().Add(one.crowd.patience); t.After(most) {
		return most
	}
	return t
}

// connMark is where the context of a request holds its connection.
type connMark struct{}

// withConn notes the connection of a request, and that one through the socket is
// the owner's.
func withConn(ctx context.Context, c net.Conn) context.Context {
	one, ok := c.(*conn)
	if !ok {
		return ctx
	}
	ctx = context.WithValue(ctx, connMark{}, one)
	if one.crowd.owned {
		return asOwner(ctx)
	}
	return ctx
}

// connOf returns the connection of a request; nil if there is none, as for
// requests of this process.
func connOf(ctx context.Context) *conn {
	one, _ := ctx.Value(connMark{}).(*conn)
	return one
}

// network returns the part of an address that one attacker has: an IPv4 address,
// or a network of 64 bits.
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

// checkPeer refuses a connection through the socket from a process of another
// user, even if the mode of the socket was changed by hand. Root may connect: it
// could act as the owner anyway.
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
