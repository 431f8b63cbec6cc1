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

// A budget limits the memory of large responses that are being built or sent. A response
// reserves its approximate size before anything is read, and releases it when the client
// has received it. One client can reserve at most half of the budget. Only one response
// larger than half of the budget is built at a time. While a reservation is waiting,
// clients that do not read their responses time out sooner.
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
	// huge is set if the response needs more memory than was reserved.
	huge bool
	// granted is closed when the reservation is in force.
	granted chan struct{}
	// hurry shortens the write deadline of the response being sent.
	hurry func()
}

// reserve waits until there is space. After patience it fails with Busy and status 503.
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
		return r, nil // granted in the meantime
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return nil, &withStatus{&wire.Problem{Kind: wire.Busy, Message: "too many large responses are being sent", Hint: "retry in a second, or request smaller pages"}, http.StatusServiceUnavailable}
}

// grant puts waiting reservations in force, oldest first, as far as the budget and the
// limit per client allow. The caller holds the lock.
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

// cancel removes a waiting reservation. It reports whether the reservation was already
// granted.
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

// release returns a reservation to the budget. Further calls do nothing.
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

// shrink reduces a reservation once the size of the response is known.
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

// contended reports whether any reservation is waiting.
func (b *budget) contended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) > 0
}

// smallSession is the largest session, in bytes, whose responses need no reservation.
const smallSession = 64 << 10

// reserve reserves memory for a response built from a session. Reading and encoding a line
// takes about twice its length.
func (c *call) reserve(session firn.ID) error {
	sizes := c.h.services.Sizes
	if sizes == nil || !c.op.heavy || c.reserved != nil {
		return nil
	}
	var after firn.Pos
	if c.op.content == typeStream {
		var err error
		if after, err = lastEvent(c.r, &c.query); err != nil {
			return err
		}
	}
	size, end, err := sizes.Size(c.r.Context(), session, after)
	c.end = end
	if err != nil || size <= smallSession {
		return nil // errors are reported by the read that follows
	}
	answers := &c.h.others.answers
	if isOwner(c.r.Context()) {
		answers = &c.h.own.answers
	}
	control := http.NewResponseController(c.w.ResponseWriter)
	c.reserved, err = answers.reserve(c.r.Context(), c.who.name, 2*size, c.h.config.WriteTimeout, func() {
		_ = control.SetWriteDeadline(time.Now().Add(c.h.config.Patience)) // a client that keeps reading gets a new deadline with the next chunk
	})
	return err
}

// sendPiece is the number of bytes sent before the write deadline is extended.
const sendPiece = 64 << 10

// sender sends a long response in chunks, extending the write deadline for each. Stalled
// clients time out and slow ones do not.
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

// pieceDeadline sets the write deadline for the next chunk. It is shorter while other
// responses wait for memory.
func (c *call) pieceDeadline() {
	patience := c.h.config.WriteTimeout
	if c.reserved != nil && c.reserved.budget.contended() {
		patience = min(patience, c.h.config.Patience)
	}
	err := http.NewResponseController(c.w.ResponseWriter).SetWriteDeadline(time.Now().Add(patience))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return // the next write fails
	}
}
