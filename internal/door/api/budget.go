package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// A budget bounds the memory of large answers that are being made or sent. An
// answer reserves about what it takes before anything is read for it, and gives
// it back once the client has taken it. One client reserves at most half, so that
// another finds space; of answers that take more than half there is one at a time.
// While a reservation waits, clients that take nothing of
// their answers are given up sooner.
type budget struct {
	limit int64

	mu      sync.Mutex
	used    int64
	huge    int
	clients map[string]int64
	waiting []*reservation
	sending map[*reservation]struct{}
}

// reservation is a part of a budget.
type reservation struct {
	budget *budget
	client string
	bytes  int64
	// huge says that it takes more than was reserved.
	huge bool
	// granted is closed once it is in force.
	granted chan struct{}
	// hurry shortens the time that the client has for what is being sent.
	hurry func()
}

// reserve waits until there is space. It fails with Busy and 503 after patience.
func (b *budget) reserve(ctx context.Context, client string, bytes int64, patience time.Duration, hurry func()) (*reservation, error) {
	r := &reservation{budget: b, client: client, bytes: min(bytes, b.limit/2), huge: bytes > b.limit/2, granted: make(chan struct{}), hurry: hurry}
	b.mu.Lock()
	b.waiting = append(b.waiting, r)
	b.grant()
	var slow []*reservation
	if len(b.waiting) > 0 {
		for other := range b.sending {
			slow = append(slow, other)
		}
	}
	for _, other := range slow {
		other.hurry()
	}
	b.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.granted:
		return r, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	if r.cancel() {
		return r, nil // it was granted meanwhile
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return nil, &withStatus{&wire.Problem{Kind: wire.Busy, Message: "too many large answers are being sent", Hint: "retry in a second, or ask for smaller pages"}, http.StatusServiceUnavailable}
}

// grant puts reservations in force, the oldest first, as far as there is space for
// their clients. The caller holds the lock.
func (b *budget) grant() {
	if b.clients == nil {
		b.clients, b.sending = make(map[string]int64), make(map[*reservation]struct{})
	}
	left := b.waiting[:0]
	for _, r := range b.waiting {
		if r.huge && b.huge > 0 || b.used+r.bytes > b.limit || b.clients[r.client]+r.bytes > b.limit/2 {
			left = append(left, r)
			continue
		}
		if r.huge {
			b.huge++
		}
		b.used += r.bytes
		b.clients[r.client] += r.bytes
		b.sending[r] = struct{}{}
		close(r.granted)
	}
	clear(b.waiting[len(left):])
	b.waiting = left
}

// cancel takes back a reservation that waits; true if it is in force already.
func (r *reservation) cancel() bool {
	b := r.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.waiting {
		if other == r {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			return false
		}
	}
	return true
}

// release gives a reservation back, once.
func (r *reservation) release() {
	if r == nil {
		return
	}
	b := r.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.sending[r]; !ok {
		return
	}
	delete(b.sending, r)
	if r.huge {
		b.huge--
	}
	b.used -= r.bytes
	if b.clients[r.client] -= r.bytes; b.clients[r.client] == 0 {
		delete(b.clients, r.client)
	}
	b.grant()
}

// shrink gives a part of a reservation back, once it is known how much the answer
// takes.
func (r *reservation) shrink(bytes int64) {
	if r == nil {
		return
	}
	b := r.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.sending[r]; ok && bytes < r.bytes {
		if r.huge {
			r.huge = false
			b.huge--
		}
		b.used -= r.bytes - bytes
		b.clients[r.client] -= r.bytes - bytes
		r.bytes = bytes
		b.grant()
	}
}

// contended reports whether reservations wait.
func (b *budget) contended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) > 0
}

// smallSession is up to which size of a session its answers need no reservation.
const smallSession = 64 << 10

// sized is a gateway that knows how much a session has after a position,
// and where it ends.
type sized interface {
	Size(ctx context.Context, id firn.ID, after firn.Pos) (bytes int64, end firn.Pos, err error)
}

// reserve reserves memory for an answer that is made of a session. Reading a line
// and telling it takes about twice its length.
func (c *call) reserve(session firn.ID) error {
	g, ok := c.h.gateway.(sized)
	if !ok || !c.op.heavy || c.reserved != nil {
		return nil
	}
	var after firn.Pos
	if c.op.content == typeStream {
		var err error
		if after, err = lastEvent(c.r, &c.query); err != nil {
			return err
		}
	}
	size, end, err := g.Size(c.r.Context(), session, after)
	c.end = end
	if err != nil || size <= smallSession {
		return nil // what is wrong with it is found by who reads it
	}
	answers := &c.h.others.answers
	if isOwner(c.r.Context()) {
		answers = &c.h.own.answers
	}
	control := http.NewResponseController(c.w.ResponseWriter)
	c.reserved, err = answers.reserve(c.r.Context(), c.who.name, 2*size, c.h.config.WriteTimeout, func() {
		_ = control.SetWriteDeadline(time.Now().Add(c.h.config.Patience)) // who takes something gets more time with the next piece
	})
	return err
}

// sendPiece is how much is sent before a client gets more time.
const sendPiece = 64 << 10

// sender sends a long answer piece by piece, so that a client that takes none of
// it is given up, and one that is slow is not.
type sender struct{ c *call }

// Write implements [io.Writer].
func (s sender) Write(b []byte) (int, error) {
	sent := 0
	for len(b) > 0 {
		s.c.pieceDeadline()
		n, err := s.c.w.Write(b[:min(len(b), sendPiece)])
		if sent += n; err != nil {
			return sent, err
		}
		b = b[n:]
	}
	return sent, nil
}

// pieceDeadline gives the client time for the next piece: little, if others wait
// for the memory of this answer.
func (c *call) pieceDeadline() {
	patience := c.h.config.WriteTimeout
	if c.reserved != nil && c.reserved.budget.contended() {
		patience = min(patience, c.h.config.Patience)
	}
	err := http.NewResponseController(c.w.ResponseWriter).SetWriteDeadline(time.Now().Add(patience))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return // writing tells
	}
}
