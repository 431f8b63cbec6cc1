//go:build linux

package main

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/wire"
)

// follower follows the events of a session, and reconnects with the last position whenever
// the stream ends, which happens often.
type follower struct {
	soak    *soak
	session firn.ID
	// seen are the received entries, in order.
	seen []string
	last string
	// until is the final position; zero while it is unknown.
	until atomic.Uint64
	// end receives the final position.
	end chan firn.Pos
}

func (s *soak) newFollower(id firn.ID) *follower {
	return &follower{soak: s, session: id, end: make(chan firn.Pos, 1)}
}

// reached reports whether everything up to the final position was seen.
func (f *follower) reached() bool {
	n, _ := strconv.ParseUint(f.last, 10, 64) // empty at first
	return f.until.Load() > 0 && n >= f.until.Load()
}

// run follows the session until it has seen everything up to the final position.
func (f *follower) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hangUp := make(chan struct{})
	go func() {
		f.until.Store(uint64(<-f.end))
		close(hangUp)
		time.AfterFunc(patience, cancel)
	}()
	for !f.reached() && ctx.Err() == nil {
		once, stop := context.WithCancel(ctx)
		if f.until.Load() == 0 {
			go func() {
				select {
				case <-hangUp:
					stop()
				case <-once.Done():
				}
			}()
		}
		most := 1 + rand.IntN(2000)
		f.listen(once, func(e sse.Event) bool {
			if e.Name == wire.EntryAppended || e.Name == wire.HeadMoved {
				f.seen, f.last = append(f.seen, entryOf(e)), e.ID
				f.soak.ledger.count("events followed")
			}
			most--
			return most > 0 && !f.reached()
		})
		stop()
	}
}

// entryOf returns the ID of the entry in an event.
func entryOf(e sse.Event) string {
	var reported struct{ Data wire.Entry }
	var line struct{ ID string }
	if json.Unmarshal(e.Data, &reported) != nil || json.Unmarshal(reported.Data.Line, &line) != nil {
		return "unreadable " + string(e.Data)
	}
	return line.ID
}

// listen follows the stream until hear returns false or the stream ends.
func (f *follower) listen(ctx context.Context, handle func(sse.Event) bool) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.soak.gateway.address()+"/v1/sessions/"+string(f.session)+"/events", nil)
	if err != nil {
		f.soak.ledger.complain("%v", err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+f.soak.token)
	if f.last != "" {
		r.Header.Set("Last-Event-ID", f.last)
	}
	resp, err := f.soak.http.Do(r)
	if err != nil {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if !isRetryable(resp.StatusCode) {
			f.soak.ledger.complain("follow session %s: %s", f.session, resp.Status)
		}
		time.Sleep(50 * time.Millisecond)
		return
	}
	dead := time.AfterFunc(20*time.Second, func() { resp.Body.Close() }) // heartbeats arrive every second
	defer dead.Stop()
	for e, err := range sse.Read(&heartbeatReader{resp.Body, dead}) {
		if err != nil || !handle(e) {
			return
		}
	}
}

// heartbeatReader detects a dead stream.
type heartbeatReader struct {
	from io.Reader
	dead *time.Timer
}

// Read reads and resets the timeout.
func (b *heartbeatReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.dead.Reset(20 * time.Second)
	return n, err
}
