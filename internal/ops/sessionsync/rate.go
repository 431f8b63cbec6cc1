package sessionsync

import (
	"context"
	"io"
	"sync"
	"time"
)

// Rate limits a bandwidth. All users of one Rate share it. A nil Rate does not limit.
type Rate struct {
	perSecond int64
	now       func() time.Time
	sleep     func(ctx context.Context, d time.Duration) error
	mu        sync.Mutex
	// free is when the bytes that were let through so far are within the limit.
	free time.Time
}

// NewRate returns a limit in bytes per second; nil for 0.
func NewRate(perSecond int64) *Rate {
	if perSecond == 0 {
		return nil
	}
	return &Rate{perSecond: perSecond, now: time.Now, sleep: sleep}
}

// sleep waits for a duration, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Wait waits until n more bytes are within the limit.
func (r *Rate) Wait(ctx context.Context, n int) error {
	if r == nil || n == 0 {
		return nil
	}
	r.mu.Lock()
	now := r.now()
	if r.free.Before(now) {
		r.free = now
	}
	r.free = r.free.Add(time.Duration(float64(n) / float64(r.perSecond) * float64(time.Second)))
	pause := r.free.Sub(now)
	r.mu.Unlock()
	return r.sleep(ctx, pause)
}

// Reader returns a reader that reads within the limit.
func (r *Rate) Reader(ctx context.Context, from io.Reader) io.Reader {
	if r == nil {
		return from
	}
	return &slowReader{r, ctx, from}
}

// slowReader reads in small parts, so that the bandwidth is even.
type slowReader struct {
	rate *Rate
	ctx  context.Context
	from io.Reader
}

// Read implements io.Reader.
func (s *slowReader) Read(b []byte) (int, error) {
	part := max(1, min(s.rate.perSecond/20, 64<<10))
	n, err := s.from.Read(b[:min(int64(len(b)), part)])
	if waited := s.rate.Wait(s.ctx, n); waited != nil {
		return n, waited
	}
	return n, err
}
